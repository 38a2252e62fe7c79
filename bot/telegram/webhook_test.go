package telegram

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/fakechat"
)

const hookSecret = "hook-Secret_1"

// toHandler sends what Telegram sends straight into a handler.
type toHandler struct{ to func() http.Handler }

func (h toHandler) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.to().ServeHTTP(w, req)
	return w.Result(), nil
}

// hooked is a scene in which Telegram sends the updates.
func hooked(t *testing.T, story func(*rig)) {
	t.Helper()
	var current *rig
	client := &http.Client{Transport: toHandler{func() http.Handler { return current.bot.WebhookHandler(func(http.ResponseWriter, *http.Request) {}) }}}
	scene(t, func(r *rig) {
		current = r
		r.cfg.Updates, r.cfg.WebhookURL, r.cfg.WebhookSecret = Webhook, "https://desk.example/telegram", hookSecret
		r.bot = r.newBot()
		story(r)
	}, func(o *fakechat.TelegramOptions) { o.AnyWebhook, o.WebhookClient = true, client })
}

func TestWebhookBringsUpdates(t *testing.T) {
	hooked(t, func(r *rig) {
		card := r.card()
		r.run()
		r.until("caught up", r.caughtUp)
		tap := r.alice.TapData(r.group, card, "/approve 7KQ2AB")
		if got := r.answered(tap); got.Text != "heard /approve 7KQ2AB" {
			t.Errorf("answered %q", got.Text)
		}
		if m := r.desk.messages()[0]; m.ReceivedMs == 0 {
			t.Error("a fresh tap has no time")
		}
		call := r.tg.Calls("setWebhook")[0]
		if call.Params["secret_token"] != hookSecret || call.Params["allowed_updates"] != `["message","callback_query","my_chat_member"]` {
			t.Errorf("%v", call.Params)
		}
		if !r.bot.State().Up || len(r.tg.Calls("getUpdates"))+len(r.tg.Calls("deleteWebhook")) > 0 {
			t.Errorf("state %+v", r.bot.State())
		}
	})
}

func TestWebhookTakesInWhatWaitedBeforeCaughtUp(t *testing.T) {
	hooked(t, func(r *rig) {
		tap := r.alice.TapData(r.group, r.card(), "/approve 7KQ2AB")
		gate := make(chan struct{})
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { <-gate; return textcmd.Reply{Text: "ok"}, nil })
		r.run()
		r.until("stored", func() bool { return len(r.inbox.stored()) == 1 })
		time.Sleep(time.Second)
		if r.caughtUp() {
			t.Error("caught up, though the tap is not handled")
		}
		close(gate)
		r.until("caught up", r.caughtUp)
		r.answered(tap)
		if m := r.desk.messages()[0]; m.ReceivedMs != 0 {
			t.Errorf("a tap that waited has the time %d", m.ReceivedMs)
		}
	})
}

// What Telegram could not deliver at once is waited for as well.
func TestWebhookWaitsForWhatTelegramStillHas(t *testing.T) {
	hooked(t, func(r *rig) {
		tap := r.alice.TapData(r.group, r.card(), "/approve 7KQ2AB")
		r.inbox.setFail(errDown)
		r.run()
		r.until("refused", func() bool { return r.tg.Delivered(tap.UpdateID) == 2 })
		r.inbox.setFail(nil)
		r.until("caught up", r.caughtUp)
		if n := len(r.desk.messages()); n != 1 {
			t.Fatalf("caught up with %d updates handled", n)
		}
		if m := r.desk.messages()[0]; m.ReceivedMs != 0 {
			t.Errorf("a tap that waited has the time %d", m.ReceivedMs)
		}
	})
}

// While an update cannot be stored, Telegram keeps it.
func TestWebhookThatCannotStore(t *testing.T) {
	hooked(t, func(r *rig) {
		r.run()
		r.until("caught up", r.caughtUp)
		r.inbox.setFail(errDown)
		tap := r.alice.TapData(r.group, r.card(), "/approve 7KQ2AB")
		r.until("refused", func() bool { return r.tg.Delivered(tap.UpdateID) >= 2 })
		if r.tg.Confirmed(tap.UpdateID) {
			t.Error("confirmed, though it could not be stored")
		}
		r.inbox.setFail(nil)
		r.until("handled", func() bool { return len(r.desk.messages()) == 1 })
	})
}

func TestWebhookTakenAway(t *testing.T) {
	hooked(t, func(r *rig) {
		r.run()
		r.until("up", func() bool { return r.bot.State().Up })
		r.call("deleteWebhook", "")
		r.until("seen", func() bool { return strings.Contains(r.bot.State().Detail, "took the webhook") })
	})
}

func TestAdversary_I11_WebhookEndpoint(t *testing.T) {
	hooked(t, func(r *rig) {
		const update = `{"update_id":41,"message":{"message_id":1,"date":1,"from":{"id":7},"chat":{"id":7,"type":"private"},"text":"x"}}`
		for name, c := range map[string]struct {
			method, secret string
			body           io.Reader
			status         int
		}{
			"no secret":     {"POST", "", unread{t}, http.StatusUnauthorized},
			"wrong secret":  {"POST", "hook-Secret_2", unread{t}, http.StatusUnauthorized},
			"prefix":        {"POST", "hook-Secret_", unread{t}, http.StatusUnauthorized},
			"longer":        {"POST", hookSecret + "x", unread{t}, http.StatusUnauthorized},
			"GET":           {"GET", hookSecret, unread{t}, http.StatusMethodNotAllowed},
			"ten megabytes": {"POST", hookSecret, strings.NewReader(`{"update_id":1,"x":"` + strings.Repeat("x", 10<<20) + `"}`), http.StatusRequestEntityTooLarge},
			"no JSON":       {"POST", hookSecret, strings.NewReader("update_id=1"), http.StatusBadRequest},
			"no id":         {"POST", hookSecret, strings.NewReader(`{"message":{}}`), http.StatusBadRequest},
			"negative id":   {"POST", hookSecret, strings.NewReader(`{"update_id":-1}`), http.StatusBadRequest},
			"cut off":       {"POST", hookSecret, io.MultiReader(strings.NewReader(update[:30]), broken{}), http.StatusBadRequest},
		} {
			req := httptest.NewRequest(c.method, "/telegram", c.body)
			if c.secret != "" {
				req.Header.Set(secretHeader, c.secret)
			}
			w := httptest.NewRecorder()
			r.bot.WebhookHandler(func(http.ResponseWriter, *http.Request) {}).ServeHTTP(w, req)
			if w.Code != c.status || w.Body.Len() > 0 {
				t.Errorf("%s: %d %q, want %d", name, w.Code, w.Body, c.status)
			}
		}
		if n := len(r.inbox.stored()); n != 0 {
			t.Fatalf("%d updates were stored", n)
		}
		for range 3 { // a replay is stored once
			if got := r.send(update); got != http.StatusOK {
				t.Fatalf("status %d", got)
			}
		}
		r.run()
		r.until("handled", func() bool { return r.inbox.open() == 0 })
		r.send(update)
		time.Sleep(10 * time.Second)
		if n := len(r.desk.messages()); n != 1 {
			t.Errorf("handled %d times", n)
		}
	})
}

func (r *rig) send(update string) int {
	req := httptest.NewRequestWithContext(context.Background(), "POST", "/telegram", strings.NewReader(update))
	req.Header.Set(secretHeader, hookSecret)
	w := httptest.NewRecorder()
	r.bot.WebhookHandler(func(http.ResponseWriter, *http.Request) {}).ServeHTTP(w, req)
	return w.Code
}

func TestWebhookHandlerWhilePolling(t *testing.T) {
	scene(t, func(r *rig) {
		if got := r.send(`{"update_id":1}`); got != http.StatusNotFound || len(r.inbox.stored()) != 0 {
			t.Errorf("status %d", got)
		}
	})
}

// unread fails the test when anybody reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read before the secret was known")
	return 0, io.EOF
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cut off") }
