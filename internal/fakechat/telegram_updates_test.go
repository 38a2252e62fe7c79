package fakechat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

// step moves the clock so far that the same-offset throttles do not apply.
const step = 4 * time.Second

func TestTelegramT4_OffsetConfirms(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	first := alice.Start("").UpdateID
	alice.Say(alice.Chat(), "two")
	third := alice.Say(alice.Chat(), "three").UpdateID
	require.Equal(t, first+2, third, "ids are sequential")

	require.Equal(t, []int{first, first + 1, third}, ids(c.updates(params{})))
	c.tg.Advance(step)
	require.Equal(t, []int{first, first + 1, third}, ids(c.updates(params{})), "delivered again until confirmed")
	require.Equal(t, 2, c.tg.Delivered(first))
	require.False(t, c.tg.Confirmed(first))
	require.Len(t, c.tg.PendingUpdates(), 3)

	require.Equal(t, []int{third}, ids(c.updates(params{"offset": third})))
	require.True(t, c.tg.Confirmed(first))
	require.False(t, c.tg.Confirmed(third))
	require.Empty(t, c.updates(params{"offset": third + 1}))
	require.True(t, c.tg.Confirmed(third))
	require.Empty(t, c.tg.PendingUpdates())
}

func TestTelegramT4_RandomStart(t *testing.T) {
	seen := make(map[int]bool)
	for range 3 {
		tg := fakechat.NewTelegram(t, fakechat.TelegramOptions{})
		id := tg.AddUser(fakechat.TelegramProfile{FirstName: "A"}).Start("").UpdateID
		require.Greater(t, id, 2_000_000)
		seen[id] = true
	}
	require.Greater(t, len(seen), 1)
	opts := fakechat.TelegramOptions{FirstUpdateID: 7}
	require.Equal(t, 7, fakechat.NewTelegram(t, opts).InjectUpdate(`{"poll":{}}`))
}

func TestTelegramT4_LimitAndNegativeOffset(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	first := alice.Start("").UpdateID
	for range 149 {
		alice.Say(alice.Chat(), "x")
	}
	for limit, want := range map[int]int{5: 5, 100: 100, 1000: 100, 0: 1, -3: 1} {
		c.tg.Advance(step)
		require.Len(t, c.updates(params{"limit": limit}), want, "limit %d", limit)
	}
	c.tg.Advance(step)
	require.Equal(t, []int{first + 148, first + 149}, ids(c.updates(params{"offset": -2})))
	require.Len(t, c.tg.PendingUpdates(), 2, "the rest is forgotten")
	require.True(t, c.tg.Updates()[0].Lost)
}

func TestTelegramT4_LongPollWaits(t *testing.T) {
	c := newClient(t, frozen())
	ctx := testContext(t)
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	waiting := c.poll(ctx, params{"timeout": 30})
	require.NoError(t, c.tg.WaitFor(ctx, c.tg.Polling))
	alice.Start("")
	require.Contains(t, (<-waiting).Raw, "/start")

	c.tg.Advance(step)
	waiting = c.poll(ctx, params{"timeout": 1000, "offset": -1})
	require.Contains(t, (<-waiting).Raw, "/start")
	last := c.tg.Updates()[0].ID
	waiting = c.poll(ctx, params{"timeout": 1000, "offset": last + 1})
	require.NoError(t, c.tg.WaitFor(ctx, c.tg.Polling))
	c.tg.Advance(49 * time.Second)
	require.True(t, c.tg.Polling())
	c.tg.Advance(time.Second)
	require.Equal(t, `{"ok":true,"result":[]}`, (<-waiting).Raw, "the timeout is capped at 50 s")
}

func TestTelegramT4_AbandonedPoll(t *testing.T) {
	c := newClient(t, fakechat.TelegramOptions{})
	ctx, cancel := context.WithCancel(testContext(t))
	waiting := c.poll(ctx, params{"timeout": 50})
	require.NoError(t, c.tg.WaitFor(ctx, c.tg.Polling))
	cancel()
	<-waiting
	require.NoError(t, c.tg.WaitFor(testContext(t), func() bool { return !c.tg.Polling() }))
}

func TestTelegramT4_SameOffsetThrottles(t *testing.T) {
	c := newClient(t, frozen())
	ctx := testContext(t)
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	alice.Start("")
	alice.Say(alice.Chat(), "two")
	require.Len(t, c.updates(params{}), 2)
	require.Len(t, c.updates(params{}), 1, "within half a second there is one update")
	c.tg.Advance(time.Second)
	require.Len(t, c.updates(params{}), 2)

	c.updates(params{"offset": -1})
	last := c.tg.Updates()[1].ID
	require.Empty(t, c.updates(params{"offset": last + 1}))
	waiting := c.poll(ctx, params{"offset": last + 1})
	require.NoError(t, c.tg.WaitFor(ctx, c.tg.Polling), "within 3 s a short poll waits 3 s")
	c.tg.Advance(3 * time.Second)
	require.Equal(t, `{"ok":true,"result":[]}`, (<-waiting).Raw)
}

func TestTelegramT4_Expiry(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	message := alice.Start("").UpdateID
	id := c.send(alice.Chat(), "card", "Allow", "a:1")
	tap := alice.Tap(alice.Chat(), id, "Allow")

	c.tg.Advance(150 * time.Second)
	require.Equal(t, []int{message, tap.UpdateID}, ids(c.updates(params{})))
	c.tg.Advance(time.Second)
	require.Equal(t, []int{message}, ids(c.updates(params{})), "a tap lives 150 s")
	c.tg.Advance(24*time.Hour - 151*time.Second)
	require.Equal(t, []int{message}, ids(c.updates(params{})))
	c.tg.Advance(step)
	require.Empty(t, c.updates(params{}), "a message lives 24 h")
	for _, u := range c.tg.Updates() {
		require.True(t, u.Lost)
		require.False(t, u.Confirmed)
	}
}

func TestTelegramT4_AllowedUpdates(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	queued := alice.Start("").UpdateID
	id := c.send(alice.Chat(), "card", "Allow", "a:1")
	require.Len(t, c.updates(params{"allowed_updates": []string{"callback_query"}}), 1, "what is queued stays")
	require.Zero(t, alice.Say(alice.Chat(), "hi").UpdateID)
	require.NotZero(t, alice.Tap(alice.Chat(), id, "Allow").UpdateID)

	c.updates(params{"offset": queued})
	require.Zero(t, alice.Say(alice.Chat(), "hi").UpdateID, "remembered without the parameter")
	for _, nonsense := range []any{"no JSON", params{}, 5, []any{1}} {
		c.tg.Advance(step)
		c.updates(params{"allowed_updates": nonsense})
		require.Zero(t, alice.Say(alice.Chat(), "hi").UpdateID, "%v changes nothing", nonsense)
	}
	c.tg.Advance(step)
	c.updates(params{"allowed_updates": []string{}})
	require.NotZero(t, alice.Say(alice.Chat(), "hi").UpdateID, "empty means the default")
}

func TestTelegramT4_IDsJumpBack(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	old := alice.Start("").UpdateID
	require.Empty(t, c.updates(params{"offset": old + 1}))
	c.tg.Advance(8 * 24 * time.Hour)
	c.tg.JumpUpdateID(500)
	require.Equal(t, 500, alice.Say(alice.Chat(), "back").UpdateID)
	require.Equal(t, []int{500}, ids(c.updates(params{"offset": old + 1})), "an offset in the future is ignored")
	require.False(t, c.tg.Confirmed(500))
	require.Empty(t, c.updates(params{"offset": 501}))
	require.True(t, c.tg.Confirmed(500))
}

func TestTelegramT4_RepeatedAndUnknownUpdates(t *testing.T) {
	c := newClient(t, frozen())
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	first := alice.Start("").UpdateID
	require.Empty(t, c.updates(params{"offset": first + 1}))

	c.tg.Redeliver(first)
	require.Equal(t, []int{first}, ids(c.updates(params{"offset": first + 1})), "whatever the offset says")
	require.Equal(t, 1, c.tg.Delivered(first))
	c.tg.Advance(step)
	require.Empty(t, c.updates(params{"offset": first + 1}), "only once")

	next := c.tg.InjectUpdate(`{"telepathy":{"mood":"<good>"}}`)
	require.Equal(t, first+1, next)
	stray := c.tg.InjectUpdate(`{"update_id":3,"message":{"future_field":[1]}}`)
	require.Equal(t, 3, stray)
	c.tg.Advance(step)
	a := c.call("getUpdates", params{"offset": first + 1})
	require.JSONEq(t, `[{"update_id":3,"message":{"future_field":[1]}},{"update_id":`+decimal(next)+`,"telepathy":{"mood":"<good>"}}]`, string(a.Result))
}

func TestTelegramT5_NewerPollerWins(t *testing.T) {
	const other = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	c := newClient(t, frozen())
	ctx := testContext(t)
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	older := c.poll(ctx, params{"timeout": 50})
	require.NoError(t, c.tg.WaitFor(ctx, c.tg.Polling))
	newer := c.poll(ctx, params{"timeout": 50})
	a := <-older
	require.Equal(t, 409, a.Status)
	require.Equal(t, other, a.Description)

	require.NoError(t, c.tg.WaitFor(ctx, c.tg.Polling))
	newest := c.poll(ctx, params{"timeout": 50})
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return strings.Count(c.tg.Transcript(), other) == 2 }))
	select {
	case a := <-newer:
		t.Fatalf("a conflict within 3 s of another is answered late, not now: %s", a.Raw)
	default:
		c.tg.Advance(2 * time.Second)
		require.Len(t, newer, 0)
	}
	c.tg.Advance(time.Second)
	require.Equal(t, 409, (<-newer).Status)
	alice.Start("")
	require.True(t, (<-newest).OK)
}

func TestTelegramT5_BothGetWhatIsPending(t *testing.T) {
	c := newClient(t, frozen())
	id := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"}).Start("").UpdateID
	require.Equal(t, []int{id}, ids(c.updates(params{"timeout": 50})))
	require.Equal(t, []int{id}, ids(c.updates(params{"timeout": 50})))
	require.Equal(t, 2, c.tg.Delivered(id))
}

func TestTelegramT5_WebhookExcludesPolling(t *testing.T) {
	opts := frozen()
	opts.AnyWebhook = true
	c := newClient(t, opts)
	ctx := testContext(t)
	waiting := c.poll(ctx, params{"timeout": 50})
	require.NoError(t, c.tg.WaitFor(ctx, c.tg.Polling))
	c.must("setWebhook", params{"url": "http://127.0.0.1:1/"})
	require.Equal(t, "Conflict: terminated by setWebhook request", (<-waiting).Description)
	c.tg.Advance(step)
	c.refused("getUpdates", nil, 409,
		"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	c.must("deleteWebhook", nil)
	require.Empty(t, c.updates(nil))
}
