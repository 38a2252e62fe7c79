package telegram

import (
	"fmt"
	"testing"
	"time"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
	"approvalbot/internal/fakechat"
)

// Taps that waited on Telegram are handled before CaughtUp, and bear no time;
// what was typed bears Telegram's.
func TestWaitingUpdatesComeBeforeCaughtUp(t *testing.T) {
	scene(t, func(r *rig) {
		card := r.card()
		r.call("getUpdates", `allowed_updates=["message","callback_query"]`)
		said := r.alice.Say(r.group, "/approve 7KQ2AB")
		time.Sleep(100 * time.Second)
		for range 120 {
			r.alice.TapData(r.group, card, "/approve 7KQ2AB")
		}
		time.Sleep(10 * time.Second)
		gate := make(chan struct{})
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { <-gate; return textcmd.Reply{}, nil })
		r.run()
		r.until("stored", func() bool { return len(r.inbox.stored()) == 121 })
		time.Sleep(time.Second)
		if r.caughtUp() {
			t.Fatal("caught up, though nothing is handled")
		}
		close(gate)
		r.until("caught up", r.caughtUp)
		if n := r.inbox.open(); n != 0 {
			t.Errorf("caught up with %d updates open", n)
		}
		for _, m := range r.desk.messages() {
			switch {
			case m.Tap && m.ReceivedMs != 0:
				t.Errorf("a tap that waited has the time %d", m.ReceivedMs)
			case !m.Tap && m.ReceivedMs != said.Date.Unix()*1000+999:
				t.Errorf("typed at %d, told as %d", said.Date.Unix()*1000+999, m.ReceivedMs)
			}
		}
		fresh := r.alice.TapData(r.group, card, "/deny 7KQ2AB")
		r.answered(fresh)
		all := r.desk.messages()
		if last := all[len(all)-1]; last.ReceivedMs < time.Now().Add(-time.Second).UnixMilli() {
			t.Errorf("a fresh tap has the time %d", last.ReceivedMs)
		}
	})
}

// Many updates that an earlier run left, and a slow desk: catching up takes as
// long as it takes.
func TestCatchingUpWaitsForAllThatWasLeft(t *testing.T) {
	scene(t, func(r *rig) {
		for i := range 350 {
			body := fmt.Sprintf(`{"update_id":%d,"callback_query":{"id":"1","from":{"id":%d},"message":{"message_id":4,"chat":{"id":-7}},"data":"x"}}`, i+1, i%9+1)
			ref := approval.InboundRef{Source: "telegram:123456", ID: int64(i + 1)}
			r.inbox.SaveInbound(r.t.Context(), []approval.Inbound{{InboundRef: ref, Body: []byte(body), ReceivedMs: 5}})
		}
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
			time.Sleep(300 * time.Millisecond)
			return textcmd.Reply{}, nil
		})
		left := make(chan int, 1)
		go func() {
			<-r.bot.CaughtUp()
			left <- r.inbox.open()
		}()
		r.run()
		if n := <-left; n != 0 {
			t.Errorf("caught up with %d updates open", n)
		}
	})
}

func TestCaughtUpWithNothingWaiting(t *testing.T) {
	scene(t, func(r *rig) {
		began := time.Now()
		if r.caughtUp() {
			t.Fatal("caught up before Run")
		}
		r.running()
		r.until("caught up", r.caughtUp)
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

func TestCaughtUpWhenTelegramIsAway(t *testing.T) {
	for _, kind := range []fakechat.FaultKind{fakechat.HTML502, fakechat.Hang, fakechat.Reset} {
		t.Run(kind.String(), func(t *testing.T) {
			scene(t, func(r *rig) {
				fault := r.tg.Fault(fakechat.TelegramFault{Times: -1, Kind: kind})
				began := time.Now()
				r.run()
				r.until("given up", r.caughtUp)
				if d := time.Since(began); d < patience || d > patience+time.Second {
					t.Errorf("took %v, want about %v", d, patience)
				}
				if s := r.bot.State(); s.Up || s.Detail == "" {
					t.Errorf("state %+v", s)
				}
				fault.Remove()
				r.until("up", func() bool { return r.bot.State().Up })
			})
		})
	}
}

// One bad answer while starting does not cost the taps that wait.
func TestOneFaultAtStartLosesNoWaitingTap(t *testing.T) {
	scene(t, func(r *rig) {
		r.call("getUpdates", `allowed_updates=["callback_query"]`)
		r.alice.TapData(r.group, r.card(), "/approve 7KQ2AB")
		r.tg.Fault(fakechat.TelegramFault{Method: "getMe", Kind: fakechat.HTML502})
		r.tg.Fault(fakechat.TelegramFault{Method: "getUpdates", Kind: fakechat.TooManyRequests, RetryAfter: 1})
		r.run()
		r.until("caught up", r.caughtUp)
		if len(r.desk.messages()) != 1 {
			t.Error("caught up without the tap")
		}
	})
}

// An update that the desk cannot take does not hold up the timers for ever.
func TestCaughtUpThoughTheDeskCannotWork(t *testing.T) {
	scene(t, func(r *rig) {
		r.call("getUpdates", `allowed_updates=["callback_query"]`)
		tap := r.alice.TapData(r.group, r.card(), "/approve 7KQ2AB")
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{}, errDown })
		r.run()
		r.until("caught up", r.caughtUp)
		if got := r.answered(tap); got.Text != textcmd.LaterText {
			t.Errorf("answered %q", got.Text)
		}
	})
}

// A command that names the bot is not lost while the bot does not know its name.
func TestTypedWaitsForTheBotsName(t *testing.T) {
	scene(t, func(r *rig) {
		body := `{"update_id":9,"message":{"message_id":4,"date":1,"from":{"id":7},"chat":{"id":7,"type":"private"},"text":"/help@approval_test_bot"}}`
		ref := approval.InboundRef{Source: "telegram:123456", ID: 9}
		r.inbox.SaveInbound(r.t.Context(), []approval.Inbound{{InboundRef: ref, Body: []byte(body), ReceivedMs: 5}})
		fault := r.tg.Fault(fakechat.TelegramFault{Times: -1, Kind: fakechat.Reset})
		r.run()
		r.until("given up", r.caughtUp)
		if n := len(r.desk.messages()); n != 0 {
			t.Fatalf("the desk saw %d messages", n)
		}
		fault.Remove()
		r.until("handled", func() bool { return len(r.desk.messages()) == 1 })
		if m := r.desk.messages()[0]; m.BotName != "approval_test_bot" || !m.Direct || m.ReceivedMs != 5 {
			t.Errorf("%+v", m)
		}
	})
}
