package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/telegram"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/fakechat"
	"approvalbot/internal/people"
	"approvalbot/internal/store"
	"approvalbot/routing"
)

// stormy is a desk from the Gate to the wire of a fake Telegram, in a bubble where time is
// free: cards of an owner above five a minute are folded.
type stormy struct {
	t     *testing.T
	store *store.Store
	gate  *core.Gate
	tg    *fakechat.Telegram

	alice, bob, mallory *fakechat.TelegramUser
	group               *fakechat.TelegramChat
}

// risky is a policy that asks for everything, at the class that the tool is named for.
type risky struct{}

func (risky) Hash() string                           { return "1" }
func (risky) Permits(_ approval.Call) (string, bool) { return "", true }

func (p risky) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return p.Judge(ctx, c)
}

func (risky) Judge(_ context.Context, c approval.Call) approval.Judgement {
	people := []approval.Factor{approval.UserRequest}
	class := map[string]approval.RiskClass{"R2": approval.R2, "R3": approval.R3, "R4": approval.R4}[c.ToolName]
	return approval.Judgement{
		Outcome: approval.OutcomeAsk, Assessment: approval.Assessment{RiskClass: class, Source: "static"},
		Rule:   approval.Rule{Allowed: people, Effective: people, MinApprovals: 1, RequiresHuman: true},
		Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.Deny}, GrantScope: approval.GrantScope{Subject: "x"},
	}
}

func inStorm(t *testing.T, test func(w *stormy)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s, err := store.Open(ctx, store.Options{URL: "sqlite::memory:"})
		require.NoError(t, err)
		tg := fakechat.NewTelegram(t, fakechat.TelegramOptions{InMemory: true})
		w := &stormy{t: t, store: s, tg: tg, alice: tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"}),
			bob: tg.AddUser(fakechat.TelegramProfile{FirstName: "Bob"}), mallory: tg.AddUser(fakechat.TelegramProfile{FirstName: "M"})}
		w.group = tg.AddSupergroup("ops", w.alice, w.bob, w.mallory)
		ids := []string{fmt.Sprint(w.alice.ID), fmt.Sprint(w.bob.ID)}
		people, err := people.NewDirectory(people.Rights{
			People: []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": ids[0]}},
				{Name: "bob", Accounts: map[string]string{"telegram": ids[1]}}},
			AllowedUsers: map[string][]string{"telegram": ids},
		})
		require.NoError(t, err)
		table := &routing.Table{Mode: routing.Targets, Targets: []approval.Target{w.place()}, FallbackAfterMs: 20_000}
		log := slog.New(slog.DiscardHandler)
		var wake []func()
		w.gate = core.NewGate(s.CoreStores(), core.Rules{Enabled: true, Policy: risky{}, People: people, Router: table, DigestAbove: 5,
			TimeoutMs: 900_000, MaxTimeoutMs: 900_000}, log, func(core.Change) {
			for _, f := range wake {
				f()
			}
		})
		handler := textcmd.NewHandler(w.gate.Chats(), nil, s, nil, table.Names)
		bot, err := telegram.New(telegram.Config{Token: tg.Token(), APIURL: tg.URL(), Transport: tg.HTTPClient().Transport},
			handler, s, w.gate.Chats().Handled, log)
		require.NoError(t, err)
		timers := routing.NewTimers(s, w.gate, log)
		dispatcher := routing.NewDispatcher("telegram", bot, s, w.gate, func() *routing.Table { return table }, timers.Wake, log)
		wake = append(wake, timers.Wake, dispatcher.Wake)
		var all, stored sync.WaitGroup
		storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
		stored.Go(func() { _ = s.Run(storeCtx) })
		all.Go(func() { _ = bot.Run(ctx) })
		all.Go(func() { _ = dispatcher.Run(ctx) })
		all.Go(func() { _ = timers.Run(ctx, bot.CaughtUp()) })
		defer func() {
			stop()
			all.Wait()
			stopStore()
			stored.Wait()
			require.NoError(t, s.Close())
			if t.Failed() {
				t.Log(tg.Transcript())
			}
		}()
		w.until("the bot polls", tg.Polling)
		test(w)
	})
}

func (w *stormy) place() approval.Target {
	return approval.Target{Channel: "telegram", To: fmt.Sprint(w.group.ID)}
}

func (w *stormy) until(what string, cond func() bool) {
	w.t.Helper()
	for range 20 * 60 * 30 {
		if synctest.Wait(); cond() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.Fail(w.t, "waited in vain: "+what)
}

func (w *stormy) ask(tool string, n int) approval.Approval {
	w.t.Helper()
	a, created, err := w.gate.Submit(w.t.Context(), core.Caller{Token: "loop", MayRequest: true},
		approval.Call{ToolName: tool, Params: fmt.Appendf(nil, `{"n":%d}`, n), SessionKey: "s"})
	require.NoError(w.t, err)
	require.True(w.t, created)
	return a
}

func (w *stormy) get(a approval.Approval) approval.Approval {
	w.t.Helper()
	got, err := w.gate.ByKey(w.t.Context(), a.Key)
	require.NoError(w.t, err)
	return got
}

// flood asks so many R2s, and gives those that are folded with the digest that lists them.
func (w *stormy) flood(n int) (folded []approval.Approval, digest fakechat.TelegramMessage) {
	w.t.Helper()
	for i := range n {
		if a := w.ask("R2", i); i >= 5 {
			folded = append(folded, a)
		}
		time.Sleep(time.Millisecond)
	}
	return folded, w.digest(func(m fakechat.TelegramMessage) bool { return true })
}

// digest waits for the digest to be as it should.
func (w *stormy) digest(is func(fakechat.TelegramMessage) bool) (digest fakechat.TelegramMessage) {
	w.t.Helper()
	w.until("the digest", func() bool {
		i := slices.IndexFunc(w.group.FromBot(), func(m fakechat.TelegramMessage) bool {
			digest = m
			return isDigest(m) && is(m)
		})
		return i >= 0
	})
	return digest
}

func isDigest(m fakechat.TelegramMessage) bool {
	return strings.Contains(m.Text, "asks much at once") || strings.Contains(m.Text, "No request of this list")
}

func (w *stormy) answer(tap *fakechat.TelegramTap) string {
	w.t.Helper()
	answer, err := tap.Answer(w.t.Context())
	require.NoError(w.t, err)
	return answer.Text
}

// labels are a message's buttons.
func labels(m fakechat.TelegramMessage) (all []string) {
	for _, row := range m.Buttons {
		for _, b := range row {
			all = append(all, b.Text)
		}
	}
	return all
}

// TestStormOf500 has one session ask 500 times in a minute, at Telegram's pace: the R4s
// have their cards within five seconds of what the chat takes, everything else is in one
// digest, and nothing is lost.
func TestStormOf500(t *testing.T) {
	t.Parallel()
	inStorm(t, func(w *stormy) {
		t := w.t
		w.tg.SetLimits(fakechat.TelegramFAQLimits())
		var all, grave []approval.Approval
		for n := range 500 {
			tool := "R" + fmt.Sprint(2+n%2)
			if n%100 == 50 {
				tool = "R4"
			}
			a := w.ask(tool, n)
			if all = append(all, a); tool == "R4" {
				grave = append(grave, a)
			}
			time.Sleep(120 * time.Millisecond)
		}
		for _, a := range grave {
			var card fakechat.TelegramMessage
			w.until("the card of an R4", func() bool {
				i := slices.IndexFunc(w.group.FromBot(), func(m fakechat.TelegramMessage) bool {
					card = m
					return strings.Contains(m.Text, a.Code) && slices.Contains(labels(m), "Allow once")
				})
				return i >= 0
			})
			require.LessOrEqual(t, card.Date.Sub(time.UnixMilli(a.CreatedAtMs)), 5*time.Second, a.Code)
		}
		last := w.digest(func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, ": 490 more requests wait") })
		require.NotContains(t, strings.Join(labels(last), " "), "Allow")
		require.Contains(t, last.Text, "and 470 more: /pending")
		posts := w.group.FromBot()
		require.Len(t, posts, 5+5+1, "five cards, five of R4, one digest")
		for _, a := range all {
			got := w.get(a)
			require.True(t, got.Reached)
			require.Contains(t, []approval.DeliveryState{approval.Sent, approval.Listed}, got.Deliveries[0].State)
		}

		// Nothing is lost: what nobody could see yet comes up as the list empties.
		for range 30 {
			digest := w.digest(func(fakechat.TelegramMessage) bool { return true })
			if len(digest.Buttons) == 0 {
				break
			}
			deny := labels(digest)[len(labels(digest))-1]
			w.answer(w.alice.Tap(w.group, digest.ID, deny))
			w.digest(func(m fakechat.TelegramMessage) bool { return m.Text != digest.Text })
		}
		left := 0
		for _, a := range all {
			if w.get(a).Status == approval.Pending {
				left++
			}
		}
		require.Equal(t, 10, left, "only what has a card of its own")
	})
}

// Deny all denies what the tapped version listed, of that what the person may decide, and
// no more.
func TestDenyAll(t *testing.T) {
	t.Parallel()
	inStorm(t, func(w *stormy) {
		t := w.t
		folded, digest := w.flood(8)
		require.Equal(t, []string{"Open 1", "Open 2", "Open 3", "Deny all 3"}, labels(digest))
		old := digest.Buttons[1][0].CallbackData
		later := w.ask("R3", 100)
		require.Equal(t, "You are not authorized to approve/deny this request.", w.answer(w.mallory.Tap(w.group, digest.ID, "Deny all 3")))
		require.Equal(t, approval.Pending, w.get(folded[0]).Status)
		_, err := w.gate.Vote(t.Context(), folded[0].Key, core.Ballot{
			Voter: approval.Voter{Channel: "telegram", UserID: fmt.Sprint(w.bob.ID)}, Decision: approval.Deny, Reason: "mine",
		})
		require.NoError(t, err)
		require.Equal(t, "Denied 2 of the 3 listed; 1 had ended before.", w.answer(w.alice.TapData(w.group, digest.ID, old)))
		require.Equal(t, "Denied 2 of the 3 listed; 1 had ended before.", w.answer(w.alice.TapData(w.group, digest.ID, old)), "again")
		require.Equal(t, "mine", w.get(folded[0]).Reason)
		for _, a := range folded[1:] {
			got := w.get(a)
			require.Equal(t, approval.Denied, got.Status)
			require.Len(t, got.Votes, 1, "one vote each")
			require.Equal(t, []string{"person:alice"}, got.DecidedBy)
		}
		require.Equal(t, approval.Pending, w.get(later).Status, "it was not listed then")

		digest = w.digest(func(m fakechat.TelegramMessage) bool { return strings.Contains(m.Text, later.Code) })
		require.Equal(t, []string{"Open 1", "Deny"}, labels(digest))
		require.Equal(t, "Denied 2 of the 3 listed; 1 had ended before.", w.answer(w.alice.TapData(w.group, digest.ID, old)),
			"an old version is what it was")
		require.Equal(t, approval.Pending, w.get(later).Status)
		forged := strings.Replace(old, " 1", " 77", 1)
		require.Equal(t, "The desk does not know this button.", w.answer(w.alice.TapData(w.group, digest.ID, forged)))
		require.Equal(t, "Denied 1 of the 1 listed.", w.answer(w.alice.Tap(w.group, digest.ID, "Deny")))
		digest = w.digest(func(m fakechat.TelegramMessage) bool { return len(m.Buttons) == 0 })
		require.Equal(t, "No request of this list is waiting any more.", digest.Text)
	})
}

// Open sends the card of one, on which it can be allowed; the list goes on without it.
func TestOpen(t *testing.T) {
	t.Parallel()
	inStorm(t, func(w *stormy) {
		t := w.t
		folded, digest := w.flood(8)
		open := digest.Buttons[0][1].CallbackData
		require.Equal(t, "/show "+folded[1].Code, open)
		require.Contains(t, w.answer(w.mallory.TapData(w.group, digest.ID, open)), "not authorized")
		require.Contains(t, w.answer(w.alice.TapData(w.group, digest.ID, "/approve "+folded[1].Code)), "desk does not know")
		require.Equal(t, "Here is "+folded[1].Code+".", w.answer(w.alice.Tap(w.group, digest.ID, "Open 2")))
		var card fakechat.TelegramMessage
		w.until("the card", func() bool {
			newest, _ := w.group.Newest()
			card = newest
			return strings.Contains(card.Text, folded[1].Code) && !isDigest(card)
		})
		require.Equal(t, "The card of "+folded[1].Code+" is in this chat already.", w.answer(w.bob.TapData(w.group, digest.ID, open)))
		require.Contains(t, w.answer(w.alice.Tap(w.group, card.ID, "Allow once")), "Allowed. It may run once")
		require.Equal(t, approval.Approved, w.get(folded[1]).Status)
		require.Contains(t, w.answer(w.bob.TapData(w.group, digest.ID, open)), "Already decided: allowed once by alice")
		digest = w.digest(func(m fakechat.TelegramMessage) bool { return !strings.Contains(m.Text, folded[1].Code) })
		require.Equal(t, []string{"Open 1", "Open 2", "Deny all 2"}, labels(digest))
	})
}

// Typed commands work on what is folded as on what has a card.
func TestCommandsOnWhatIsFolded(t *testing.T) {
	t.Parallel()
	inStorm(t, func(w *stormy) {
		t := w.t
		folded, digest := w.flood(8)
		says := func(text string, is func(string) bool) {
			t.Helper()
			w.alice.Say(w.group, text)
			w.until(text, func() bool {
				return slices.ContainsFunc(w.group.FromBot(), func(m fakechat.TelegramMessage) bool { return m.ID > digest.ID && is(m.Text) })
			})
		}
		says("/pending", func(s string) bool { return strings.Contains(s, folded[2].Code+" · R2") })
		says("/approve "+folded[0].Code, func(s string) bool { return strings.Contains(s, "Send /show "+folded[0].Code+" here first") })
		says("/show "+folded[0].Code, func(s string) bool { return strings.Contains(s, "Here is "+folded[0].Code) })
		says("thanks", func(s string) bool { return strings.Contains(s, "(15 min) · "+folded[0].Code) })
		says("/approve "+folded[0].Code, func(s string) bool { return strings.Contains(s, "Allowed. It may run once") })
		says("/deny "+folded[1].Code+" no", func(s string) bool { return strings.Contains(s, "Denied.") })
		w.alice.Say(w.group, "deny", fakechat.TelegramSay{ReplyTo: digest.ID})
		w.until("an answer", func() bool {
			return slices.ContainsFunc(w.group.FromBot(), func(m fakechat.TelegramMessage) bool {
				return strings.Contains(m.Text, "the message that you replied to is not a card")
			})
		})
		require.Equal(t, approval.Pending, w.get(folded[2]).Status, "a reply to a digest names none")
	})
}

// A digest that cannot be sent is none: what it lists is said to have reached nobody.
func TestADigestOfAChatThatIsGone(t *testing.T) {
	t.Parallel()
	inStorm(t, func(w *stormy) {
		t := w.t
		w.group.Kick()
		var all []approval.Approval
		for n := range 9 {
			all = append(all, w.ask("R2", n))
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		for _, a := range all {
			got := w.get(a)
			require.False(t, got.Reached)
			require.Contains(t, got.Assessment.ReasonCodes, approval.ReasonUnreached)
			require.Equal(t, approval.Pending, got.Status)
		}
	})
}

// A digest that stands in a chat whose bot is gone is tried once more, and then has reached nobody.
func TestADigestOfAChatThatGoes(t *testing.T) {
	t.Parallel()
	inStorm(t, func(w *stormy) {
		t := w.t
		folded, _ := w.flood(7)
		w.until("it is listed", func() bool { return w.get(folded[1]).Deliveries[0].State == approval.Listed })
		w.group.Kick()
		late := w.ask("R2", 100)
		require.Equal(t, approval.Folded, late.Deliveries[0].State)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.False(t, w.get(late).Reached)
		require.Equal(t, approval.Failed, w.get(late).Deliveries[0].State)
		require.False(t, w.get(folded[1]).Reached, "nobody can decide there any more")
	})
}

// A copy of a digest whose id was lost has the same buttons, and they count.
func TestALostCopyOfADigest(t *testing.T) {
	t.Parallel()
	inStorm(t, func(w *stormy) {
		t := w.t
		lost := w.tg.Fault(fakechat.TelegramFault{Method: "sendMessage", Nth: 6, Kind: fakechat.Truncated, When: fakechat.After})
		folded, first := w.flood(7)
		require.Equal(t, 1, lost.Hits())
		var copies []fakechat.TelegramMessage
		w.until("the second copy", func() bool {
			copies = slices.DeleteFunc(w.group.FromBot(), func(m fakechat.TelegramMessage) bool { return !isDigest(m) })
			return len(copies) == 2
		})
		slices.SortFunc(copies, func(a, b fakechat.TelegramMessage) int { return cmp.Compare(a.ID, b.ID) })
		require.Equal(t, first.ID, copies[0].ID)
		require.Contains(t, w.answer(w.mallory.Tap(w.group, first.ID, "Deny all 2")), "not authorized")
		require.Equal(t, "Here is "+folded[0].Code+".", w.answer(w.alice.Tap(w.group, first.ID, "Open 1")))
		require.Equal(t, "Denied 2 of the 2 listed.", w.answer(w.alice.Tap(w.group, first.ID, "Deny all 2")))
		require.Equal(t, approval.Denied, w.get(folded[1]).Status)
	})
}
