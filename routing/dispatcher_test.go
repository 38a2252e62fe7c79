package routing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/internal/store"
	"approvalbot/routing"
)

// askAll is a policy that asks one person for everything.
type askAll struct{ quorum int }

func (p askAll) Hash() string                           { return "test" }
func (p askAll) Permits(_ approval.Call) (string, bool) { return "", true }

func (p askAll) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return p.Judge(ctx, c)
}
func (p askAll) Judge(context.Context, approval.Call) approval.Judgement {
	people := []approval.Factor{approval.UserRequest}
	return approval.Judgement{
		Outcome: approval.OutcomeAsk, Assessment: approval.Assessment{RiskClass: approval.R3, Source: "static"},
		Rule:   approval.Rule{Allowed: people, Effective: people, MinApprovals: p.quorum, RequiresHuman: true},
		Offers: []approval.Decision{approval.AllowOnce, approval.Deny},
	}
}

// chat is a platform that does what a test says, and keeps what it was sent.
type chat struct {
	mu       sync.Mutex
	posts    []approval.Target
	postings []core.Posting // and when
	at       []time.Time
	edits    []card.Card
	cards    []card.Card // what was posted
	tries    int
	files    func() error                   // nil: they are taken
	fail     func(to approval.Target) error // nil: everything works
	hang     func()                         // nil: it answers at once
}

func (c *chat) call(to approval.Target) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	if c.fail == nil {
		return nil
	}
	return c.fail(to)
}

func (c *chat) Post(_ context.Context, to approval.Target, p core.Posting) (core.Posted, error) {
	if c.hang != nil {
		c.hang()
	}
	if err := c.call(to); err != nil {
		return core.Posted{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.postings, c.at = append(c.postings, p), append(c.at, time.Now())
	if c.posts = append(c.posts, to); p.Card != nil {
		c.cards = append(c.cards, *p.Card)
	}
	return core.Posted{MessageID: fmt.Sprint(len(c.posts))}, nil
}

func (c *chat) Edit(_ context.Context, to approval.Target, _ string, card card.Card) error {
	if err := c.call(to); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.edits = append(c.edits, card)
	return nil
}

func (c *chat) Attach(_ context.Context, to approval.Target, _ card.File) error {
	if c.files != nil {
		return c.files()
	}
	return c.call(to)
}

// AttachParts is Attach of a file that is too long for it.
func (c *chat) AttachParts(_ context.Context, to approval.Target, _ card.File) error {
	if err := c.call(to); err != nil {
		return err
	}
	return &core.DeliveryError{Message: "too long", NoFiles: true}
}

func (c *chat) set(fail func(approval.Target) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
}

func (c *chat) sent() (posts []approval.Target, edits []card.Card) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]approval.Target(nil), c.posts...), append([]card.Card(nil), c.edits...)
}

// watched is the real store, with a hook behind each look at an approval, and
// records that fail.
type watched struct {
	*store.Store
	afterGet func()
	lost     atomic.Int64 // so many records fail
	records  chan func(approval.Delivered)
	held     atomic.Pointer[chan struct{}] // every record waits until it is closed
	taken    atomic.Bool                   // all chats are another instance's
}

func (s *watched) MaySend(approval.Target) bool { return !s.taken.Load() }

func (s *watched) Record(ctx context.Context, d approval.Delivered) error {
	if s.lost.Add(-1) >= 0 {
		return approval.Refuse(approval.CodeUnavailable, "The store is away.")
	}
	if held := s.held.Load(); held != nil {
		<-*held
	}
	select {
	case before := <-s.records:
		before(d)
	default:
	}
	return s.Store.Record(ctx, d)
}

func (s *watched) Bare(ctx context.Context, key string) (approval.Approval, error) {
	a, err := s.Store.Bare(ctx, key)
	s.looked()
	return a, err
}

func (s *watched) Newest(ctx context.Context, key string) (approval.Approval, error) {
	a, err := s.Store.Newest(ctx, key)
	s.looked()
	return a, err
}

func (s *watched) looked() {
	if hook := s.afterGet; hook != nil {
		s.afterGet = nil
		hook()
	}
}

// world is a real Gate and a real store in memory, with scripted platforms, in a
// bubble where time is free.
type world struct {
	t     *testing.T
	store *watched
	gate  *core.Gate
	chats map[string]*chat
	asker core.Caller
	due   *pausable
}

// pausable finds no timer that is due while it is paused.
type pausable struct {
	routing.DueKeys
	paused atomic.Bool
	wake   func()
}

func (p *pausable) Due(ctx context.Context, now int64, limit int) ([]string, int64, error) {
	if p.paused.Load() {
		return nil, 0, nil
	}
	return p.DueKeys.Due(ctx, now, limit)
}

// standstill does something while timers do not fire, as where nobody holds their lease.
func (w *world) standstill(what func()) {
	w.due.paused.Store(true)
	what()
	w.due.paused.Store(false)
	w.due.wake()
}

func inBubble(t *testing.T, quorum int, table *routing.Table, test func(w *world)) {
	bubble(t, setting{quorum: quorum, table: table}, test)
}

// inBubbleFrom is inBubble where the desk starts at that time.
func inBubbleFrom(t *testing.T, start time.Time, quorum int, table *routing.Table, test func(w *world)) {
	bubble(t, setting{quorum: quorum, table: table, start: start}, test)
}

// setting is what a world is made of.
type setting struct {
	quorum int
	table  *routing.Table
	start  time.Time         // zero: whenever
	rules  func(*core.Rules) // nil: as they are
}

func bubble(t *testing.T, with setting, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(with.start))
		table := with.table
		ctx, stop := context.WithCancel(t.Context())
		s, err := store.Open(ctx, store.Options{URL: "sqlite::memory:"})
		require.NoError(t, err)
		people, err := people.NewDirectory(people.Rights{
			People:       []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}}, {Name: "bob", Accounts: map[string]string{"telegram": "2"}}, {Name: "carol", Accounts: map[string]string{"telegram": "3", "discord": "33"}}},
			AllowedUsers: map[string][]string{"telegram": {"1", "2", "3"}, "discord": {"33"}},
		})
		require.NoError(t, err)
		w := &world{t: t, chats: map[string]*chat{"telegram": {}, "discord": {}}, asker: core.Caller{Token: "agent", MayRequest: true, MayDecide: true}, store: &watched{Store: s, records: make(chan func(approval.Delivered), 1)}}
		var wake []func()
		rules := core.Rules{Enabled: true, Policy: askAll{with.quorum}, People: people, Router: table, TimeoutMs: 900_000, MaxTimeoutMs: 900_000}
		if with.rules != nil {
			with.rules(&rules)
		}
		stores := w.store.CoreStores()
		stores.Queries = w.store
		w.gate = core.NewGate(stores, rules, slog.New(slog.DiscardHandler), func(core.Change) {
			for _, f := range wake {
				f()
			}
		})
		w.due = &pausable{DueKeys: s}
		timers := routing.NewTimers(w.due, w.gate, slog.New(slog.DiscardHandler))
		w.due.wake = timers.Wake
		wake = append(wake, timers.Wake)
		ready := make(chan struct{})
		close(ready)
		var all sync.WaitGroup
		for name, c := range w.chats {
			d := routing.NewDispatcher(name, c, w.store, w.gate, func() *routing.Table { return table }, timers.Wake, slog.New(slog.DiscardHandler))
			wake = append(wake, d.Wake)
			all.Go(func() { _ = d.Run(ctx) })
		}
		all.Go(func() { _ = timers.Run(ctx, ready) })
		storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
		var stored sync.WaitGroup
		stored.Go(func() { _ = s.Run(storeCtx) })
		test(w)
		stop()
		all.Wait()
		stopStore()
		stored.Wait()
		require.NoError(t, s.Close())
	})
}

func (w *world) ask(n int) approval.Approval {
	w.t.Helper()
	a, created, err := w.gate.Submit(w.t.Context(), w.asker, approval.Call{ToolName: "deploy", Params: fmt.Appendf(nil, `{"n":%d}`, n)})
	require.NoError(w.t, err)
	require.True(w.t, created)
	return a
}

// askLong asks about a call that is too long for its card.
func (w *world) askLong(n int) approval.Approval {
	w.t.Helper()
	a, created, err := w.gate.Submit(w.t.Context(), w.asker, approval.Call{ToolName: "deploy", Params: fmt.Appendf(nil, `{"n":%d,"x":%q}`, n, strings.Repeat("x", 9000))})
	require.NoError(w.t, err)
	require.True(w.t, created)
	return a
}

func (w *world) vote(a approval.Approval, user string, chat approval.Target) {
	w.t.Helper()
	_, err := w.gate.Vote(w.t.Context(), a.Key, core.Ballot{
		Voter: approval.Voter{Channel: "telegram", UserID: user}, Decision: approval.AllowOnce, Chat: &chat, ReceivedMs: time.Now().UnixMilli(),
	})
	require.NoError(w.t, err)
}

func (w *world) get(a approval.Approval) approval.Approval {
	w.t.Helper()
	got, err := w.gate.ByKey(w.t.Context(), a.Key)
	require.NoError(w.t, err)
	return got
}

var (
	ops   = approval.Target{Channel: "telegram", To: "-100"}
	other = approval.Target{Channel: "telegram", To: "-200"}
	board = approval.Target{Channel: "discord", To: "42"}
)

// An instance that stands still between the look at what is due and the message looks again
// before it sends: its chat may be another's by then.
func TestAdversary_P2_TheSleeperLooksBeforeItSends(t *testing.T) {
	inBubble(t, 1, &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}}, func(w *world) {
		w.store.afterGet = func() { w.store.taken.Store(true) } // while the card is drawn
		w.ask(1)
		synctest.Wait()
		require.Zero(t, w.chats["telegram"].tries)
		w.store.taken.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		posts, _ := w.chats["telegram"].sent()
		require.Equal(t, []approval.Target{ops}, posts)
	})
}

// While a chat is limited its edits wait and become one: the newest wins.
func TestEditsAreCoalesced(t *testing.T) {
	inBubble(t, 3, &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, FallbackAfterMs: 20_000}, func(w *world) {
		a := w.ask(1)
		synctest.Wait()
		c := w.chats["telegram"]
		c.set(func(approval.Target) error {
			return &core.DeliveryError{Message: "slow down", RetryAfter: 30 * time.Second}
		})
		w.vote(a, "1", ops)
		synctest.Wait()
		w.vote(a, "2", ops)
		synctest.Wait()
		c.set(nil)
		w.vote(a, "3", ops)
		synctest.Wait()
		_, edits := c.sent()
		require.Empty(t, edits, "the chat rests as long as it asked")
		time.Sleep(31 * time.Second)
		synctest.Wait()
		_, edits = c.sent()
		require.Len(t, edits, 1)
		require.Equal(t, approval.Approved, edits[0].Status)
		require.Contains(t, edits[0].Outcome.String(), "alice, bob, carol")
	})
}

// A platform that hangs, and a chat that is limited, cost the others nothing.
func TestTroubleStaysWhereItIs(t *testing.T) {
	inBubble(t, 1, &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops, other, board}, FallbackAfterMs: 20_000}, func(w *world) {
		release := make(chan struct{})
		w.chats["discord"].fail = func(approval.Target) error { <-release; return errors.New("gone at last") }
		w.chats["telegram"].set(func(to approval.Target) error {
			if to == ops {
				return &core.DeliveryError{Message: "slow down", RetryAfter: time.Hour}
			}
			return nil
		})
		began := time.Now()
		a := w.ask(1)
		synctest.Wait()
		posts, _ := w.chats["telegram"].sent()
		require.Equal(t, []approval.Target{other}, posts)
		require.Zero(t, time.Since(began))
		w.vote(a, "1", other)
		require.Equal(t, approval.Approved, w.get(a).Status)
		close(release)
	})
}

// A message that the desk itself fails at, by a mistake of its code, costs no other: its chat counts as not reached.
func TestAMistakeCostsOneMessage(t *testing.T) {
	table := &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, Fallback: []approval.Target{other}, FallbackAfterMs: 20_000}
	inBubble(t, 1, table, func(w *world) {
		w.chats["telegram"].hang = func() {
			w.chats["telegram"].hang = nil
			_ = []string{}[len(w.chats):]
		}
		a := w.ask(1)
		time.Sleep(21 * time.Second)
		synctest.Wait()
		got := w.get(a)
		require.Equal(t, approval.Failed, got.Deliveries[0].State)
		require.Contains(t, got.Deliveries[0].Error, "the desk made a mistake")
		posts, _ := w.chats["telegram"].sent()
		require.Equal(t, []approval.Target{other}, posts)
		w.vote(a, "1", other)
		require.Equal(t, approval.Approved, w.get(a).Status)
	})
}

// Fallback targets are tried when no card could be delivered in time, and the
// asker learns when those fail too.
func TestFallbackAfterItsTime(t *testing.T) {
	table := &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, Fallback: []approval.Target{other}, FallbackAfterMs: 20_000}
	inBubble(t, 1, table, func(w *world) {
		down := func(to approval.Target) error {
			if to == ops {
				return errors.New("connection refused")
			}
			return nil
		}
		w.chats["telegram"].set(down)
		a := w.ask(1)
		time.Sleep(19 * time.Second)
		synctest.Wait()
		require.Len(t, w.get(a).Deliveries, 1, "not before its time")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		posts, _ := w.chats["telegram"].sent()
		require.Equal(t, []approval.Target{other}, posts)
		w.vote(a, "1", other)
		require.Equal(t, approval.Approved, w.get(a).Status)
	})
	inBubble(t, 1, table, func(w *world) {
		w.chats["telegram"].set(func(approval.Target) error { return errors.New("connection refused") })
		a := w.ask(1)
		time.Sleep(45 * time.Second)
		synctest.Wait()
		got := w.get(a)
		require.False(t, got.Reached)
		require.Contains(t, got.Assessment.ReasonCodes, approval.ReasonUnreached)
		require.Equal(t, approval.Pending, got.Status, "it goes on trying until it expires")
		w.chats["telegram"].set(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		posts, _ := w.chats["telegram"].sent()
		require.Len(t, posts, 2, "both chats got it in the end")
	})
}

// Silence expires, on time, also for approvals that nobody was asked about.
func TestExpiry(t *testing.T) {
	inBubble(t, 1, &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, FallbackAfterMs: 20_000}, func(w *world) {
		a := w.ask(1)
		time.Sleep(900*time.Second - time.Millisecond)
		synctest.Wait()
		require.Equal(t, approval.Pending, w.get(a).Status)
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, approval.Expired, w.get(a).Status)
		_, edits := w.chats["telegram"].sent()
		require.Len(t, edits, 1)
	})
}

// A change that falls between a waiter's look and its wait still wakes it.
func TestAWaiterMissesNoChange(t *testing.T) {
	inBubble(t, 1, &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, FallbackAfterMs: 20_000}, func(w *world) {
		a := w.ask(1)
		synctest.Wait() // its card stands in the chat
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		w.store.afterGet = func() { w.vote(a, "1", ops) }
		got, err := w.gate.Wait(ctx, a.Key, func() (<-chan struct{}, error) { return nil, nil })
		require.NoError(w.t, err)
		require.Equal(w.t, approval.Approved, got.Status)
		require.Zero(w.t, time.Since(began), "woken at once, not by its own deadline")
	})
}

// A store that is away after a card was sent does not make it sent again: the
// record is what is tried again.
func TestAdversary_P2_ARecordThatFailsSendsNoSecondCard(t *testing.T) {
	group := approval.Target{Channel: "telegram", To: "-100"}
	inBubble(t, 1, &routing.Table{Mode: routing.Targets, Targets: []approval.Target{group}}, func(w *world) {
		w.store.lost.Store(4)
		a := w.ask(1)
		time.Sleep(time.Minute)
		posts, _ := w.chats["telegram"].sent()
		require.Len(t, posts, 1)
		require.Equal(t, approval.Sent, w.get(a).Deliveries[0].State)
	})
}

// A card leaves after the card before it is recorded, and need not wait for the
// record of an edit.
func TestAdversary_P2_OneCardOfAChatIsNotRecorded(t *testing.T) {
	inBubble(t, 1, &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}}, func(w *world) {
		posts := func() int {
			synctest.Wait()
			posts, _ := w.chats["telegram"].sent()
			return len(posts)
		}
		hold := func(edits bool) (let func()) {
			held := make(chan struct{})
			w.store.records <- func(d approval.Delivered) {
				require.Equal(t, edits, d.Was.MessageID != "")
				<-held
			}
			return func() { close(held) }
		}
		a := w.ask(1)
		require.Equal(t, 1, posts())
		time.Sleep(time.Second) // its record is on disk

		let := hold(true)
		w.vote(a, "1", ops)
		require.Equal(t, 1, posts())
		b := w.ask(2)
		require.Equal(t, 2, posts(), "while the edit's record is held up")
		time.Sleep(time.Second)
		require.Equal(t, approval.Sent, w.get(b).Deliveries[0].State)
		require.NotZero(t, w.get(a).Deliveries[0].DueMs)
		let()
		time.Sleep(time.Second)
		require.Equal(t, approval.Settled, w.get(a).Deliveries[0].State)

		let = hold(false)
		w.ask(3)
		require.Equal(t, 3, posts())
		w.ask(4)
		time.Sleep(time.Second)
		require.Equal(t, 3, posts(), "while the card's record is held up")
		let()
		require.Equal(t, 4, posts())
	})
}

// Only so many calls are made at once, and a chat whose card waits for its record
// keeps nobody from making one.
func TestARecordHoldsUpNoOtherChat(t *testing.T) {
	var places []approval.Target
	for n := range 40 {
		places = append(places, approval.Target{Channel: "telegram", To: fmt.Sprint(n + 1)})
	}
	inBubble(t, 1, &routing.Table{Mode: routing.Targets, Targets: places}, func(w *world) {
		records, answers := make(chan struct{}), make(chan struct{})
		w.store.held.Store(&records)
		var calls atomic.Int64
		w.chats["telegram"].hang = func() { calls.Add(1); <-answers }
		a := w.ask(1)
		synctest.Wait()
		require.EqualValues(t, 16, calls.Load())
		close(answers)
		synctest.Wait()
		posts, _ := w.chats["telegram"].sent()
		require.ElementsMatch(t, places, posts)
		close(records)
		time.Sleep(time.Second)
		for _, d := range w.get(a).Deliveries {
			require.Equal(t, approval.Sent, d.State)
		}
	})
}

// Nobody could be asked only where no chat has answered for as long as fallback
// targets are waited for: not where a chat is limited, nor where one try was cut off
// in between, nor where a card waits behind others.
func TestALimitedChatIsReachable(t *testing.T) {
	table := &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, FallbackAfterMs: 20_000}
	limited := func(approval.Target) error {
		return &core.DeliveryError{Message: "slow down", RetryAfter: 45 * time.Second}
	}
	cut := func(approval.Target) error { return errors.New("connection reset") }
	reached := func(w *world, all []approval.Approval) (n int) {
		synctest.Wait()
		for _, a := range all {
			if got := w.get(a); got.Reached {
				n++
			}
		}
		return n
	}
	inBubble(t, 1, table, func(w *world) {
		w.chats["telegram"].set(limited)
		all := []approval.Approval{w.ask(1), w.ask(2), w.ask(3)}
		for range 40 {
			time.Sleep(3 * time.Second)
			require.Equal(t, 3, reached(w, all))
		}
		w.chats["telegram"].set(cut) // for the tries after 135 seconds, and limited again
		time.Sleep(25 * time.Second)
		w.chats["telegram"].set(limited)
		for range 100 {
			require.Equal(t, 3, reached(w, all))
			time.Sleep(time.Second)
		}
	})
	inBubble(t, 1, table, func(w *world) { // one try was cut off, and none came to an end since, as while the desk is down
		w.chats["telegram"].set(cut)
		release := make(chan struct{})
		a := w.ask(1)
		synctest.Wait()
		w.chats["telegram"].set(func(approval.Target) error { <-release; return nil })
		time.Sleep(90 * time.Second)
		require.Equal(t, 1, reached(w, []approval.Approval{a}))
		close(release)
		synctest.Wait()
	})
	inBubble(t, 1, table, func(w *world) {
		w.chats["telegram"].set(cut)
		var all []approval.Approval
		for n := range 40 {
			all = append(all, w.ask(n))
		}
		time.Sleep(19 * time.Second)
		require.Equal(t, 40, reached(w, all), "not before its time")
		time.Sleep(30 * time.Second)
		require.Zero(t, reached(w, all), "nothing arrives in that chat, whether it was tried or not")
		w.chats["telegram"].set(nil)
		time.Sleep(2 * time.Minute)
		require.Equal(t, 40, reached(w, all))
		require.NotContains(t, w.get(all[39]).Assessment.ReasonCodes, approval.ReasonUnreached)
	})
}
