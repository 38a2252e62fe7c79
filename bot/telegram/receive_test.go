package telegram

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/fakechat"
)

func TestAsksOnlyForWhatItReads(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		for _, call := range r.tg.Calls("getUpdates") {
			if got, want := call.Params["allowed_updates"], `["message","callback_query","my_chat_member"]`; got != want {
				t.Errorf("allowed_updates %s, want %s", got, want)
			}
		}
		r.until("commands", func() bool { return len(r.tg.Calls("setMyCommands")) == 1 })
		for _, name := range []string{"approve", "deny", "pending", "show", "duty", "away", "back", "whoami", "pair", "help"} {
			if !strings.Contains(r.tg.Calls("setMyCommands")[0].Params["commands"], `"`+name+`"`) {
				t.Errorf("command %s is not announced", name)
			}
		}
	})
}

func TestAdversary_I1_EditsNeverCount(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		said := r.alice.Say(r.group, "hello")
		r.alice.Edit(r.group, said.ID, "/approve 7KQ2AB")
		r.alice.Say(r.group, "bye")
		r.until("both", func() bool { return len(r.desk.messages()) == 2 })
		if got := r.texts(); !slices.Equal(got, []string{"hello", "bye"}) {
			t.Errorf("the desk saw %q", got)
		}
	})
}

// An update is stored before it is confirmed: after a crash between the two it
// comes again, and is handled once.
func TestAdversary_P6_CrashBetweenStoreAndConfirm(t *testing.T) {
	scene(t, func(r *rig) {
		tap := r.alice.TapData(r.group, r.card(), "/approve 7KQ2AB")
		confirm := r.tg.Fault(fakechat.TelegramFault{Method: "getUpdates", Nth: 2, Times: -1, Kind: fakechat.HTML502})
		r.run()
		r.answered(tap)
		// Else the confirmation may still be on its way at the crash, and get through after it.
		r.until("a confirmation has failed", func() bool { return confirm.Hits() > 0 })
		if r.tg.Confirmed(tap.UpdateID) {
			t.Fatal("the update is confirmed although no such call got through")
		}
		r.crash()
		confirm.Remove()
		r.running()
		r.until("confirmed", func() bool { return r.tg.Confirmed(tap.UpdateID) })
		if n := r.tg.Delivered(tap.UpdateID); n < 2 {
			t.Fatalf("delivered %d times; the test wants a repeat", n)
		}
		if n := len(r.desk.messages()); n != 1 {
			t.Errorf("handled %d times, want once", n)
		}
	})
}

func TestAdversary_P6_NotConfirmedUntilStored(t *testing.T) {
	scene(t, func(r *rig) {
		r.inbox.setFail(errDown)
		r.run()
		tap := r.alice.TapData(r.group, r.card(), "/approve 7KQ2AB")
		r.until("fetched twice", func() bool { return r.tg.Delivered(tap.UpdateID) >= 2 })
		if r.tg.Confirmed(tap.UpdateID) {
			t.Error("confirmed, though it could not be stored")
		}
		if s := r.bot.State(); s.Up || !strings.Contains(s.Detail, "cannot be stored") {
			t.Errorf("state %+v", s)
		}
		r.inbox.setFail(nil)
		r.until("confirmed", func() bool { return r.tg.Confirmed(tap.UpdateID) })
		if n := len(r.desk.messages()); n != 1 {
			t.Errorf("handled %d times", n)
		}
	})
}

// What an earlier run stored and did not handle is handled by the next one.
func TestAdversary_P6_LeftOverIsHandled(t *testing.T) {
	scene(t, func(r *rig) {
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{}, errDown })
		r.running()
		said := r.alice.Say(r.group, "/pending")
		r.until("tried", func() bool { return len(r.desk.messages()) > 0 && r.tg.Confirmed(said.UpdateID) })
		r.crash()
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Text: "now"}, nil })
		r.running()
		r.until("handled", func() bool { return r.inbox.open() == 0 })
		r.until("answered", func() bool { return len(r.group.FromBot()) == 1 })
	})
}

func TestAdversary_P6_RepeatedAndStrayUpdates(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		said := r.alice.Say(r.group, "/pending")
		r.until("handled", func() bool { return r.inbox.open() == 0 && len(r.desk.messages()) == 1 })
		for range 3 {
			r.tg.Redeliver(said.UpdateID)
		}
		after := r.alice.Say(r.group, "/help")
		r.until("confirmed", func() bool { return r.tg.Confirmed(after.UpdateID) })
		if got := r.texts(); !slices.Equal(got, []string{"/pending", "/help"}) {
			t.Errorf("the desk saw %q", got)
		}
	})
}

// Ids may start anew and lower after a quiet week. An offset that is a little
// higher than the new ids would confirm them unseen.
func TestAdversary_P6_IDsThatJumpBack(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.alice.Say(r.group, "one")
		r.until("one", func() bool { return len(r.desk.messages()) == 1 })
		time.Sleep(8 * 24 * time.Hour)
		r.tg.JumpUpdateID(999_995)
		low := r.alice.Say(r.group, "two")
		if low.UpdateID != 999_995 {
			t.Fatalf("update id %d", low.UpdateID)
		}
		r.until("two", func() bool { return len(r.desk.messages()) == 2 })
		r.until("confirmed", func() bool { return r.tg.Confirmed(999_995) })
	}, func(o *fakechat.TelegramOptions) { o.FirstUpdateID = 1_000_000 })
}

func TestAdversary_P6_TwoPollers(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.tg.Fault(fakechat.TelegramFault{Method: "getUpdates", Times: 4, Kind: fakechat.Conflict})
		other := r.tg.HTTPClient()
		resp, err := other.Get(r.tg.URL() + "/bot" + r.tg.Token() + "/getUpdates?timeout=1&offset=0")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		other.CloseIdleConnections()
		r.until("seen", func() bool { return strings.Contains(r.bot.State().Detail, "Another program polls") })
		tap := r.alice.TapData(r.group, r.card(), "/approve 7KQ2AB")
		r.until("handled", func() bool { return len(r.desk.messages()) == 1 })
		r.until("confirmed", func() bool { return r.tg.Confirmed(tap.UpdateID) })
		r.until("up again", func() bool { return r.bot.State().Up })
	})
}

func TestWebhookSetBySomebodyElse(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.call("setWebhook", "url=https://example.org/hook")
		r.until("seen", func() bool { return strings.Contains(r.bot.State().Detail, "webhook is set") })
		r.call("deleteWebhook", "")
		r.until("up again", func() bool { return r.bot.State().Up })
	})
}

// call calls a method as another program with the token would.
func (r *rig) call(method, query string) {
	r.t.Helper()
	client := r.tg.HTTPClient()
	defer client.CloseIdleConnections()
	resp, err := client.Get(r.tg.URL() + "/bot" + r.tg.Token() + "/" + method + "?" + query)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %s", method, resp.Status)
	}
}

func TestRevokedTokenIsStatedAndTriedAgain(t *testing.T) {
	scene(t, func(r *rig) {
		r.tg.RevokeToken()
		r.run()
		r.until("known", r.caughtUp)
		if s := r.bot.State(); s.Up || !strings.Contains(s.Detail, "does not accept the bot token") {
			t.Errorf("state %+v", s)
		}
		before := len(r.tg.Journal())
		time.Sleep(10 * time.Minute)
		if n := len(r.tg.Journal()) - before; n < 5 || n > 20 {
			t.Errorf("%d calls in ten minutes", n)
		}
		r.tg.SetToken(r.cfg.Token)
		r.until("up", func() bool { return r.bot.State().Up })
	})
}

func TestAdversary_P3_FaultsOfPollingLoseNothing(t *testing.T) {
	kinds := []fakechat.FaultKind{fakechat.Status500, fakechat.HTML502, fakechat.Truncated, fakechat.TooManyRequests, fakechat.Conflict, fakechat.Reset}
	for _, kind := range kinds {
		for _, when := range []fakechat.FaultWhen{fakechat.Before, fakechat.After} {
			t.Run(fmt.Sprintf("%v/%d", kind, when), func(t *testing.T) {
				scene(t, func(r *rig) {
					r.running()
					r.tg.Fault(fakechat.TelegramFault{Method: "getUpdates", Times: 3, Kind: kind, When: when, RetryAfter: 7})
					var taps []*fakechat.TelegramTap
					for i := range 5 {
						taps = append(taps, r.alice.TapData(r.group, 1, fmt.Sprint(i)))
					}
					r.until("handled", func() bool { return len(r.desk.messages()) == 5 })
					if got := r.texts(); !slices.Equal(got, []string{"0", "1", "2", "3", "4"}) {
						t.Errorf("the desk saw %q", got)
					}
					r.until("confirmed", func() bool { return len(r.tg.PendingUpdates()) == 0 })
					for _, tap := range taps {
						if !r.tg.Confirmed(tap.UpdateID) {
							t.Errorf("update %d is not confirmed", tap.UpdateID)
						}
					}
				})
			})
		}
	}
}

func TestRetryAfterIsObeyedByPolling(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		r.tg.Fault(fakechat.TelegramFault{Method: "getUpdates", Kind: fakechat.TooManyRequests, RetryAfter: 40})
		r.alice.Say(r.group, "x") // ends the poll that waits
		r.until("confirmed", func() bool { return len(r.tg.PendingUpdates()) == 0 })
		calls := r.tg.Calls("getUpdates")
		i := slices.IndexFunc(calls, func(c fakechat.TelegramCall) bool { return c.Status == tooManyRequests })
		if i < 0 || i+1 >= len(calls) {
			t.Fatal("no call was refused")
		}
		if gap := calls[i+1].At.Sub(calls[i].At); gap < 40*time.Second {
			t.Errorf("called again after %v", gap)
		}
	})
}

func TestAdversary_P8_UnknownUpdatesAreHarmless(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		for _, raw := range []string{
			`{"brand_new_thing":{"a":[1,2,{"b":null}]}}`,
			`{"message":{"message_id":5,"date":1,"chat":{"id":-5,"type":"holodeck"},"telepathy":{"x":1}}}`,
			`{"message":"a string where an object was"}`,
			`{"callback_query":{"id":"1","from":{"id":77,"is_bot":false,"first_name":"x"},"chat_instance":"1","game_short_name":"g"}}`,
			`{"callback_query":{"id":"2"}}`,
			`{"my_chat_member":{"chat":{"id":1,"type":"private"},"from":{"id":1},"date":1,"new_chat_member":{"status":"ghost"}}}`,
			`{}`,
		} {
			r.tg.InjectUpdate(raw)
		}
		last := r.alice.Say(r.group, "still there?")
		r.until("confirmed", func() bool { return r.tg.Confirmed(last.UpdateID) })
		r.until("all handled", func() bool { return r.inbox.open() == 0 })
		for _, m := range r.desk.messages() { // taps from nowhere are there to be refused
			if m.Text != "still there?" && (m.Text != "" || !m.Tap || m.OwnMessage) {
				t.Errorf("the desk saw %+v", m)
			}
		}
	})
}
