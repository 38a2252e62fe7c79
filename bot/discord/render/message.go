package render

import (
	"approvalbot/core"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"approvalbot/bot/textcmd"
)

// Kinds of components (Components, Component Types).
const (
	kindRow       = 1
	kindButton    = 2
	kindInput     = 4
	kindText      = 10
	kindSeparator = 14
	kindContainer = 17
	kindLabel     = 18
)

// Message flags (Resources, Message, Message Flags).
const (
	flagNoPreviews = 1 << 2 // SUPPRESS_EMBEDS
	Ephemeral      = 1 << 6
	FlagComponents = 1 << 15 // IS_COMPONENTS_V2
)

// Component is any of the components that the bot sends.
type Component struct {
	Type        int         `json:"type"`
	Content     string      `json:"content,omitempty"`
	AccentColor *int        `json:"accent_color,omitempty"`
	Components  []Component `json:"components,omitempty"`
	Component   *Component  `json:"component,omitempty"`
	Style       int         `json:"style,omitempty"`
	Label       string      `json:"label,omitempty"`
	CustomID    string      `json:"custom_id,omitempty"`
	MaxLength   int         `json:"max_length,omitempty"`
	Placeholder string      `json:"placeholder,omitempty"`
	Required    *bool       `json:"required,omitempty"`
}

// Mentions says whom a message may notify: whoever it names, by id, and else
// nobody (Resources, Message, Allowed Mentions).
type Mentions struct {
	Parse []string `json:"parse"`
	Users []string `json:"users,omitempty"`
}

// Nobody is notified by a message that says so, whomever it names.
func Nobody() Mentions { return Mentions{Parse: []string{}} }

// Message is a message as Discord takes it.
type Message struct {
	Content      string       `json:"content,omitempty"`
	Flags        int          `json:"flags,omitempty"`
	Components   *[]Component `json:"components,omitempty"`
	Mentions     Mentions     `json:"allowed_mentions"`
	Nonce        string       `json:"nonce,omitempty"`
	EnforceNonce bool         `json:"enforce_nonce,omitempty"`
	Reference    *reference   `json:"message_reference,omitempty"`
	Attachments  []attachment `json:"attachments,omitempty"`
}

// Replacement is a message that takes another's place. Where that was a text, because
// the request had ended before its card could be shown, the text goes: with
// IS_COMPONENTS_V2 there can be none (Resources, Message, Edit Message).
type Replacement struct {
	Content *string `json:"content"`
	Message
}

type (
	reference struct {
		MessageID       string `json:"message_id"`
		FailIfNotExists bool   `json:"fail_if_not_exists"`
	}
	attachment struct {
		ID       string `json:"id"` // a snowflake, or the n of files[n] (Reference, Uploading Files)
		Filename string `json:"filename"`
	}
)

// Clickable reports whether the message has buttons.
func (o Message) Clickable() bool {
	return o.Components != nil && slices.ContainsFunc(*o.Components, func(c Component) bool { return c.Type == kindRow })
}

// Answering makes the message a reply, also to one that is gone by then.
func (o Message) Answering(messageID string) Message {
	if IsID(messageID) {
		o.Reference = &reference{MessageID: messageID}
	}
	return o
}

// WithFile makes the message bear the one file that goes along with it.
func (o Message) WithFile(name string) Message {
	o.Attachments = []attachment{{"0", name}}
	return o
}

// Once makes Discord drop a repeat of the message: it gives back the first one
// (Resources, Message, Create Message: enforce_nonce, for a few minutes).
func (o Message) Once(nonce string) Message {
	if nonce != "" && len(nonce) <= maxNonce {
		o.Nonce, o.EnforceNonce = nonce, true
	}
	return o
}

// styles are Discord's colours of buttons (Components, Button Styles).
var styles = map[textcmd.Style]int{textcmd.Allowing: 3, textcmd.Denying: 4, textcmd.Neutral: 2}

// Buttons makes rows of buttons. suffix is added to what each one carries.
func Buttons(rows [][]textcmd.Button, suffix string) []Component {
	out := []Component{}
	for _, row := range rows {
		r := Component{Type: kindRow}
		for _, button := range row {
			r.Components = append(r.Components, Component{
				Type: kindButton, Style: styles[button.Style], Label: Cut(button.Label, maxLabel), CustomID: Cut(button.Data+suffix, maxCustomID),
			})
		}
		if len(r.Components) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// Menu is what stands behind More, without the way back: the person it is for
// can put it away.
func Menu(rows [][]textcmd.Button) [][]textcmd.Button {
	var out [][]textcmd.Button
	for _, row := range rows {
		var keep []textcmd.Button
		for _, button := range row {
			if cmd, ok := textcmd.ParsePayload(button.Data); !ok || cmd.Verb != textcmd.Back {
				keep = append(keep, button)
			}
		}
		out = append(out, keep)
	}
	return out
}

// Text makes a message of plain text. forUser is mentioned and notified.
func Text(s, forUser string, times core.Times) Message {
	m := Message{Flags: flagNoPreviews, Mentions: Nobody()}
	if !IsID(forUser) {
		m.Content = Plain(s, MaxText, times)
		return m
	}
	head := "<@" + forUser + "> "
	m.Content, m.Mentions.Users = head+Plain(s, MaxText-len(head), times), []string{forUser}
	return m
}

// CardTitle names the post in a forum that a card is.
func CardTitle(c core.Card) string {
	return Cut(c.Code+" · "+c.Risk.String()+" · "+c.Headline, MaxTitle)
}

// Title makes a text the name of a forum's post, which must have one.
func Title(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "Request"
	}
	return Cut(s, MaxTitle)
}

// End says how a card has ended, for one that cannot be edited any more.
func End(c core.Card) Message {
	end := endIcon(c) + " " + c.Code + ": " + c.Outcome
	if c.Result != "" {
		end += "\n" + resultIcon(c) + c.Result
	}
	return Text(end, "", c.Times)
}

// PartTexts writes all of a file as texts of messages, in Markdown; there are none
// where it is too long for messages, or a part of it is.
func PartTexts(f core.File) []string {
	parts := f.Parts(maxPart)
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = escape(f.PartHead(i, len(parts))) + "\n" + block(part) + "\n" + PartEnd
		if units(texts[i]) > MaxText {
			return nil
		}
	}
	return texts
}

// Markdown is a message whose text is Markdown already.
func Markdown(s string) Message {
	return Message{Content: s, Flags: flagNoPreviews, Mentions: Nobody()}
}

// Nonce names a message by what it says.
func Nonce(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:maxNonce]
}

// maxPart is how many characters of a file one message holds; each has two code units
// at most.
const maxPart = 900

// PartEnd stands below each part of a file.
const PartEnd = "(end of the part)"

// IsID reports whether s is a Discord id (a snowflake).
func IsID(s string) bool {
	return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}

// Copyable is a line to copy, below a text that it fits behind.
func Copyable(line string) string {
	if line == "" {
		return ""
	}
	return "\n" + block(line)
}

// ReasonForm are the components of the form in which a person says why they denied
// (Components, Label and Text Input); what they write has that custom id.
func ReasonForm(customID string) []Component {
	return []Component{{Type: kindLabel, Label: "Reason (your deny already counts)", Component: &Component{
		Type: kindInput, CustomID: customID, Style: 2, MaxLength: textcmd.MaxReason, Required: new(true),
	}}}
}

// Private is a message for one person, in Markdown.
func Private(s string, rows []Component) Message {
	m := Message{Content: s, Flags: Ephemeral | flagNoPreviews, Mentions: Nobody()}
	if rows != nil {
		m.Components = &rows
	}
	return m
}

// Edited is what a deferred message becomes, in Markdown. Its buttons, if it had any, go.
func Edited(s string, rows []Component) Message {
	if rows == nil {
		rows = []Component{}
	}
	return Message{Content: s, Components: &rows, Mentions: Nobody()}
}

// Lines puts texts below each other, without those that are empty.
func Lines(parts ...string) string {
	out := ""
	for _, p := range parts {
		if out != "" && p != "" {
			out += "\n"
		}
		out += p
	}
	return out
}
