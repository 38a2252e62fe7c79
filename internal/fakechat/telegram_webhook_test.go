package fakechat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

func decimal(n int) string { return strconv.Itoa(n) }

// receiver is a webhook of a bot; answer decides what it says.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	secrets []string
	updates []update
	answer  func(w http.ResponseWriter, u update)
}

func newReceiver(t *testing.T, answer func(http.ResponseWriter, update)) *receiver {
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		var u update
		json.Unmarshal(body, &u)
		r.mu.Lock()
		r.updates = append(r.updates, u)
		r.secrets = append(r.secrets, request.Header.Get("X-Telegram-Bot-Api-Secret-Token"))
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(w, u)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ids(r.updates)
}

func hooked(t *testing.T, r *receiver, p params) *client {
	opts := frozen()
	opts.AnyWebhook = true
	c := newClient(t, opts)
	p["url"] = r.URL + "/hook"
	c.must("setWebhook", p)
	return c
}

func TestTelegramT6_Delivery(t *testing.T) {
	r := newReceiver(t, nil)
	c := hooked(t, r, params{"secret_token": "s3cret_-"})
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	id := alice.Start("").UpdateID
	require.NoError(t, c.tg.WaitFor(testContext(t), func() bool { return c.tg.Confirmed(id) }))
	require.Equal(t, []int{id}, r.got())
	require.Equal(t, []string{"s3cret_-"}, r.secrets)
	require.Empty(t, c.tg.PendingUpdates())
}

func TestTelegramT6_Checks(t *testing.T) {
	c := newClient(t, frozen())
	for name, row := range map[string]struct {
		p    params
		want string
	}{
		"http":            {params{"url": "http://example.com"}, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"},
		"port":            {params{"url": "https://example.com:8080/"}, "Bad Request: bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443"},
		"loopback":        {params{"url": "https://127.0.0.1:8443/"}, "Bad Request: bad webhook: IP address 127.0.0.1 is reserved"},
		"localhost":       {params{"url": "https://localhost/"}, "Bad Request: bad webhook: IP address 127.0.0.1 is reserved"},
		"private":         {params{"url": "https://10.1.2.3/"}, "Bad Request: bad webhook: IP address 10.1.2.3 is reserved"},
		"ipv6":            {params{"url": "https://[2001:db8::1]/"}, "Bad Request: bad webhook: IPv6-only addresses are not allowed"},
		"no url":          {params{"url": "ftp://example.com"}, "Bad Request: invalid webhook URL specified"},
		"secret's chars":  {params{"url": "https://example.com", "secret_token": "a b"}, "Bad Request: secret token contains unallowed characters"},
		"secret's length": {params{"url": "https://example.com", "secret_token": strings.Repeat("a", 257)}, "Bad Request: secret token is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			c.tg.Advance(2 * time.Second)
			c.refused("setWebhook", row.p, 400, row.want)
			require.Equal(t, "", c.must("getWebhookInfo", nil)["url"])
		})
	}
	for _, good := range []string{"https://example.com/x", "example.com:443", "https://example.com:88", "https://example.com:80", "https://example.com:8443"} {
		c.tg.Advance(2 * time.Second)
		c.must("setWebhook", params{"url": good, "secret_token": strings.Repeat("a", 256)})
		require.Equal(t, good, c.must("getWebhookInfo", nil)["url"])
	}
}

func TestTelegramT6_SetTwice(t *testing.T) {
	opts := frozen()
	opts.AnyWebhook = true
	c := newClient(t, opts)
	c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"}).Start("")
	p := params{"url": "http://127.0.0.1:1/", "allowed_updates": []string{"message"}, "max_connections": 3}
	require.Contains(t, c.call("setWebhook", p).Raw, `"Webhook was set"`)
	a := c.refused("setWebhook", p, 429, "Too Many Requests: retry after 1")
	require.Equal(t, 1, a.Parameters.RetryAfter)
	c.tg.Advance(time.Second)
	require.Contains(t, c.call("setWebhook", p).Raw, `"Webhook is already set"`)
	require.NoError(t, c.tg.WaitFor(testContext(t), func() bool {
		return c.must("getWebhookInfo", nil)["last_error_message"] != nil
	}))
	info := c.must("getWebhookInfo", nil)
	require.EqualValues(t, 1, info["pending_update_count"])
	require.EqualValues(t, 3, info["max_connections"])
	require.Equal(t, []any{"message"}, info["allowed_updates"])
	require.Contains(t, c.call("deleteWebhook", params{"drop_pending_updates": true}).Raw, `"Webhook was deleted"`)
	require.Contains(t, c.call("deleteWebhook", nil).Raw, `"Webhook is already deleted"`)
	require.EqualValues(t, 0, c.must("getWebhookInfo", nil)["pending_update_count"])
}

func TestTelegramT6_RetryUntilExpiry(t *testing.T) {
	ctx := testContext(t)
	r := newReceiver(t, func(w http.ResponseWriter, u update) {
		if u.Callback != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	c := hooked(t, r, params{})
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	start := alice.Start("").UpdateID
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return c.tg.Confirmed(start) }))
	id := c.send(alice.Chat(), "card", "Allow", "a:1")
	tap := alice.Tap(alice.Chat(), id, "Allow")
	// At once, again at once, then after 2, 4, 8 … seconds; never after 150 s.
	tries := []time.Duration{0, 0, 2, 4, 8, 16, 32}
	failed := func(n int) func() bool {
		return func() bool { return c.tg.Updates()[1].Failed >= n }
	}
	for n, after := range tries {
		c.tg.Advance(after * time.Second)
		require.NoError(t, c.tg.WaitFor(ctx, failed(n+1)))
		if n > 0 {
			require.Equal(t, n+1, c.tg.Delivered(tap.UpdateID), "the next try has to wait")
		}
	}
	require.Len(t, c.tg.PendingUpdates(), 1)
	c.tg.Advance(64 * time.Second)
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return len(c.tg.PendingUpdates()) == 0 }))
	require.False(t, c.tg.Confirmed(tap.UpdateID))
	require.Equal(t, "Wrong response from the webhook: 500 Internal Server Error", c.must("getWebhookInfo", nil)["last_error_message"])
}

func TestTelegramT6_OrderPerUserAndParallelUsers(t *testing.T) {
	ctx := testContext(t)
	release := make(chan struct{})
	var slow float64
	r := newReceiver(t, func(_ http.ResponseWriter, u update) {
		if u.Callback["from"].(map[string]any)["id"].(float64) == slow {
			<-release
		}
	})
	c := hooked(t, r, params{"allowed_updates": []string{"callback_query"}})
	alice := c.tg.AddUser(fakechat.TelegramProfile{ID: 1, FirstName: "Alice"})
	bob := c.tg.AddUser(fakechat.TelegramProfile{ID: 2, FirstName: "Bob"})
	slow = 1
	group := c.tg.AddGroup("Ops", alice, bob)
	id := c.send(group, "card", "Allow", "a")
	first := alice.Tap(group, id, "Allow")
	second := alice.Tap(group, id, "Allow")
	other := bob.Tap(group, id, "Allow")
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return c.tg.Confirmed(other.UpdateID) }))
	require.NotContains(t, r.got(), second.UpdateID, "one user's taps go one after another")
	close(release)
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return c.tg.Confirmed(second.UpdateID) }))
	require.True(t, c.tg.Confirmed(first.UpdateID))
}

func TestTelegramT6_CallInTheAnswer(t *testing.T) {
	ctx := testContext(t)
	reply := `{"method":"sendMessage","chat_id":1,"text":"hello"}`
	r := newReceiver(t, func(w http.ResponseWriter, u update) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, reply)
	})
	c := hooked(t, r, params{})
	alice := c.tg.AddUser(fakechat.TelegramProfile{ID: 1, FirstName: "Alice"})
	alice.Start("")
	m, err := alice.Chat().WaitMessage(ctx, func(m fakechat.TelegramMessage) bool { return m.Text == "hello" })
	require.NoError(t, err)
	require.Equal(t, "webhook", c.tg.Calls("sendMessage")[0].Via)
	require.NotZero(t, m.ID)

	reply = `{"method":"deleteWebhook"}`
	id := alice.Say(alice.Chat(), "again").UpdateID
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return c.tg.Confirmed(id) }))
	require.NotEmpty(t, c.must("getWebhookInfo", nil)["url"], "ignored in an answer")
}

func TestTelegramT6_GoneForTooLong(t *testing.T) {
	ctx := testContext(t)
	r := newReceiver(t, func(w http.ResponseWriter, _ update) { w.WriteHeader(http.StatusGone) })
	c := hooked(t, r, params{})
	alice := c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	first := alice.Start("").UpdateID
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return c.tg.Delivered(first) >= 2 }))
	c.tg.Advance(23*time.Hour + time.Minute)
	require.NoError(t, c.tg.WaitFor(ctx, func() bool { return c.must("getWebhookInfo", nil)["url"] == "" }))
	require.False(t, c.tg.Confirmed(first))
}

func TestTelegramT6_StrictModeStaysAtHome(t *testing.T) {
	c := newClient(t, fakechat.TelegramOptions{})
	c.must("setWebhook", params{"url": "https://example.com/hook"})
	c.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"}).Start("")
	require.NoError(t, c.tg.WaitFor(testContext(t), func() bool {
		return c.must("getWebhookInfo", nil)["last_error_message"] == "Can't connect to the webhook"
	}))
}
