package fakechat_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

// last is the newest update; it confirms all before it.
func (c *client) last() update {
	c.t.Helper()
	c.tg.Advance(step)
	list := c.updates(params{"offset": -1})
	require.Len(c.t, list, 1)
	return list[0]
}

func TestTelegramT10_AnswerOnce(t *testing.T) {
	const tooOld = "Bad Request: query is too old and response timeout expired or query ID is invalid"
	opts := frozen()
	opts.AnswerWindow = 20 * time.Second
	c := newClient(t, opts)
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("")
	id := c.send(alice.Chat(), "card", "Allow once", "a:1")
	tap := func() *fakechat.TelegramTap { return alice.Tap(alice.Chat(), id, "Allow once") }

	first := tap()
	_, answered := first.Answered()
	require.False(t, answered)
	c.must("answerCallbackQuery", params{"callback_query_id": first.ID, "text": " Allowed ", "show_alert": true, "cache_time": 5})
	answer, err := first.Answer(testContext(t))
	require.NoError(t, err)
	require.Equal(t, fakechat.TelegramAnswer{Text: "Allowed", Alert: true, CacheTime: 5}, answer)
	c.refused("answerCallbackQuery", params{"callback_query_id": first.ID}, 400, tooOld)
	c.refused("answerCallbackQuery", params{"callback_query_id": "12"}, 400, tooOld)
	c.refused("answerCallbackQuery", params{}, 400, tooOld)

	long := tap()
	c.refused("answerCallbackQuery", params{"callback_query_id": long.ID, "text": strings.Repeat("é", 201)}, 400, "Bad Request: MESSAGE_TOO_LONG")
	c.must("answerCallbackQuery", params{"callback_query_id": long.ID, "text": strings.Repeat("é", 200)})

	late := tap()
	c.tg.Advance(20 * time.Second)
	onTime := tap()
	c.tg.Advance(time.Second)
	c.refused("answerCallbackQuery", params{"callback_query_id": late.ID}, 400, tooOld)
	c.must("answerCallbackQuery", params{"callback_query_id": onTime.ID})
}

func TestTelegramT14_CallbackQuery(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{ID: 111, FirstName: "Alice", Username: "alice", Language: "en"})
	group := c.tg.AddGroup("Ops", alice)
	id := c.send(group, "card", "Allow", "a:1")
	tap := alice.Tap(group, id, "Allow")
	q := c.last().Callback
	require.Equal(t, tap.ID, q["id"])
	require.Regexp(t, `^[0-9]+$`, q["id"])
	require.Regexp(t, `^[0-9]+$`, q["chat_instance"])
	require.Equal(t, "a:1", q["data"])
	require.Equal(t, map[string]any{"id": 111.0, "is_bot": false, "first_name": "Alice", "username": "alice", "language_code": "en"}, q["from"])
	message := q["message"].(map[string]any)
	require.EqualValues(t, id, message["message_id"])
	require.Equal(t, "card", message["text"])
	require.EqualValues(t, 123456, message["from"].(map[string]any)["id"])
	require.EqualValues(t, group.ID, message["chat"].(map[string]any)["id"])
	require.NotNil(t, message["reply_markup"])

	other := c.send(group, "other", "Deny", "d:1")
	alice.TapData(group, other, "a:1")
	q = c.last().Callback
	require.Equal(t, "a:1", q["data"], "data need not be on the message")
	require.EqualValues(t, other, q["message"].(map[string]any)["message_id"])

	alice.Delete(group, id)
	alice.Tap(group, id, "Allow")
	message = c.last().Callback["message"].(map[string]any)
	require.EqualValues(t, 0, message["date"])
	require.EqualValues(t, id, message["message_id"])
	require.NotContains(t, message, "text")

	alice.TapInline("inline-7", "a:1")
	q = c.last().Callback
	require.Equal(t, "inline-7", q["inline_message_id"])
	require.NotContains(t, q, "message")
	require.NotEmpty(t, q["chat_instance"])

	elsewhere := c.tg.AddGroup("Elsewhere")
	alice.TapForwarded(group, other, elsewhere, "d:1")
	message = c.last().Callback["message"].(map[string]any)
	require.EqualValues(t, elsewhere.ID, message["chat"].(map[string]any)["id"])
	require.EqualValues(t, 111, message["from"].(map[string]any)["id"])
	require.NotContains(t, message, "reply_markup")
	require.Equal(t, "user", message["forward_origin"].(map[string]any)["type"])
}

func TestTelegramT14_TapsThatSendNothing(t *testing.T) {
	spy := &failures{T: t}
	tg := fakechat.NewTelegram(spy, fakechat.TelegramOptions{})
	c := &client{t: t, tg: tg, Client: tg.HTTPClient()}
	t.Cleanup(c.CloseIdleConnections)
	alice := tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("")
	id := int(c.must("sendMessage", params{"chat_id": alice.ID, "text": "x", "reply_markup": params{
		"inline_keyboard": [][]params{{{"text": "done", "disabled": params{}}, {"text": "docs", "url": "https://example.com"}}},
	}})["message_id"].(float64))
	for _, label := range []string{"done", "docs"} {
		tap := alice.Tap(alice.Chat(), id, label)
		require.Error(t, tap.Err)
		_, err := tap.Answer(testContext(t))
		require.Equal(t, tap.Err, err)
	}
	require.Empty(t, spy.texts)
	require.Error(t, alice.Tap(alice.Chat(), id, "Allow").Err)
	require.Error(t, alice.Tap(alice.Chat(), 12345678, "Allow").Err)
	require.Len(t, spy.texts, 2, "a button that is not there fails the test")
	require.Len(t, tg.PendingUpdates(), 1)
}

// failures records Errorf instead of failing.
type failures struct {
	*testing.T
	texts []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

func TestTelegramT14_ConcurrentTaps(t *testing.T) {
	c := newClient(t, fakechat.TelegramOptions{})
	group := c.tg.AddGroup("Ops")
	id := c.send(group, "card", "Allow", "a")
	var wg sync.WaitGroup
	for i := range 50 {
		user := c.tg.AddUser(fakechat.TelegramProfile{FirstName: fmt.Sprint("user ", i)})
		for range 2 {
			wg.Go(func() { user.Tap(group, id, "Allow") })
		}
	}
	wg.Wait()
	list := c.updates(params{"limit": 100})
	require.Len(t, list, 100)
	seen := make(map[any]bool)
	for i, u := range list {
		seen[u.Callback["id"]] = true
		require.Equal(t, list[0].ID+i, u.ID)
	}
	require.Len(t, seen, 100)
}

func TestTelegramT14_PrivacyMode(t *testing.T) {
	type setup func(*client, *fakechat.TelegramUser, *fakechat.TelegramChat) fakechat.TelegramSay
	nothing := func(*client, *fakechat.TelegramUser, *fakechat.TelegramChat) fakechat.TelegramSay {
		return fakechat.TelegramSay{}
	}
	botWrote := func(c *client, _ *fakechat.TelegramUser, g *fakechat.TelegramChat) fakechat.TelegramSay {
		c.send(g, "x")
		return fakechat.TelegramSay{}
	}
	reply := func(c *client, _ *fakechat.TelegramUser, g *fakechat.TelegramChat) fakechat.TelegramSay {
		return fakechat.TelegramSay{ReplyTo: c.send(g, "x")}
	}
	otherBot := func(c *client, _ *fakechat.TelegramUser, g *fakechat.TelegramChat) fakechat.TelegramSay {
		c.send(g, "x")
		c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Other", Bot: true}).Say(g, "beep")
		return fakechat.TelegramSay{}
	}
	admin := func(_ *client, _ *fakechat.TelegramUser, g *fakechat.TelegramChat) fakechat.TelegramSay {
		g.Promote()
		return fakechat.TelegramSay{}
	}
	for _, row := range []struct {
		name  string
		text  string
		setup setup
		off   bool
		want  bool
	}{
		{"plain", "hello", nothing, false, false},
		{"plain, privacy off", "hello", nothing, true, true},
		{"plain, bot is admin", "hello", admin, false, true},
		{"mention", "hi @approval_test_bot", nothing, false, false},
		{"reply to the bot", "yes", reply, false, true},
		{"command for the bot", "/approve@approval_test_bot 7KQ2", nothing, false, true},
		{"command in another case", "/approve@Approval_Test_BOT 7KQ2", nothing, false, true},
		{"command for another bot", "/approve@another_bot", botWrote, false, false},
		{"bare command", "/approve 7KQ2", nothing, false, false},
		{"bare command, bot wrote last", "/approve 7KQ2", botWrote, false, true},
		{"bare command, other bot wrote last", "/approve 7KQ2", otherBot, false, false},
		{"command in the middle", "do /approve@approval_test_bot", nothing, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			opts := frozen()
			opts.CanReadAllGroupMessages = row.off
			c := newClient(t, opts)
			alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
			group := c.tg.AddSupergroup("Ops", alice)
			how := row.setup(c, alice, group)
			m := alice.Say(group, row.text, how)
			require.Equal(t, row.want, m.UpdateID != 0)
			require.Equal(t, row.want, alice.Edit(group, m.ID, row.text+" now").UpdateID != 0, "edits are filtered alike")
		})
	}
}

func TestTelegramT14_SayEditDelete(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("payload_1")
	m := c.last().Message
	require.Equal(t, "/start payload_1", m["text"])
	require.Equal(t, []any{map[string]any{"type": "bot_command", "offset": 0.0, "length": 6.0}}, m["entities"])

	said := alice.Say(alice.Chat(), "😀 /approve@approval_test_bot x")
	m = c.last().Message
	require.Equal(t, []any{map[string]any{"type": "bot_command", "offset": 3.0, "length": 26.0}}, m["entities"], "offsets are UTF-16 units")
	require.Equal(t, "/approve@approval_test_bot", said.EntityText(said.Entities[0]))

	c.tg.Advance(time.Minute)
	alice.Edit(alice.Chat(), said.ID, "/deny x")
	u := c.last()
	require.Nil(t, u.Message)
	require.Equal(t, "/deny x", u.Edited["text"])
	require.EqualValues(t, said.ID, u.Edited["message_id"])
	require.Greater(t, u.Edited["edit_date"], u.Edited["date"])

	before := len(c.tg.Updates())
	alice.Delete(alice.Chat(), said.ID)
	require.Len(t, c.tg.Updates(), before, "bots are not told of deletions")
	gone, ok := alice.Chat().Message(said.ID)
	require.True(t, ok)
	require.True(t, gone.Deleted)
}

func TestTelegramT14_Forward(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	group := c.tg.AddGroup("Ops", alice)
	card := c.send(group, "card", "Allow", "a")
	copied, err := alice.Forward(group, card, alice.Chat())
	require.NoError(t, err)
	require.True(t, copied.Forwarded)
	require.Empty(t, copied.Buttons, "callback buttons do not survive")
	m := c.last().Message
	require.Equal(t, "card", m["text"])
	require.EqualValues(t, 123456, m["forward_from"].(map[string]any)["id"])

	links := params{"inline_keyboard": [][]params{{{"text": "docs", "url": "https://example.com"}}}}
	id := int(c.must("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_markup": links})["message_id"].(float64))
	copied, err = alice.Forward(group, id, alice.Chat())
	require.NoError(t, err)
	require.Equal(t, []string{"docs"}, copied.Labels())

	id = int(c.must("sendMessage", params{"chat_id": group.ID, "text": "x", "protect_content": true})["message_id"].(float64))
	_, err = alice.Forward(group, id, alice.Chat())
	require.Error(t, err)
}

func TestTelegramT17_Journal(t *testing.T) {
	c := newClient(t, frozen())
	group := c.tg.AddGroup("Ops")
	c.send(group, "card", "Allow", "a")
	c.tg.Advance(time.Hour)
	c.call("SENDMESSAGE", params{"chat_id": 5, "text": "x"})
	calls := c.tg.Calls("sendMessage")
	require.Len(t, calls, 2)
	require.Equal(t, "card", calls[0].Params["text"])
	require.JSONEq(t, `{"inline_keyboard":[[{"text":"Allow","callback_data":"a"}]]}`, calls[0].Params["reply_markup"])
	require.Equal(t, http.StatusOK, calls[0].Status)
	require.True(t, calls[0].Done)
	require.Equal(t, time.Hour, calls[1].At.Sub(calls[0].At))
	require.Equal(t, http.StatusBadRequest, calls[1].Status)
	require.Equal(t, "Bad Request: chat not found", calls[1].Description)
	require.Len(t, c.tg.Journal(), 2)
	require.Contains(t, c.tg.Transcript(), `group "Ops": #`)
	require.Contains(t, c.tg.Transcript(), `bot: card ["Allow"]`)
}

func TestTelegramT17_Waiting(t *testing.T) {
	c := newClient(t, fakechat.TelegramOptions{})
	group := c.tg.AddGroup("Ops")
	go c.try(t.Context(), "sendMessage", params{"chat_id": group.ID, "text": "late"})
	messages, err := group.WaitMessages(testContext(t), func(list []fakechat.TelegramMessage) bool { return len(list) == 1 })
	require.NoError(t, err)
	require.Equal(t, "late", messages[0].Text)
	c.tg.Close()
	_, err = group.WaitMessages(testContext(t), func([]fakechat.TelegramMessage) bool { return false })
	require.ErrorIs(t, err, fakechat.ErrClosed)
}

func TestTelegramT17_InsideSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, fakechat.TelegramOptions{InMemory: true})
		alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
		begin := time.Now()
		waiting := c.poll(t.Context(), params{"timeout": 50})
		require.Equal(t, `{"ok":true,"result":[]}`, (<-waiting).Raw)
		require.Equal(t, 50*time.Second, time.Since(begin))
		alice.Start("")
		require.Len(t, c.updates(nil), 1)
		c.tg.Close()
		c.CloseIdleConnections()
	})
}

func TestTelegramT18_DisabledButton(t *testing.T) {
	c := newClient(t, frozen())
	group := c.tg.AddGroup("Ops")
	done := params{"inline_keyboard": [][]params{{{"text": "✓ allowed", "disabled": params{}}}}}
	m := c.must("sendMessage", params{"chat_id": group.ID, "text": "x", "reply_markup": done})
	require.Equal(t, map[string]any{"text": "✓ allowed", "disabled": map[string]any{}}, m["reply_markup"].(map[string]any)["inline_keyboard"].([]any)[0].([]any)[0])
	button, ok := group.Messages()[0].Button("✓ allowed")
	require.True(t, ok)
	require.NotNil(t, button.Disabled)
}
