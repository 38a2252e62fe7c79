package fakechat

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"
)

// Why a tap or a forward had no effect.
var (
	errProtected = errors.New("fakechat: the message is protected and cannot be forwarded")
	errNoQuery   = errors.New("fakechat: the button has no data for the bot")
)

// tgCallback is a callback query.
type tgCallback struct {
	id       int64
	created  time.Time
	answered *TelegramAnswer
}

// TelegramAnswer is what the person who tapped gets to see (Bot API,
// answerCallbackQuery).
type TelegramAnswer struct {
	Text      string
	Alert     bool
	URL       string
	CacheTime int
}

// TelegramTap is a tap on a button.
type TelegramTap struct {
	tg    *Telegram
	query *tgCallback
	// ID is the callback query's id, "" if no query was sent.
	ID string
	// UpdateID is the update that brings it to the bot, 0 if allowed_updates
	// left it out.
	UpdateID int
	// Err says why no query was sent: because the button is disabled or has a url, or
	// because it is not there, which is also reported as a failure of the test.
	Err error
}

// Tap taps the button with this label on a message. A message that was deleted
// can still be tapped: the person's app has not noticed yet. Who may see the
// chat is not checked.
func (u *TelegramUser) Tap(c *TelegramChat, messageID int, label string) *TelegramTap {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	m := c.find(messageID)
	if m == nil {
		return &TelegramTap{tg: u.tg, Err: u.tg.fail("Tap: %s never showed a message %d", c.label(), messageID)}
	}
	button, ok := m.public().Button(label)
	switch {
	case !ok:
		return &TelegramTap{tg: u.tg, Err: u.tg.fail("Tap: message %d has no button %q but %q", m.id, label, m.public().Labels())}
	case button.CallbackData == "":
		return &TelegramTap{tg: u.tg, Err: errNoQuery}
	}
	return u.query(c, messageID, button.CallbackData)
}

// TapData sends a callback query by hand: any data for any message id of the
// chat. Telegram allows it; a message may show no button with this data (Bot
// API, CallbackQuery.data).
func (u *TelegramUser) TapData(c *TelegramChat, messageID int, data string) *TelegramTap {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	return u.query(c, messageID, data)
}

// TapForwarded forwards a message into a chat and taps the copy with data, as a
// client that kept the keyboard could.
func (u *TelegramUser) TapForwarded(from *TelegramChat, messageID int, to *TelegramChat, data string) *TelegramTap {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	m, err := u.forward(from, messageID, to)
	if err != nil {
		return &TelegramTap{tg: u.tg, Err: err}
	}
	return u.query(to, m.id, data)
}

// TapInline taps a button of a message that was sent via inline mode: the query
// has an inline_message_id and no message (Bot API, CallbackQuery).
func (u *TelegramUser) TapInline(inlineMessageID, data string) *TelegramTap {
	u.tg.mu.Lock()
	defer u.tg.mu.Unlock()
	return u.send(map[string]any{"inline_message_id": inlineMessageID, "chat_instance": decimal(rand.Int64()), "data": data})
}

// query sends a callback query for a message. One that is gone becomes an
// InaccessibleMessage with date 0 (Client.cpp, JsonInaccessibleMessage).
func (u *TelegramUser) query(c *TelegramChat, messageID int, data string) *TelegramTap {
	u.tg.note("%s: %s taps %q on #%d", c.label(), u.tg.users[u.ID].FirstName, data, messageID)
	message := map[string]any{"chat": c.wire(), "message_id": messageID, "date": 0}
	if m := c.find(messageID); m != nil && !m.deleted {
		message = m.wire(true)
	}
	return u.send(map[string]any{"message": message, "chat_instance": decimal(c.instance), "data": data})
}

// send queues a callback query. It always names the true person, also if that is an
// anonymous administrator (telegram-bot-api issue 667).
func (u *TelegramUser) send(content map[string]any) *TelegramTap {
	person := u.tg.users[u.ID]
	person.known = true
	query := &tgCallback{id: rand.Int64(), created: u.tg.now()}
	u.tg.callbacks[query.id] = query
	content["id"], content["from"] = decimal(query.id), person.wire()
	tap := &TelegramTap{tg: u.tg, query: query, ID: decimal(query.id)}
	tap.UpdateID = u.tg.push("callback_query", content, callbackLife, u.ID+3<<33)
	u.tg.wake()
	return tap
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Answered returns what the bot answered so far.
func (t *TelegramTap) Answered() (TelegramAnswer, bool) {
	if t.query == nil {
		return TelegramAnswer{}, false
	}
	t.tg.mu.Lock()
	defer t.tg.mu.Unlock()
	if t.query.answered == nil {
		return TelegramAnswer{}, false
	}
	return *t.query.answered, true
}

// Answer waits until the bot answers the tap with answerCallbackQuery.
func (t *TelegramTap) Answer(ctx context.Context) (TelegramAnswer, error) {
	if t.Err != nil {
		return TelegramAnswer{}, t.Err
	}
	var answer TelegramAnswer
	err := t.tg.WaitFor(ctx, func() bool {
		var ok bool
		answer, ok = t.Answered()
		return ok
	})
	return answer, err
}
