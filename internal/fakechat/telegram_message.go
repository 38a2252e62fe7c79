package fakechat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// TelegramMessage is a message as it was when it was asked for.
type TelegramMessage struct {
	// ID is the message_id, unique within the chat only.
	ID int
	// ChatID is the chat it is in.
	ChatID int64
	// FromID is the sender's user id, 0 for a post of a channel's people. On the
	// wire no channel post tells its sender.
	FromID int64
	// SenderChatID is set for anonymous administrators and channels.
	SenderChatID int64
	// Date and Edited are in the fake's time; Edited is zero if never edited.
	Date, Edited time.Time
	// Text is what people read, after parsing; empty for documents.
	Text string
	// Caption is the text of a document.
	Caption string
	// Entities belong to Text or Caption.
	Entities []TelegramEntity
	// RawText and ParseMode are what the bot sent.
	RawText, ParseMode string
	// Buttons is the inline keyboard.
	Buttons [][]TelegramButton
	// ThreadID is the message_thread_id, 0 if there is no thread, or for General.
	ThreadID int
	// ReplyTo is the id of the message this one answers.
	ReplyTo int
	// Document is the attached file, nil if no file is attached.
	Document *TelegramDocument
	// Forwarded says that the message was forwarded.
	Forwarded bool
	// Silent, Protected and NoPreview are disable_notification, protect_content
	// and link_preview_options.is_disabled.
	Silent, Protected, NoPreview bool
	// Service is the field that makes this a service message, such as
	// "forum_topic_created".
	Service string
	// Deleted says that the message is gone.
	Deleted bool
	// EditCount is how often it was edited.
	EditCount int
	// UpdateID is the update that told the bot about it, 0 if no update did.
	UpdateID int
}

// TelegramDocument is a document that a message shows.
type TelegramDocument struct {
	FileID   string
	Name     string
	MIMEType string
	Bytes    []byte
}

// Button returns the button with this label.
func (m TelegramMessage) Button(label string) (TelegramButton, bool) {
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Text == label {
				return b, true
			}
		}
	}
	return TelegramButton{}, false
}

// Labels returns the labels of all buttons in reading order.
func (m TelegramMessage) Labels() []string {
	var labels []string
	for _, row := range m.Buttons {
		for _, b := range row {
			labels = append(labels, b.Text)
		}
	}
	return labels
}

// EntityText returns the part of Text or Caption that an entity covers; its
// offsets are UTF-16 code units (Bot API, MessageEntity).
func (m TelegramMessage) EntityText(e TelegramEntity) string {
	units := utf16.Encode([]rune(m.Text + m.Caption))
	if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > len(units) {
		return ""
	}
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length]))
}

// tgMessage is a message of the fake.
type tgMessage struct {
	chat           *TelegramChat
	id             int
	date, edited   time.Time
	from           *tgUser       // nil in a channel
	senderChat     *TelegramChat // anonymous administrators and channels
	text           string        // or the caption of a document
	entities       []TelegramEntity
	raw, mode      string
	document       *TelegramDocument
	keyboard       [][]TelegramButton
	thread         int  // topic, or first message of a thread
	topic          bool // thread is a topic
	replyTo        *tgMessage
	forward        map[string]any // forward_origin
	autoForward    bool
	service        string
	serviceContent any
	preview        json.RawMessage // link_preview_options
	noPreview      bool
	silent         bool
	protected      bool
	deleted        bool
	edits          int
	updateID       int
}

// newMessage makes a message with the entities that the server finds by itself.
// It does not add it to the chat.
func (c *TelegramChat) newMessage(from *tgUser, senderChat *TelegramChat, text string) *tgMessage {
	body := fixText(text, nil)
	return &tgMessage{
		chat: c, id: c.nextMessageID(), date: c.tg.now(), from: from, senderChat: senderChat,
		text: body.text, entities: body.entities, raw: text,
	}
}

// public copies the message for a test.
func (m *tgMessage) public() TelegramMessage {
	p := TelegramMessage{
		ID: m.id, ChatID: m.chat.ID, Date: m.date, Edited: m.edited, Entities: slices.Clone(m.entities),
		RawText: m.raw, ParseMode: m.mode, ThreadID: m.thread, Forwarded: m.forward != nil, Silent: m.silent,
		Protected: m.protected, NoPreview: m.noPreview, Service: m.service, Deleted: m.deleted,
		EditCount: m.edits, UpdateID: m.updateID, Text: m.text,
	}
	if m.from != nil {
		p.FromID = m.from.ID
	}
	if m.senderChat != nil {
		p.SenderChatID = m.senderChat.ID
	}
	if m.replyTo != nil {
		p.ReplyTo = m.replyTo.id
	}
	if m.document != nil {
		copied := *m.document
		p.Document, p.Caption, p.Text = &copied, m.text, ""
	}
	for _, row := range m.keyboard {
		p.Buttons = append(p.Buttons, slices.Clone(row))
	}
	return p
}

// command returns the command at the start of the text and the bot it names.
func (m *tgMessage) command() (command, target string) {
	if len(m.entities) == 0 || m.entities[0].Type != "bot_command" || m.entities[0].Offset != 0 {
		return "", ""
	}
	units := utf16.Encode([]rune(m.text))
	command, target, _ = strings.Cut(string(utf16.Decode(units[:m.entities[0].Length])), "@")
	return command, target
}

// wireEntity is MessageEntity of the Bot API.
type wireEntity struct {
	TelegramEntity
	User *wireUser `json:"user,omitempty"`
}

type wireDocument struct {
	FileName string `json:"file_name,omitempty"`
	MIMEType string `json:"mime_type,omitempty"`
	FileID   string `json:"file_id"`
	UniqueID string `json:"file_unique_id"`
	FileSize int    `json:"file_size"`
}

// wire is Message of the Bot API. A message shown as a reply does not show what
// it replies to.
func (m *tgMessage) wire(withReply bool) map[string]any {
	w := map[string]any{"message_id": m.id, "date": m.date.Unix(), "chat": m.chat.wire()}
	if m.from != nil && m.chat.Type != TelegramChannel {
		w["from"] = m.from.wire()
	}
	if m.senderChat != nil {
		w["sender_chat"] = m.senderChat.wire()
	}
	if !m.edited.IsZero() {
		w["edit_date"] = m.edited.Unix()
	}
	if m.thread != 0 {
		w["message_thread_id"] = m.thread
	}
	if m.topic {
		w["is_topic_message"] = true
	}
	if m.protected {
		w["has_protected_content"] = true
	}
	if reply := m.shownReply(); withReply && reply != nil && !reply.deleted {
		w["reply_to_message"] = reply.wire(false)
	}
	if len(m.keyboard) > 0 {
		w["reply_markup"] = map[string]any{"inline_keyboard": m.keyboard}
	}
	m.wireForward(w)
	m.wireContent(w)
	return w
}

// shownReply is the message that is answered, or the one that made the topic:
// every message in a topic looks like an answer to it (Client.cpp,
// get_implicit_reply_to_message_id).
func (m *tgMessage) shownReply() *tgMessage {
	if m.replyTo == nil && m.topic && m.thread != m.id {
		return m.chat.find(m.thread)
	}
	return m.replyTo
}

func (m *tgMessage) wireContent(w map[string]any) {
	text, entities := "text", "entities"
	switch {
	case m.service != "":
		w[m.service] = m.serviceContent
		return
	case m.document != nil:
		d := m.document
		w["document"] = wireDocument{d.Name, d.MIMEType, d.FileID, "u" + d.FileID, len(d.Bytes)}
		text, entities = "caption", "caption_entities"
	case m.preview != nil:
		w["link_preview_options"] = m.preview
	}
	if m.text != "" || m.document == nil {
		w[text] = m.text
	}
	if len(m.entities) > 0 {
		w[entities] = m.wireEntities()
	}
}

func (m *tgMessage) wireEntities() []wireEntity {
	var list []wireEntity
	for _, e := range m.entities {
		list = append(list, wireEntity{e, m.chat.tg.users[e.UserID].wire()})
	}
	return list
}

// wireForward adds forward_origin and the older fields that the server still
// sends beside it.
func (m *tgMessage) wireForward(w map[string]any) {
	if m.forward == nil {
		return
	}
	w["forward_origin"], w["forward_date"] = m.forward, m.forward["date"]
	if user, ok := m.forward["sender_user"]; ok {
		w["forward_from"] = user
	}
	if chat, ok := m.forward["chat"]; ok {
		w["forward_from_chat"], w["forward_from_message_id"] = chat, m.forward["message_id"]
	}
	if m.autoForward {
		w["is_automatic_forward"] = true
	}
}

// label names a chat in the transcript.
func (c *TelegramChat) label() string {
	if c.person != nil {
		return fmt.Sprintf("chat with %s", c.person.FirstName)
	}
	return fmt.Sprintf("%s %q", c.Type, c.title)
}
