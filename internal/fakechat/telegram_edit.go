package fakechat

import (
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// deleteLimit is how long a bot can delete a message (Bot API, deleteMessage).
const deleteLimit = 48 * time.Hour

// maxAnswerText is the length of a callback answer (Bot API,
// answerCallbackQuery).
const maxAnswerText = 200

// editMessageText implements editMessageText. A bot's own messages can be
// edited for ever (td, MessagesManager::can_edit_message).
func (tg *Telegram) editMessageText(q *tgQuery) (any, *apiError) {
	if q.params["text"] == "" {
		return nil, badRequest("message text is empty")
	}
	body, err := q.textArg("text", "entities")
	if err != nil {
		return nil, err
	}
	keyboard, m, err := tg.editArgs(q)
	if err != nil {
		return nil, err
	}
	if m.document != nil {
		return nil, badRequest("there is no text in the message to edit")
	}
	if err := checkText(body); err != nil {
		return nil, err
	}
	return tg.edit(m, keyboard, func() { m.setText(q, "text", body) })
}

// editMessageCaption implements editMessageCaption.
func (tg *Telegram) editMessageCaption(q *tgQuery) (any, *apiError) {
	caption, err := q.textArg("caption", "caption_entities")
	if err != nil {
		return nil, err
	}
	keyboard, m, err := tg.editArgs(q)
	if err != nil {
		return nil, err
	}
	if m.document == nil {
		return nil, badRequest("there is no caption in the message to edit")
	}
	if err := checkCaption(caption); err != nil {
		return nil, err
	}
	return tg.edit(m, keyboard, func() { m.setText(q, "caption", caption) })
}

// editMessageReplyMarkup implements editMessageReplyMarkup.
func (tg *Telegram) editMessageReplyMarkup(q *tgQuery) (any, *apiError) {
	keyboard, m, err := tg.editArgs(q)
	if err != nil {
		return nil, err
	}
	return tg.edit(m, keyboard, func() {})
}

// editArgs reads the keyboard and finds the message to edit. Messages sent via
// inline mode are not faked.
func (tg *Telegram) editArgs(q *tgQuery) ([][]TelegramButton, *tgMessage, *apiError) {
	keyboard, err := q.keyboardArg(true)
	if err != nil {
		return nil, nil, err
	}
	if q.params["chat_id"] == "" && q.messageID() == 0 {
		if q.params["inline_message_id"] == "" {
			return nil, nil, badRequest("message identifier is not specified")
		}
		return nil, nil, badRequest("MESSAGE_ID_INVALID")
	}
	c, err := tg.openChat(q, toEdit)
	if err != nil {
		return nil, nil, err
	}
	m := c.find(q.messageID())
	switch {
	case m == nil, m.deleted:
		return nil, nil, badRequest("message to edit not found")
	case m.from != tg.me, m.forward != nil, m.service != "":
		return nil, nil, badRequest("message can't be edited")
	}
	return keyboard, m, c.checkKeyboard(keyboard)
}

// edit changes a message. If the call has no keyboard, the keyboard is removed; an edit
// that does not change the message is an error (Client.cpp, MESSAGE_NOT_MODIFIED).
func (tg *Telegram) edit(m *tgMessage, keyboard [][]TelegramButton, change func()) (any, *apiError) {
	before := *m
	change()
	m.keyboard = keyboard
	if m.text == before.text && slices.Equal(m.entities, before.entities) && reflect.DeepEqual(m.keyboard, before.keyboard) {
		*m = before
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly " +
			"the same as a current content and reply markup of the message")
	}
	m.edited = tg.now()
	m.edits++
	tg.note("%s: #%d edited by bot: %s %q", m.chat.label(), m.id, m.text, m.public().Labels())
	return m.wire(true), nil
}

// deleteMessage implements deleteMessage.
func (tg *Telegram) deleteMessage(q *tgQuery) (any, *apiError) {
	if q.params["chat_id"] == "" {
		return nil, badRequest("chat identifier is not specified")
	}
	if q.messageID() == 0 {
		return nil, badRequest("message identifier is not specified")
	}
	c, err := tg.openChat(q, toWrite)
	if err != nil {
		return nil, err
	}
	m := c.find(q.messageID())
	if m == nil || m.deleted {
		return nil, badRequest("message to delete not found")
	}
	foreign := m.from != tg.me && c.isGroup() && c.botStatus() != statusAdmin
	if foreign || tg.now().Sub(m.date) > deleteLimit {
		return nil, badRequest("message can't be deleted")
	}
	m.deleted = true
	tg.note("%s: #%d deleted by bot", c.label(), m.id)
	return true, nil
}

// answerCallbackQuery implements answerCallbackQuery: once, and in time. The
// error of a long text is a guess.
func (tg *Telegram) answerCallbackQuery(q *tgQuery) (any, *apiError) {
	id, _ := strconv.ParseInt(q.params["callback_query_id"], 10, 64)
	query := tg.callbacks[id]
	text := fixText(q.params["text"], nil).text
	switch {
	case query == nil, query.answered != nil, tg.now().Sub(query.created) > tg.opts.AnswerWindow:
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	case utf8.RuneCountInString(text) > maxAnswerText:
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	query.answered = &TelegramAnswer{
		Text: text, Alert: q.flag("show_alert"), URL: q.params["url"], CacheTime: q.integer("cache_time", 0, 0, 24*30*3600),
	}
	tg.note("answer to %d: %s", id, text)
	return true, nil
}
