package fakechat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"mime"
	"path"
	"strings"
	"unicode/utf8"
)

// Limits of texts (Bot API, sendMessage and sendDocument; the raw limit is in
// telegram-bot-api Client.cpp, get_formatted_text).
const (
	maxRawText = 1 << 15 // bytes, before parsing
	maxText    = 4096    // code points, after parsing
	maxCaption = 1024    // code points, after parsing
)

// sendMessage implements sendMessage.
func (tg *Telegram) sendMessage(q *tgQuery) (any, *apiError) {
	if q.params["text"] == "" {
		return nil, badRequest("message text is empty")
	}
	body, err := q.textArg("text", "entities")
	if err != nil {
		return nil, err
	}
	m, err := tg.prepare(q, "text messages")
	if err != nil {
		return nil, err
	}
	if err := checkText(body); err != nil {
		return nil, err
	}
	m.setText(q, "text", body)
	return tg.send(m)
}

// sendDocument implements sendDocument with an upload or a file_id; a URL is
// answered as if it could not be fetched.
func (tg *Telegram) sendDocument(q *tgQuery) (any, *apiError) {
	document, err := tg.documentArg(q)
	if err != nil {
		return nil, err
	}
	caption, err := q.textArg("caption", "caption_entities")
	if err != nil {
		return nil, err
	}
	m, err := tg.prepare(q, "documents")
	if err != nil {
		return nil, err
	}
	if err := checkCaption(caption); err != nil {
		return nil, err
	}
	m.document = document
	tg.documents[document.FileID] = document
	m.setText(q, "caption", caption)
	return tg.send(m)
}

// documentArg reads the document: an upload under "document" or attach://name,
// or the file_id of a document that was sent before.
func (tg *Telegram) documentArg(q *tgQuery) (*TelegramDocument, *apiError) {
	field, text := "document", q.params["document"]
	if name, ok := strings.CutPrefix(text, "attach://"); ok {
		field, text = name, ""
	}
	file, uploaded := q.files[field]
	switch {
	case uploaded && len(file.Bytes) == 0:
		return nil, badRequest("file must be non-empty")
	case uploaded:
		byName := mime.TypeByExtension(path.Ext(file.Name))
		return &TelegramDocument{
			FileID: fmt.Sprintf("BQAD%016x", rand.Uint64()), Name: file.Name,
			MIMEType: cmp.Or(byName, file.ContentType), Bytes: file.Bytes,
		}, nil
	case text == "":
		return nil, badRequest("there is no document in the request")
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		return nil, badRequest("failed to get HTTP URL content")
	case tg.documents[text] == nil:
		return nil, badRequest("wrong file identifier/HTTP URL specified")
	}
	return tg.documents[text], nil
}

// textArg reads a text with parse_mode or entities.
func (q *tgQuery) textArg(name, entities string) (formatted, *apiError) {
	if err := q.validUTF8(name); err != nil {
		return formatted{}, err
	}
	raw := q.params[name]
	if len(raw) > maxRawText {
		return formatted{}, badRequest("text is too long")
	}
	mode := strings.ToLower(q.params["parse_mode"])
	switch mode {
	case "", "none":
		list, err := parseEntities(q.params[entities])
		return fixText(raw, list), err
	case "html":
		text, list, err := parseHTML(raw)
		if err != nil {
			return formatted{}, badRequest("can't parse entities: " + err.Error())
		}
		return fixText(text, list), nil
	case "markdown", "markdownv2":
		return formatted{}, &apiError{code: 501, description: "Not Implemented: fakechat does not parse " + q.params["parse_mode"]}
	}
	return formatted{}, badRequest("unsupported parse_mode")
}

// parseEntities reads a list of MessageEntity; what the server finds by itself
// is ignored, as is a list that is not JSON.
func parseEntities(text string) ([]TelegramEntity, *apiError) {
	var raws []json.RawMessage
	if json.Unmarshal([]byte(text), &raws) != nil {
		return nil, nil
	}
	var entities []TelegramEntity
	for _, raw := range raws {
		var e TelegramEntity
		if json.Unmarshal(raw, &e) != nil {
			return nil, badRequest("can't parse MessageEntity: expected an Object")
		}
		switch e.Type {
		case "mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number":
			continue
		case "code", "text_link", "text_mention", "custom_emoji", "pre", "blockquote", "expandable_blockquote", "date_time",
			"bold", "italic", "underline", "strikethrough", "spoiler":
		default:
			return nil, badRequest("can't parse MessageEntity: Unsupported type specified")
		}
		if e.Offset >= 0 && e.Length > 0 {
			entities = append(entities, e)
		}
	}
	sortEntities(entities)
	return entities, nil
}

func checkText(body formatted) *apiError {
	switch {
	case body.text == "":
		return badRequest("text must be non-empty")
	case utf8.RuneCountInString(body.text) > maxText:
		return badRequest("message is too long")
	}
	return nil
}

func checkCaption(caption formatted) *apiError {
	if utf8.RuneCountInString(caption.text) > maxCaption {
		return badRequest("message caption is too long")
	}
	return nil
}

// prepare checks everything that messages of all kinds have in common, in the
// server's order: reply parameters, markup, chat, topic, reply, right to send.
func (tg *Telegram) prepare(q *tgQuery, what string) (*tgMessage, *apiError) {
	reply, err := q.replyArg()
	if err != nil {
		return nil, err
	}
	keyboard, err := q.keyboardArg(false)
	if err != nil {
		return nil, err
	}
	c, err := tg.openChat(q, toWrite)
	if err != nil {
		return nil, err
	}
	thread, err := c.checkThread(max(0, leadingInt(q.params["message_thread_id"])))
	if err != nil {
		return nil, err
	}
	replyTo := c.find(reply.MessageID)
	if replyTo != nil && replyTo.deleted {
		replyTo = nil
	}
	if reply.MessageID > 0 && replyTo == nil && !reply.Anyway {
		return nil, badRequest("message to be replied not found")
	}
	if err := c.checkSending(what); err != nil {
		return nil, err
	}
	m := &tgMessage{
		chat: c, from: tg.me, keyboard: keyboard,
		silent: q.flag("disable_notification"), protected: q.flag("protect_content"),
	}
	if c.Type == TelegramChannel {
		m.senderChat = c
	}
	m.answer(thread, replyTo)
	return m, nil
}

// replyParameters is ReplyParameters of the Bot API; a chat_id in it is ignored,
// replies across chats are not faked.
type replyParameters struct {
	MessageID int  `json:"message_id"`
	Anyway    bool `json:"allow_sending_without_reply"`
}

func (q *tgQuery) replyArg() (replyParameters, *apiError) {
	raw := q.params["reply_parameters"]
	if raw == "" {
		id := max(0, leadingInt(q.params["reply_to_message_id"]))
		return replyParameters{MessageID: id, Anyway: q.flag("allow_sending_without_reply")}, nil
	}
	if !json.Valid([]byte(raw)) {
		return replyParameters{}, badRequest("can't parse reply parameters JSON object")
	}
	object, ok := parseObject([]byte(raw))
	if !ok {
		return replyParameters{}, badRequest("object expected as reply parameters")
	}
	if len(object) == 0 {
		return replyParameters{}, nil
	}
	var parameters replyParameters
	id, complaint := object.text("message_id")
	switch {
	case complaint != "":
		return parameters, badRequest(`field "message_id" must be of type Number`)
	case id == "":
		return parameters, badRequest(`can't find field "message_id"`)
	}
	parameters.MessageID, parameters.Anyway = max(0, leadingInt(id)), isTrue(object["allow_sending_without_reply"])
	return parameters, nil
}

// setText gives a message its text or caption and what belongs to it.
func (m *tgMessage) setText(q *tgQuery, name string, body formatted) {
	m.text, m.entities = body.text, m.chat.tg.knownMentions(body.entities)
	m.raw, m.mode = q.params[name], q.params["parse_mode"]
	m.preview, m.noPreview = nil, q.flag("disable_web_page_preview")
	if options, ok := parseObject([]byte(q.params["link_preview_options"])); ok {
		m.preview = json.RawMessage(q.params["link_preview_options"])
		m.noPreview = isTrue(options["is_disabled"])
	}
}

// knownMentions drops mentions of accounts the bot cannot know.
func (tg *Telegram) knownMentions(entities []TelegramEntity) []TelegramEntity {
	var known []TelegramEntity
	for _, e := range entities {
		if e.Type != "text_mention" || tg.users[e.UserID] != nil {
			known = append(known, e)
		}
	}
	return known
}

// send checks the keyboard, adds the message to its chat and returns it.
func (tg *Telegram) send(m *tgMessage) (any, *apiError) {
	c := m.chat
	if err := c.checkKeyboard(m.keyboard); err != nil {
		return nil, err
	}
	m.id, m.date = c.nextMessageID(), tg.now()
	c.add(m)
	c.lastBot = tg.me.ID
	tg.note("%s: #%d bot: %s %q", c.label(), m.id, m.text, m.public().Labels())
	return m.wire(true), nil
}
