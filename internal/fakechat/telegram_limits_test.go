package fakechat_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

func TestTelegramT12_OffByDefault(t *testing.T) {
	c := newClient(t, frozen())
	group := c.tg.AddGroup("Ops")
	for range 50 {
		c.send(group, "x")
	}
}

func TestTelegramT12_Limits(t *testing.T) {
	opts := frozen()
	opts.Limits = fakechat.TelegramFAQLimits()
	c := newClient(t, opts)
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("")
	text := func(chat *fakechat.TelegramChat) params { return params{"chat_id": chat.ID, "text": "x"} }
	t.Run("chat", func(t *testing.T) {
		for range 3 {
			c.must("sendMessage", text(alice.Chat()))
		}
		a := c.refused("sendMessage", text(alice.Chat()), 429, "Too Many Requests: retry after 3")
		require.Equal(t, 3, a.Parameters.RetryAfter)
		require.Equal(t, "3", a.Header.Get("Retry-After"))
		a = c.refused("sendMessage", text(alice.Chat()), 429, "Too Many Requests: retry after 6")
		require.Equal(t, 6, a.Parameters.RetryAfter, "impatience makes it longer")
		require.Len(t, alice.Chat().FromBot(), 3)
		c.must("sendMessage", text(c.tg.AddGroup("other chats go on")))
		c.tg.Advance(6 * time.Second)
		c.must("sendMessage", text(alice.Chat()))
	})
	t.Run("group with edits", func(t *testing.T) {
		group := c.tg.AddGroup("Ops")
		var id int
		for range 10 {
			id = c.send(group, "x")
			c.must("editMessageText", params{"chat_id": group.ID, "message_id": id, "text": "y"})
			c.tg.Advance(time.Second)
		}
		edit := params{"chat_id": group.ID, "message_id": id, "text": "z"}
		c.refused("editMessageText", edit, 429, "Too Many Requests: retry after 50")
		c.tg.Advance(50 * time.Second)
		c.must("editMessageText", edit)
	})
	t.Run("global", func(t *testing.T) {
		c.tg.Advance(time.Minute)
		c.tg.SetLimits(fakechat.TelegramFAQLimits())
		for range 30 {
			c.must("sendMessage", text(c.tg.AddGroup("Ops")))
		}
		c.refused("sendMessage", text(c.tg.AddGroup("Ops")), 429, "Too Many Requests: retry after 1")
		c.must("answerCallbackQuery", params{"callback_query_id": alice.TapInline("x", "y").ID})
		c.tg.SetLimits(nil)
		c.must("sendMessage", text(c.tg.AddGroup("Ops")))
	})
}

func TestTelegramT12_ScriptedOnAnyMethod(t *testing.T) {
	c := newClient(t, frozen())
	c.tg.Fault(fakechat.TelegramFault{Method: "getupdates", Kind: fakechat.TooManyRequests, RetryAfter: 9})
	require.Equal(t, 9, c.refused("getUpdates", nil, 429, "Too Many Requests: retry after 9").Parameters.RetryAfter)
	require.Empty(t, c.updates(nil))
}

func TestTelegramT13_Faults(t *testing.T) {
	for _, row := range []struct {
		kind   fakechat.FaultKind
		when   fakechat.FaultWhen
		status int // 0: no whole answer
		body   string
	}{
		{fakechat.Status500, fakechat.Before, 500, `{"ok":false,"error_code":500,"description":"Internal Server Error: restart"}`},
		{fakechat.Status500, fakechat.After, 500, `{"ok":false,"error_code":500,"description":"Internal Server Error: sent message was immediately deleted and can't be returned"}`},
		{fakechat.HTML502, fakechat.Before, 502, "<html>"},
		{fakechat.HTML502, fakechat.After, 502, "<html>"},
		{fakechat.Truncated, fakechat.Before, 200, `{"ok":true`},
		{fakechat.Truncated, fakechat.After, 200, `{"ok":true,"result":`},
		{fakechat.Reset, fakechat.Before, 0, ""},
		{fakechat.Reset, fakechat.After, 0, ""},
		{fakechat.Conflict, fakechat.Before, 409, "terminated by other getUpdates request"},
		{fakechat.Custom, fakechat.After, 418, "teapot"},
	} {
		name := row.kind.String() + map[fakechat.FaultWhen]string{fakechat.Before: " before", fakechat.After: " after"}[row.when]
		t.Run(name, func(t *testing.T) {
			c := newClient(t, frozen())
			group := c.tg.AddGroup("Ops")
			fault := c.tg.Fault(fakechat.TelegramFault{
				Method: "sendMessage", Nth: 2, When: row.when, Kind: row.kind, Code: 418, Description: "teapot",
			})
			p := params{"chat_id": group.ID, "text": "x"}
			c.must("sendMessage", p)
			a, err := c.try(t.Context(), "sendMessage", p)
			require.Equal(t, row.status, a.Status)
			require.Contains(t, a.Raw, row.body)
			if row.status < 400 || row.kind == fakechat.HTML502 {
				require.Error(t, err, "no JSON")
			}
			require.Len(t, group.Messages(), 1+map[fakechat.FaultWhen]int{fakechat.After: 1}[row.when])
			require.Equal(t, 1, fault.Hits())
			call := c.tg.Calls("sendMessage")[1]
			require.Equal(t, row.status, call.Status)
			require.Equal(t, row.kind.String(), call.Fault)
			c.must("sendMessage", p)
		})
	}
}

func TestTelegramT13_WhichCallsAreHit(t *testing.T) {
	c := newClient(t, frozen())
	one, two := c.tg.AddGroup("One"), c.tg.AddGroup("Two")
	status := func(chat *fakechat.TelegramChat) int {
		return c.call("sendMessage", params{"chat_id": chat.ID, "text": "x"}).Status
	}
	c.tg.Fault(fakechat.TelegramFault{Chat: one.ID, Nth: 2, Times: 2})
	require.Equal(t, []int{200, 200, 500, 200, 500, 200}, []int{status(one), status(two), status(one), status(two), status(one), status(one)})
	always := c.tg.Fault(fakechat.TelegramFault{Method: "sendmessage", Times: -1})
	require.Equal(t, []int{500, 500}, []int{status(one), status(two)})
	always.Remove()
	require.Equal(t, 200, status(one))
	require.Equal(t, 2, always.Hits())
}

func TestTelegramT13_Hang(t *testing.T) {
	for name, when := range map[string]fakechat.FaultWhen{"before": fakechat.Before, "after": fakechat.After} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, fakechat.TelegramOptions{})
			ctx := testContext(t)
			group := c.tg.AddGroup("Ops")
			fault := c.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Times: 2, When: when, Kind: fakechat.Hang})
			send := func() <-chan answer {
				answers := make(chan answer, 1)
				go func() {
					a, _ := c.try(ctx, "sendMessage", params{"chat_id": group.ID, "text": "x"})
					answers <- a
				}()
				return answers
			}
			answers := send()
			require.NoError(t, c.tg.WaitFor(ctx, func() bool { return fault.Hits() == 1 }))
			effects := map[fakechat.FaultWhen]int{fakechat.After: 1}[when]
			require.Len(t, group.Messages(), effects)
			fault.Release()
			require.True(t, (<-answers).OK)
			require.Len(t, group.Messages(), 1)
		})
	}
	t.Run("until the bot goes away", func(t *testing.T) {
		c := newClient(t, fakechat.TelegramOptions{})
		fault := c.tg.Fault(fakechat.TelegramFault{Kind: fakechat.Hang, When: fakechat.After})
		group := c.tg.AddGroup("Ops")
		ctx, cancel := context.WithCancel(testContext(t))
		failed := make(chan error, 1)
		go func() {
			_, err := c.try(ctx, "sendMessage", params{"chat_id": group.ID, "text": "x"})
			failed <- err
		}()
		require.NoError(t, c.tg.WaitFor(ctx, func() bool { return fault.Hits() == 1 }))
		cancel()
		require.Error(t, <-failed)
		require.Len(t, group.Messages(), 1)
		require.NoError(t, c.tg.WaitFor(testContext(t), func() bool { return c.tg.Calls("sendMessage")[0].Done }))
		require.Equal(t, "Hang", c.tg.Calls("sendMessage")[0].Fault)
	})
	t.Run("until the fake is closed", func(t *testing.T) {
		c := newClient(t, fakechat.TelegramOptions{})
		fault := c.tg.Fault(fakechat.TelegramFault{Kind: fakechat.Hang})
		failed := make(chan error, 1)
		go func() {
			_, err := c.try(t.Context(), "getMe", nil)
			failed <- err
		}()
		require.NoError(t, c.tg.WaitFor(testContext(t), func() bool { return fault.Hits() == 1 }))
		c.tg.Close()
		require.Error(t, <-failed)
	})
}

func TestTelegramT13_SlowBody(t *testing.T) {
	c := newClient(t, frozen())
	ctx := testContext(t)
	fault := c.tg.Fault(fakechat.TelegramFault{Method: "getMe", Kind: fakechat.SlowBody, Delay: time.Hour})
	answers := make(chan answer, 1)
	go func() {
		a, _ := c.try(ctx, "getMe", nil)
		answers <- a
	}()
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return fault.Hits() == 1 }))
	require.NoError(t, c.tg.WaitFor(ctx, func() bool {
		if c.tg.Calls("getMe")[0].Done {
			return true
		}
		go c.tg.Advance(10 * time.Minute)
		return false
	}))
	require.True(t, (<-answers).OK)
}
