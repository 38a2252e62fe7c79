package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"approvalbot/bot/telegram/render"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/card"
	"approvalbot/internal/fakechat"
)

func TestTapIsTakenInAndAnswered(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
			return textcmd.Reply{Text: "Allowed once.", Alert: true}, nil
		})
		before := time.Now().UnixMilli()
		answer := r.answered(r.alice.Tap(r.group, card, "Allow once"))
		if answer.Text != "Allowed once." || !answer.Alert {
			t.Errorf("answer %+v", answer)
		}
		m := r.desk.messages()[0]
		if m.Voter.Channel != "telegram" || m.Voter.UserID != fmt.Sprint(r.alice.ID) || m.NotHuman != "" {
			t.Errorf("voter %+v, not human %q", m.Voter, m.NotHuman)
		}
		if !m.Tap || m.Text != "/approve 7KQ2AB" || m.Chat != r.place() || m.Direct || m.Mention {
			t.Errorf("%+v", m)
		}
		if m.MessageID != fmt.Sprint(card) || !m.OwnMessage {
			t.Errorf("message %q, own %v", m.MessageID, m.OwnMessage)
		}
		if m.ReceivedMs < before || m.Update == nil || m.Update.Source != "telegram:123456" {
			t.Errorf("received %d, update %+v", m.ReceivedMs, m.Update)
		}
	})
}

// Data made by hand, other messages, and deleted messages reach the desk as what
// they are; whether they count is for the desk.
// Who taps once is answered once: whoever handles the tap again, having slept, for
// example, keeps quiet.
func TestATapThatWasHandledBeforeIsNotAnsweredAgain(t *testing.T) {
	scene(t, func(r *rig) {
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) {
			return textcmd.Reply{Text: "This message or tap was already handled.", Alert: true, Before: m.Text == "/approve 7KQ2AB"}, nil
		})
		r.running()
		card := r.card()
		again := r.alice.TapData(r.group, card, "/approve 7KQ2AB")
		r.answered(r.alice.TapData(r.group, card, "/deny 7KQ2AB"))
		r.until("confirmed", func() bool { return r.tg.Confirmed(again.UpdateID) })
		for _, call := range r.tg.Calls("answerCallbackQuery") {
			if call.Params["callback_query_id"] == again.ID {
				t.Error("answered again")
			}
		}
	})
}

func TestAdversary_I8_TapsOnWhatIsNotTheCard(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		mallory := r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Mallory"})
		others := r.alice.Say(r.group, "no card")
		elsewhere := r.tg.AddGroup("elsewhere", mallory)
		r.until("talk is handled", func() bool { return len(r.desk.messages()) == 1 })
		last := func() textcmd.Message { all := r.desk.messages(); return all[len(all)-1] }

		r.answered(mallory.TapData(r.group, card, "/approve ANYTHING\x00<b>"))
		if m := last(); m.Text != "/approve ANYTHING\x00<b>" || m.OwnMessage { // the message shows no such button
			t.Errorf("forged data: %+v", m)
		}
		r.answered(mallory.TapData(r.group, others.ID, "/approve 7KQ2AB"))
		if m := last(); m.OwnMessage || m.MessageID != fmt.Sprint(others.ID) {
			t.Errorf("another's message: %+v", m)
		}
		r.answered(mallory.TapForwarded(r.group, card, elsewhere, "/approve 7KQ2AB"))
		if m := last(); m.OwnMessage || m.Chat != target(elsewhere.ID) {
			t.Errorf("forwarded: %+v", m)
		}
		r.alice.Delete(r.group, card)
		r.answered(mallory.TapData(r.group, card, "/approve 7KQ2AB"))
		if m := last(); m.OwnMessage || m.MessageID != fmt.Sprint(card) || m.Chat != r.place() {
			t.Errorf("deleted: %+v", m)
		}
		r.answered(r.alice.TapData(r.alice.Chat(), 1, "x"))
		if m := last(); !m.Direct {
			t.Errorf("private chat: %+v", m)
		}

		n := len(r.desk.messages())
		answer := r.answered(mallory.TapInline("AAinline", "/approve 7KQ2AB"))
		if m := last(); answer.Text == "" || len(r.desk.messages()) != n+1 || m.Text+m.MessageID+m.Chat.To != "" || m.OwnMessage || m.Direct {
			t.Errorf("inline: %+v, the desk saw %+v", answer, m)
		}
		r.until("handled", func() bool { return r.inbox.open() == 0 })
	})
}

func TestAdversary_I4_TapsByBots(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		robot := r.tg.AddUser(fakechat.TelegramProfile{FirstName: "R2", Bot: true})
		for id, who := range map[int64]string{robot.ID: "a bot", 1087968824: "an anonymous administrator", 136817688: "a channel", 777000: "Telegram itself"} {
			n := len(r.desk.messages())
			r.tg.InjectUpdate(fmt.Sprintf(`{"callback_query":{"id":"1","from":{"id":%d,"is_bot":%v},"message":{"message_id":%d,"date":1,"chat":{"id":%d,"type":"supergroup"},"from":{"id":123456}},"data":"x"}}`,
				id, id == robot.ID, card, r.group.ID))
			r.until("seen", func() bool { return len(r.desk.messages()) == n+1 })
			if m := r.desk.messages()[n]; m.NotHuman != who {
				t.Errorf("%d is %q, want %q", id, m.NotHuman, who)
			}
		}
	})
}

func TestAdversary_P10_FiftyTapsAtOnceAreAllAnswered(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		busy, most := 0, 0
		var mu sync.Mutex
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) {
			mu.Lock()
			busy++
			most = max(most, busy)
			mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			busy--
			mu.Unlock()
			return textcmd.Reply{Text: "seen " + m.Text}, nil
		})
		var taps []*fakechat.TelegramTap
		for i := range 50 {
			u := r.tg.AddUser(fakechat.TelegramProfile{FirstName: fmt.Sprint("u", i)})
			taps = append(taps, u.TapData(r.group, card, fmt.Sprint(i, "a")), u.TapData(r.group, card, fmt.Sprint(i, "b")))
		}
		for i, tap := range taps {
			if got, want := r.answered(tap).Text, fmt.Sprint("seen ", i/2, string("ab"[i%2])); got != want {
				t.Errorf("answered %q, want %q", got, want)
			}
		}
		if most > 8 || most < 2 {
			t.Errorf("%d desk calls at a time", most)
		}
		r.until("forgotten", func() bool {
			return r.bot.queue.Len() == 0
		})
		order := map[string]string{}
		for _, m := range r.desk.messages() {
			order[m.Voter.UserID] += m.Text[len(m.Text)-1:]
		}
		for user, got := range order {
			if got != "ab" {
				t.Errorf("user %s: order %q", user, got)
			}
		}
	})
}

// While the desk cannot work a tap is told so once, kept, tried again in its
// person's order, and holds up nobody else.
func TestTapWhileTheDeskCannotWork(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		bob := r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Bob"})
		broken := true
		var mu sync.Mutex
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			if broken && strings.HasPrefix(m.Text, "alice") {
				return textcmd.Reply{}, errDown
			}
			return textcmd.Reply{Text: "done"}, nil
		})
		first := r.alice.TapData(r.group, card, "alice 1")
		second := r.alice.TapData(r.group, card, "alice 2")
		if got := r.answered(first); got.Text != textcmd.LaterText || !got.Alert {
			t.Errorf("answered %+v", got)
		}
		if got := r.answered(bob.TapData(r.group, card, "bob")); got.Text != "done" {
			t.Errorf("bob was answered %q", got.Text)
		}
		time.Sleep(5 * time.Second)
		if _, ok := second.Answered(); ok {
			t.Error("the second tap overtook the first")
		}
		mu.Lock()
		broken = false
		mu.Unlock()
		if got := r.answered(second); got.Text != "done" {
			t.Errorf("answered %q", got.Text)
		}
		r.until("handled", func() bool { return r.inbox.open() == 0 })
		if n := len(r.tg.Calls("answerCallbackQuery")); n != 3 {
			t.Errorf("%d answers for 3 taps", n)
		}
	})
}

// An update over which the desk panics is dropped, and the person is refusal.
func TestPanicIsNoLoop(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		r.desk.reply(func(m textcmd.Message) (textcmd.Reply, error) {
			if m.Text == "poison" {
				panic("poisoned")
			}
			return textcmd.Reply{Text: "fine"}, nil
		})
		if got := r.answered(r.alice.TapData(r.group, card, "poison")); got.Text != textcmd.PanicText || !got.Alert {
			t.Errorf("answered %+v", got)
		}
		if got := r.answered(r.alice.TapData(r.group, card, "next")); got.Text != "fine" {
			t.Errorf("answered %q", got.Text)
		}
		r.until("handled", func() bool { return r.inbox.open() == 0 })
		time.Sleep(time.Minute)
		if n := len(r.desk.messages()); n != 2 {
			t.Errorf("the desk saw %d messages", n)
		}
		if !strings.Contains(r.logs.String(), "poisoned") {
			t.Error("the panic is not in the log")
		}
	})
}

// A desk that forgets to mark an update handled does not get it again and again.
func TestUnmarkedUpdateIsMarked(t *testing.T) {
	scene(t, func(r *rig) {
		forgetful := &forgetfulDesk{}
		b, err := New(r.cfg, forgetful, r.inbox, r.inbox.mark, r.bot.log)
		if err != nil {
			t.Fatal(err)
		}
		r.bot = b
		r.running()
		r.answered(r.alice.TapData(r.group, r.card(), "x"))
		r.until("handled", func() bool { return r.inbox.open() == 0 })
		time.Sleep(time.Minute)
		if forgetful.n != 1 {
			t.Errorf("handled %d times", forgetful.n)
		}
	})
}

func TestMoreSaysWhatItGrantsUntilBack(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		shows := func(menu textcmd.Menu) {
			r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
				return textcmd.Reply{Menu: menu, Card: pendingCard(), Key: "k", Version: 7}, nil
			})
		}
		shows(textcmd.MenuMore)
		before, _ := r.group.Message(card)
		const said = "\nWhat these choices grant\n" +
			"Allow session: “git push” without other options, on anything except files outside the workspace; by agent main in this session, up to risk R3 and for no other reason than here, for 12 hours at most."
		if got := r.answered(r.alice.Tap(r.group, card, "More")); got.Text != render.GrantsOnCard || got.Alert {
			t.Errorf("answered %+v", got)
		}
		r.until("opened", func() bool { m, _ := r.group.Message(card); return len(m.Labels()) > 3 })
		if m, _ := r.group.Message(card); m.Text != before.Text+said || fmt.Sprint(m.Labels()) != "[Allow once Deny Deny with a reason Details Allow session Back]" || !m.NoPreview {
			t.Errorf("%q, buttons %q", m.Text, m.Labels())
		}
		r.until("looked after", func() bool { return r.desk.redrawn() == "k 7" })
		shows(textcmd.MenuMain)
		r.answered(r.alice.Tap(r.group, card, "Back"))
		r.until("closed", func() bool { m, _ := r.group.Message(card); return m.Text == before.Text })
		if m, _ := r.group.Message(card); fmt.Sprint(m.Labels()) != fmt.Sprint(before.Labels()) {
			t.Errorf("buttons %q", m.Labels())
		}
		if n := len(r.tg.Calls("editMessageText")) + len(r.tg.Calls("editMessageReplyMarkup")); n != 2 {
			t.Errorf("%d edits for two taps", n)
		}
		// Once more: nothing changes, and that is harmless. So is a deleted card,
		// and a chat that is to be left alone.
		r.answered(r.alice.TapData(r.group, card, "again"))
		r.tg.Fault(fakechat.TelegramFault{Method: "editMessageText", Kind: fakechat.TooManyRequests, RetryAfter: 30})
		r.answered(r.alice.TapData(r.group, card, "again"))
		r.alice.Delete(r.group, card)
		r.answered(r.alice.TapData(r.group, card, "again"))
		if !r.bot.State().Up {
			t.Errorf("state %+v", r.bot.State())
		}
	})
}

// Where the sentences do not fit on the card, nothing on it makes room: they follow.
func TestMoreOnAFullCardIsToldBelowIt(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		full := pendingCard()
		full.Call = append(full.Call, card.Blocks([]card.Fact{{Name: "Filler", Value: strings.Repeat("x", render.MaxText-250)}})...)
		posted, err := r.bot.Post(context.Background(), r.place(), core.Posting{Card: full})
		if err != nil {
			t.Fatal(err)
		}
		card := number(posted.MessageID)
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
			return textcmd.Reply{Menu: textcmd.MenuMore, Card: full}, nil
		})
		before, _ := r.group.Message(card)
		if got := r.answered(r.alice.Tap(r.group, card, "More")); got.Text != render.GrantsBelow || !got.Alert {
			t.Errorf("answered %+v", got)
		}
		r.until("told", func() bool { return len(r.group.FromBot()) == 2 })
		if m, _ := r.group.Message(card); m.Text != before.Text || !slices.Contains(m.Labels(), "Allow session") {
			t.Errorf("%q, buttons %q", m.Text, m.Labels())
		}
		if m := r.group.FromBot()[1]; m.ReplyTo != card || m.Text != textcmd.About(*full) {
			t.Errorf("reply to %d: %q", m.ReplyTo, m.Text)
		}
	})
}

func TestDetailsFollowAsAReply(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		long := strings.Repeat("a line of forty-one characters, or so it is\n", 300)
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
			return textcmd.Reply{Text: "Details follow.", Long: long}, nil
		})
		r.answered(r.alice.TapData(r.group, card, "details"))
		want := len(render.Texts(long, ""))
		r.until("posted", func() bool { return len(r.group.FromBot()) == 1+want })
		whole := ""
		for _, m := range r.group.FromBot()[1:] {
			if m.ReplyTo != card || !m.NoPreview {
				t.Errorf("reply to %d, no preview %v", m.ReplyTo, m.NoPreview)
			}
			whole += m.Text + "\n"
		}
		if whole != long {
			t.Error("the parts are not the whole")
		}
	})
}

func TestAdversary_P5_LateAndRepeatedAnswersAreHarmless(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
			time.Sleep(time.Minute) // longer than Telegram takes an answer
			return textcmd.Reply{Text: "late"}, nil
		})
		late := r.alice.TapData(r.group, card, "x")
		r.until("handled", func() bool { return r.inbox.open() == 0 && len(r.tg.Calls("answerCallbackQuery")) == 1 })
		if _, ok := late.Answered(); ok {
			t.Fatal("it was in time")
		}
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Text: "in time"}, nil })
		// The answer arrives, its acknowledgement does not: it is given twice.
		r.tg.Fault(fakechat.TelegramFault{Method: "answerCallbackQuery", When: fakechat.After, Kind: fakechat.Reset})
		if got := r.answered(r.alice.TapData(r.group, card, "y")); got.Text != "in time" {
			t.Errorf("answered %q", got.Text)
		}
		time.Sleep(time.Second)
		if s := r.logs.String(); strings.Contains(s, "its pop-up answer could not be shown") {
			t.Errorf("log:\n%s", s)
		}
	})
}

func TestAnswersAreCutWhereTelegramEnds(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		for _, text := range []string{strings.Repeat("x", 200), strings.Repeat("ж", 300), strings.Repeat("🟥", 150), "\xff" + strings.Repeat("a", 400)} {
			r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) { return textcmd.Reply{Text: text}, nil })
			got := r.answered(r.alice.TapData(r.group, card, "x")).Text
			if n := len(utf16.Encode([]rune(got))); n > render.MaxAnswer || n < render.MaxAnswer-2 {
				t.Errorf("%d units: %q", n, got)
			}
		}
	})
}

func TestAnswersAreTriedAgain(t *testing.T) {
	for _, kind := range []fakechat.FaultKind{fakechat.HTML502, fakechat.Status500, fakechat.Reset, fakechat.Truncated, fakechat.TooManyRequests} {
		t.Run(kind.String(), func(t *testing.T) {
			scene(t, func(r *rig) {
				r.running()
				r.tg.Fault(fakechat.TelegramFault{Method: "answerCallbackQuery", Times: 2, Kind: kind, RetryAfter: 2})
				if got := r.answered(r.alice.TapData(r.group, r.card(), "x")); got.Text != "heard x" {
					t.Errorf("answered %q", got.Text)
				}
			})
		})
	}
}

// Stopping finishes what has begun: the desk's call and its answer.
func TestStopFinishesWhatHasBegun(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		began := make(chan struct{})
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
			close(began)
			time.Sleep(2 * time.Second)
			return textcmd.Reply{Text: "done"}, nil
		})
		tap := r.alice.TapData(r.group, r.card(), "x")
		<-began
		r.stop()
		if got, ok := tap.Answered(); !ok || got.Text != "done" || r.inbox.open() != 0 {
			t.Errorf("answered %v %+v, %d open", ok, got, r.inbox.open())
		}
	})
}

func TestStopIsQuickWhenNothingGoesOn(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		began := time.Now()
		r.stop()
		if d := time.Since(began); d > 100*time.Millisecond {
			t.Errorf("took %v", d)
		}
	})
}

// What a poll gives for the first time is stored by what handles it; if that takes
// long, it is stored before, and confirmed while the desk still thinks.
func TestAPolledTapIsStoredWithWhatHandlesIt(t *testing.T) {
	scene(t, func(r *rig) {
		r.running()
		card := r.card()
		saved := r.inbox.saves()
		r.answered(r.alice.TapData(r.group, card, "x"))
		if r.inbox.saves() != saved || len(r.inbox.stored()) != 1 || r.inbox.open() != 0 {
			t.Errorf("%d times stored beside, %d stored, %d open", r.inbox.saves()-saved, len(r.inbox.stored()), r.inbox.open())
		}
		began, let := make(chan struct{}), make(chan struct{})
		r.desk.reply(func(textcmd.Message) (textcmd.Reply, error) {
			close(began)
			<-let
			return textcmd.Reply{Text: "done"}, nil
		})
		tap := r.alice.TapData(r.group, card, "y")
		<-began
		time.Sleep(time.Second)
		if r.inbox.open() != 1 {
			t.Errorf("%d are in the inbox", r.inbox.open())
		}
		close(let)
		if got := r.answered(tap); got.Text != "done" || r.inbox.open() != 0 || len(r.desk.messages()) != 2 {
			t.Errorf("answered %q, %d open, the desk saw %d", got.Text, r.inbox.open(), len(r.desk.messages()))
		}
	})
}
