package fakechat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Limits of keyboards: callback_data has 1 to 64 bytes (Bot API,
// InlineKeyboardButton); 100 buttons is what clients report.
const (
	maxCallbackData = 64
	maxButtons      = 100
)

// TelegramButton is an InlineKeyboardButton of the Bot API. Of several actions
// the server keeps the first.
type TelegramButton struct {
	Text         string `json:"text"`
	Style        string `json:"style,omitempty"`
	URL          string `json:"url,omitempty"`
	CallbackData string `json:"callback_data,omitempty"`
	// Disabled buttons have no effect (Bot API 10.3).
	Disabled *struct{} `json:"disabled,omitempty"`
	// Other is the action of a button of another kind, such as "web_app".
	Other string `json:"-"`
	// OtherValue is its value.
	OtherValue json.RawMessage `json:"-"`
}

// MarshalJSON writes the button as the server does.
func (b TelegramButton) MarshalJSON() ([]byte, error) {
	type plain TelegramButton
	if b.Other == "" {
		return encodeJSON(plain(b)), nil
	}
	fields := map[string]any{"text": b.Text, b.Other: b.OtherValue}
	if b.Style != "" {
		fields["style"] = b.Style
	}
	return encodeJSON(fields), nil
}

// jsonObject is a parsed object whose fields are read as TDLib reads them.
type jsonObject map[string]json.RawMessage

// parseObject reads an object, or reports that raw is not one.
func parseObject(raw []byte) (jsonObject, bool) {
	var object jsonObject
	return object, json.Unmarshal(raw, &object) == nil && object != nil
}

// text reads a field that must be a string; a number is taken as its digits
// (td JsonBuilder.cpp). It returns the server's complaint, or "".
func (o jsonObject) text(name string) (value, complaint string) {
	raw, ok := o[name]
	if !ok || string(raw) == "null" {
		return "", ""
	}
	if json.Unmarshal(raw, &value) == nil {
		return value, ""
	}
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		return string(raw), ""
	}
	return "", `Field "` + name + `" must be of type String`
}

// keyboardArg reads reply_markup (Client.cpp, get_reply_markup). Only inline keyboards are
// kept; other markup is accepted if a message may have it.
func (q *tgQuery) keyboardArg(onlyInline bool) ([][]TelegramButton, *apiError) {
	raw := []byte(q.params["reply_markup"])
	if len(raw) == 0 {
		return nil, nil
	}
	if !json.Valid(raw) {
		return nil, badRequest("can't parse reply keyboard markup JSON object")
	}
	markup, ok := parseObject(raw)
	if !ok {
		return nil, badRequest("object expected as reply markup")
	}
	keyboard, err := parseKeyboard(markup["inline_keyboard"])
	if err != nil {
		return nil, err
	}
	if onlyInline && len(keyboard) == 0 && (isTrue(markup["remove_keyboard"]) || isTrue(markup["force_reply"]) || markup["keyboard"] != nil) {
		return nil, badRequest("inline keyboard expected")
	}
	return keyboard, nil
}

func isTrue(raw json.RawMessage) bool { return string(raw) == "true" }

func parseKeyboard(raw json.RawMessage) ([][]TelegramButton, *apiError) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	var rows []json.RawMessage
	if json.Unmarshal(raw, &rows) != nil {
		return nil, badRequest(`field "inline_keyboard" must be of type Array`)
	}
	var keyboard [][]TelegramButton
	for _, rawRow := range rows {
		var cells []json.RawMessage
		if bytes.Equal(rawRow, []byte("null")) || json.Unmarshal(rawRow, &cells) != nil {
			return nil, badRequest(`field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`)
		}
		var row []TelegramButton
		for _, cell := range cells {
			button, complaint := parseButton(cell)
			if complaint != "" {
				return nil, badRequest("can't parse inline keyboard button: " + complaint)
			}
			row = append(row, button)
		}
		if len(row) > 0 {
			keyboard = append(keyboard, row)
		}
	}
	return keyboard, nil
}

// parseButton returns the button or the server's complaint.
func parseButton(raw json.RawMessage) (b TelegramButton, complaint string) {
	object, ok := parseObject(raw)
	if !ok {
		return b, "InlineKeyboardButton must be an Object"
	}
	if _, ok := object["text"]; !ok {
		return b, `Can't find field "text"`
	}
	for name, field := range map[string]*string{"text": &b.Text, "style": &b.Style, "url": &b.URL, "callback_data": &b.CallbackData} {
		if *field, complaint = object.text(name); complaint != "" {
			return b, complaint
		}
	}
	b.Style = strings.ToLower(b.Style)
	if b.Style == "default" {
		b.Style = ""
	}
	if !slices.Contains([]string{"", "primary", "danger", "success"}, b.Style) {
		return b, "invalid button style specified"
	}
	if !b.pickAction(object) {
		return b, "Text buttons are unallowed in the inline keyboard"
	}
	return b, ""
}

// pickAction keeps the first action in the server's order (Client.cpp,
// get_inline_keyboard_button_type; the position of "disabled" in it is a guess).
func (b *TelegramButton) pickAction(object jsonObject) bool {
	switch {
	case b.URL != "":
		b.CallbackData = ""
		return true
	case b.CallbackData != "":
		return true
	}
	if _, ok := object["disabled"]; ok {
		b.Disabled = &struct{}{}
		return true
	}
	for _, name := range []string{
		"callback_game", "pay", "switch_inline_query", "switch_inline_query_chosen_chat",
		"switch_inline_query_current_chat", "login_url", "web_app", "copy_text",
	} {
		if value, ok := object[name]; ok {
			b.Other, b.OtherValue = name, value
			return true
		}
	}
	return false
}

// checkKeyboard makes the checks that come after the chat is known (td
// ReplyMarkup.cpp and the data centre); that more than 100 buttons answer
// "reply markup is too long" is a guess.
func (c *TelegramChat) checkKeyboard(keyboard [][]TelegramButton) *apiError {
	buttons := slices.Concat(keyboard...)
	for i := range buttons {
		b := &buttons[i]
		switch {
		case b.Text == "":
			return badRequest("inline keyboard button text must be non-empty")
		case b.URL != "" && linkedUser(b.URL) == 0 && checkedLink(b.URL) == "":
			return badRequest("inline keyboard button URL '" + b.URL + "' is invalid: Wrong HTTP URL")
		case len(b.CallbackData) > maxCallbackData:
			return badRequest("BUTTON_DATA_INVALID")
		case b.Other == "web_app" && c.Type != TelegramPrivate:
			return badRequest("BUTTON_TYPE_INVALID")
		}
	}
	if len(buttons) > maxButtons {
		return badRequest("reply markup is too long")
	}
	return nil
}
