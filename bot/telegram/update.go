package telegram

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
)

// The parts of the Bot API's objects that the desk reads. They are its own and
// not the library's, so that a new or changed field elsewhere in an update can
// never keep a tap from being read.
type (
	update struct {
		ID      int64        `json:"update_id"`
		Message *message     `json:"message"`
		Tap     *tap         `json:"callback_query"`
		Member  *memberEvent `json:"my_chat_member"`
	}
	message struct {
		ID           int64            `json:"message_id"` // 0 for an ephemeral message, which cannot be replied to
		ThreadID     int64            `json:"message_thread_id"`
		InTopic      bool             `json:"is_topic_message"`
		From         *user            `json:"from"`
		SenderChat   *chat            `json:"sender_chat"`
		BusinessBot  *user            `json:"sender_business_bot"`
		ViaBot       *user            `json:"via_bot"`
		FromOffline  bool             `json:"is_from_offline"`
		Date         int64            `json:"date"` // seconds; 0 for an InaccessibleMessage
		Chat         chat             `json:"chat"`
		Forward      *json.RawMessage `json:"forward_origin"`
		ReplyTo      *message         `json:"reply_to_message"`
		TopicCreated *json.RawMessage `json:"forum_topic_created"`
		Text         string           `json:"text"`
		MigrateTo    int64            `json:"migrate_to_chat_id"`
		Markup       struct {
			Rows [][]struct {
				Data string `json:"callback_data"`
			} `json:"inline_keyboard"`
		} `json:"reply_markup"`
	}
	tap struct {
		ID      string   `json:"id"`
		From    *user    `json:"from"`
		Message *message `json:"message"` // nil: sent via inline mode, into a chat the bot does not know
		Data    string   `json:"data"`
	}
	memberEvent struct {
		From *user `json:"from"`
		Chat chat  `json:"chat"`
		New  struct {
			Status string `json:"status"`
		} `json:"new_chat_member"`
	}
	user struct {
		ID       int64  `json:"id"`
		IsBot    bool   `json:"is_bot"`
		First    string `json:"first_name"`
		Last     string `json:"last_name"`
		Username string `json:"username"`
	}
	chat struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	}
)

// Accounts that Telegram puts into Message.from if the true sender is not told
// (telegram-bot-api Client.cpp; Bot API, Message.from and sender_chat).
var standIns = sync.OnceValue(func() map[int64]string {
	return map[int64]string{
		1087968824: "an anonymous administrator",
		136817688:  "a channel",
		777000:     "Telegram itself",
	}
})

// parseUpdate reads an update. Of one that has an unknown form only the id is given,
// as far as it has one.
func parseUpdate(body []byte) (u update, err error) {
	if err := json.Unmarshal(body, &u); err != nil {
		return update{ID: u.ID}, fmt.Errorf("the update has an unknown form: %w", err)
	}
	return u, nil
}

// person is the id of the update's person; "0" if not from a person.
func (u update) person() string { return strconv.FormatInt(u.user(), 10) }

func (u update) user() int64 {
	from := (*user)(nil)
	switch {
	case u.Tap != nil:
		from = u.Tap.From
	case u.Message != nil:
		from = u.Message.From
	case u.Member != nil:
		from = u.Member.From
	}
	if from == nil {
		return 0
	}
	return from.ID
}

// command reports whether the message may be read as the sender's own words. A
// message that was forwarded, or made by an inline bot, is not.
func (m *message) command() bool {
	return m.Text != "" && m.Forward == nil && m.ViaBot == nil
}

// typedMessage gives what a person typed, in the desk's words, as of when they did: it may come
// late. Telegram dates by the second, of which it is taken to be the end. name is the bot's user name.
func (b *Bot) typedMessage(m *message, in approval.Inbound, name string) textcmd.Message {
	out := textcmd.Message{
		Voter: voter(m.From), Name: m.From.name(), NotHuman: m.notHuman(), Chat: b.place(m),
		Direct: m.Chat.direct(m.From),
		Text:   m.Text, BotName: name, ReceivedMs: min(in.ReceivedMs, m.Date*1000+999), Update: &in.InboundRef,
	}
	// In a topic every message looks like a reply to the one that made the topic.
	if r := m.ReplyTo; r != nil && r.ID > 0 && r.TopicCreated == nil {
		out.MessageID, out.OwnMessage = strconv.FormatInt(r.ID, 10), b.sent(r)
	}
	return out
}

// tapMessage gives a tap in the desk's words. Telegram does not date taps, so one
// that waited has no time. A tap on a message that was sent via inline mode comes
// from nowhere, so what it says is dropped: the desk can only refuse it.
func (b *Bot) tapMessage(t *tap, in approval.Inbound) textcmd.Message {
	out := textcmd.Message{Voter: voter(t.From), NotHuman: t.From.notHuman(), Tap: true, Update: &in.InboundRef}
	if !in.Waited {
		out.ReceivedMs = in.ReceivedMs
	}
	if m := t.Message; m != nil {
		out.Chat, out.Direct, out.Text = b.place(m), m.Chat.direct(t.From), t.Data
		out.MessageID, out.OwnMessage = strconv.FormatInt(m.ID, 10), b.sent(m) && m.shows(t.Data)
	}
	return out
}

// shows reports whether the message has a button with exactly that data. Data is
// only a claim: "the message originated the query can contain no callback buttons
// with this data" (Bot API, CallbackQuery.data).
func (m *message) shows(data string) bool {
	for _, row := range m.Markup.Rows {
		for _, button := range row {
			if button.Data == data {
				return true
			}
		}
	}
	return false
}

// sent reports whether this bot sent the message. Of an inaccessible message,
// and of a post in a channel, Telegram does not tell.
func (b *Bot) sent(m *message) bool {
	return m.From != nil && m.From.ID == b.id && m.Forward == nil
}

func voter(u *user) approval.Voter {
	v := approval.Voter{Channel: platform}
	if u != nil {
		v.UserID = strconv.FormatInt(u.ID, 10)
	}
	return v
}

// name is what the account calls itself, with the name that it can be found under.
func (u *user) name() string {
	if u == nil {
		return ""
	}
	name := strings.TrimSpace(u.First + " " + u.Last)
	if u.Username != "" {
		name += " (@" + u.Username + ")"
	}
	return name
}

// notHuman says why the account is not a person's, or "".
func (u *user) notHuman() string {
	switch {
	case u == nil:
		return "an unnamed sender"
	case standIns()[u.ID] != "":
		return standIns()[u.ID]
	case u.IsBot:
		return "a bot"
	case u.ID <= 0:
		return "an unnamed sender"
	}
	return ""
}

// notHuman says why a message is no person's own word, or "".
func (m *message) notHuman() string {
	who := m.From.notHuman()
	switch {
	case who != "":
		return who
	case m.SenderChat != nil:
		return "a chat or channel"
	case m.BusinessBot != nil:
		return "a bot"
	case m.FromOffline:
		return "an automatic message"
	}
	return ""
}

// place is the chat and topic of the message. Outside of topics a thread id
// only names a chain of replies.
func (b *Bot) place(m *message) approval.Target {
	t := approval.Target{Channel: b.cfg.Channel, To: strconv.FormatInt(m.Chat.ID, 10)}
	if m.InTopic && m.ThreadID > 0 {
		t.ThreadID = strconv.FormatInt(m.ThreadID, 10)
	}
	return t.Normal()
}

// direct reports whether this is the private chat of u with the bot.
func (c chat) direct(u *user) bool {
	return c.Type == "private" && u != nil && c.ID == u.ID
}

// gone reports whether the event says that the bot may no longer write there.
func (e *memberEvent) gone() bool {
	return slices.Contains([]string{"kicked", "left", "restricted"}, e.New.Status)
}
