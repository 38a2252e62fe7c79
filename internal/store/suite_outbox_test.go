package store

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func chat1(to string) approval.Target { return approval.Target{Channel: "telegram", To: to} }

// sent says that a delivery was posted as its message.
func sent(d approval.Delivery, messageID string) approval.Delivered {
	return approval.Delivered{ID: d.ID, Key: d.Key, Revision: d.Revision, State: approval.Sent, MessageID: messageID,
		Shown: true, Attempts: d.Attempts + 1}
}

func testOutboxOrder(t *testing.T, s *Store) {
	named := map[string]string{}
	add := func(name string, rank int, created, due int64, edit func(*approval.Delivery)) {
		d := cardTo("1", rank, due)
		d.CreatedMs = created
		if edit != nil {
			edit(&d)
		}
		a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{d}})
		named[a.Deliveries[0].ID] = name
	}
	add("edit, due 5", 4, 1, 5, func(d *approval.Delivery) { d.State, d.MessageID = approval.Sent, "m" })
	add("outcome, due 4", 4, 1, 4, func(d *approval.Delivery) { d.Kind = approval.OutcomeDelivery })
	add("R1", 1, 10, 20, nil)
	add("R3 younger", 3, 12, 12, nil)
	add("R3 older, due later", 3, 11, 30, nil)
	add("R4 not due", 4, 1, 1000, nil)
	add("nothing to do", 4, 1, 0, nil)
	final := pendingApproval("bot")
	final.Status, final.ResolvedAtMs = approval.Denied, 3
	a := create(t, s, final, core.Change{Deliveries: []approval.Delivery{cardTo("1", 4, 6)}})
	named[a.Deliveries[0].ID] = "card of an ended one, due 6"

	var order []string
	for {
		d, ok, err := s.NextDelivery(ctx, chat1("1"), 100)
		require.NoError(t, err)
		if !ok {
			break
		}
		order = append(order, named[d.ID])
		require.NoError(t, s.Record(ctx, sent(d, "m"+d.ID)))
	}
	require.Equal(t, []string{"R3 older, due later", "R3 younger", "R1", "outcome, due 4", "edit, due 5",
		"card of an ended one, due 6"}, order)
	_, ok, err := s.NextDelivery(ctx, chat1("2"), 100)
	require.NoError(t, err)
	require.False(t, ok)
}

// A call that goes to hundreds of chats has a card in each of them, in the order of its targets, and the copy of a card
// that was known before is adopted once.
func testOutboxOfManyChats(t *testing.T, s *Store) {
	var cards []approval.Delivery
	for i := range 2*atOnce + 30 {
		cards = append(cards, cardTo(strconv.Itoa(i), 3, 1))
	}
	known := cardTo("known", 3, 1)
	known.State, known.MessageID, known.DueMs = approval.Sent, "m", 0
	cards = slices.Insert(cards, atOnce+20, known)
	made := create(t, s, pendingApproval("bot"), core.Change{Deliveries: append(cards, known)})

	stored, err := s.Get(ctx, made.Key)
	require.NoError(t, err)
	require.Equal(t, made.Deliveries, stored.Deliveries, "and each is believed")
	require.Len(t, stored.Deliveries, len(cards))
	for i, d := range stored.Deliveries {
		require.Equal(t, cards[i].Target, d.Target)
		next, work, err := s.NextDelivery(ctx, d.Target, 100)
		require.NoError(t, err)
		if require.Equal(t, d.MessageID == "", work, "in chat %s", d.Target.To); work {
			require.Equal(t, d.ID, next.ID)
		}
	}
}

// What falls due while a chat rests counts when the rest is over, not what was
// seen of the chat before.
func testOutboxAfterARest(t *testing.T, s *Store) {
	for range 3 {
		create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	}
	urgent := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 4, 1000)}}).Deliveries[0]
	require.NoError(t, s.ReleaseChat(ctx, chat1("1"), 1000))
	_, ok, _, err := s.ClaimChat(ctx, "telegram", 900)
	require.NoError(t, err)
	require.False(t, ok)
	place, ok, _, err := s.ClaimChat(ctx, "telegram", 1000)
	require.NoError(t, err)
	require.True(t, ok)
	next, ok, err := s.NextDelivery(ctx, place, 1000)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, urgent.ID, next.ID)

	// Likewise between two messages that are further apart than a moment.
	later := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 4, 2000)}}).Deliveries[0]
	require.NoError(t, s.Record(ctx, sent(next, "m1")))
	next, _, err = s.NextDelivery(ctx, place, 1001)
	require.NoError(t, err)
	require.NotEqual(t, later.ID, next.ID)
	done := sent(next, "m2")
	done.Was, done.Attempts = next, 0
	require.NoError(t, s.Record(ctx, done))
	next, _, err = s.NextDelivery(ctx, place, 2000)
	require.NoError(t, err)
	require.Equal(t, later.ID, next.ID)
}

func testOutboxChats(t *testing.T, s *Store) {
	claim := func(now int64) (string, int64) {
		t.Helper()
		place, ok, next, err := s.ClaimChat(ctx, "telegram", now)
		require.NoError(t, err)
		require.Equal(t, ok, place != approval.Target{})
		return place.To, next
	}
	is := func(now int64, to string, next int64) {
		t.Helper()
		gotTo, gotNext := claim(now)
		require.Equal(t, to, gotTo)
		require.Equal(t, next, gotNext)
	}
	is(100, "", 0)
	threaded := cardTo("3", 1, 50)
	threaded.Target.ThreadID = "7"
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 10), cardTo("2", 3,
		20), threaded, cardTo("4", 4, 500)}})
	is(5, "", 10)
	is(100, "2", 0)
	is(100, "1", 0)
	is(100, "3", 0)
	is(100, "", 500)
	require.NoError(t, s.ReleaseChat(ctx, chat1("1"), 300))
	require.NoError(t, s.ReleaseChat(ctx, approval.Target{Channel: "telegram", To: "2", ThreadID: "9"}, 0))
	is(100, "2", 0)
	is(100, "", 300)
	is(300, "1", 0)

	require.NoError(t, s.Record(ctx, sent(a.Deliveries[0], "m")))
	require.NoError(t, s.ReleaseChat(ctx, chat1("1"), 0))
	is(300, "", 500)
	is(600, "4", 0)
	for _, to := range []string{"2", "3", "4"} {
		require.NoError(t, s.ReleaseChat(ctx, chat1(to), 0))
	}
	is(10, "", 20) // the clock may go back
	is(20, "2", 0)

	elsewhere := cardTo("9", 4, 1)
	elsewhere.Target.Channel = "discord"
	create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{elsewhere}})
	is(20, "", 50) // of this channel
	place, ok, _, err := s.ClaimChat(ctx, "discord", 20)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, elsewhere.Target, place)
}

func testOutboxFollows(t *testing.T, s *Store) {
	claim := func(now int64) string {
		t.Helper()
		place, _, _, err := s.ClaimChat(ctx, "telegram", now)
		require.NoError(t, err)
		if (place != approval.Target{}) {
			require.NoError(t, s.ReleaseChat(ctx, place, 0))
		}
		return place.To
	}
	now := nowMs()
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 4, 10)}})
	b := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("2", 1, 20)}})
	require.Equal(t, "1", claim(now))

	change(t, s, a.Key, func(a approval.Approval) core.Change { return ended(a, approval.Withdrawn) })
	require.Equal(t, "2", claim(now), "an ended approval's card is not urgent")
	require.NoError(t, s.Record(ctx, sent(b.Deliveries[0], "m2")))
	later := nowMs()
	require.Equal(t, "1", claim(later))
	d, ok, err := s.NextDelivery(ctx, chat1("1"), later)
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 1, d.Revision)
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Revision: 1, State: approval.Settled}))
	require.Equal(t, "", claim(later))
	change(t, s, b.Key, func(b approval.Approval) core.Change { return core.Change{Approval: b, Redraw: true} })
	require.Equal(t, "2", claim(nowMs()))
}

func testRecord(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 10), cardTo("2", 1, 10)}})
	d := a.Deliveries[0]
	get := func(i int) approval.Delivery {
		t.Helper()
		got, err := s.Get(ctx, a.Key)
		require.NoError(t, err)
		return got.Deliveries[i]
	}
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, State: approval.Sent, MessageID: "m1",
		Attached: true, Shown: true, Attempts: 2, Error: "slow"}))
	want := d
	want.State, want.MessageID, want.Attached, want.Shown, want.Attempts, want.Error, want.DueMs = approval.Sent, "m1", true, true, 2, "slow", 0
	want.SentMs = get(0).SentMs
	require.InDelta(t, nowMs(), want.SentMs, 60_000, "it stands there from now on")
	require.Equal(t, want, get(0))

	// Redrawn while it was being drawn: due at once, and the message stays known.
	change(t, s, a.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a, Redraw: true} })
	redrawn := get(0)
	require.EqualValues(t, 1, redrawn.Revision)
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Revision: 0, State: approval.Sent, DueMs: nowMs() + day}))
	require.Equal(t, redrawn.DueMs, get(0).DueMs)
	require.Equal(t, "m1", get(0).MessageID)
	require.Equal(t, want.SentMs, get(0).SentMs)
	require.False(t, get(0).Shown)
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Revision: 1, State: approval.Sent, DueMs: 77}))
	require.EqualValues(t, 77, get(0).DueMs)

	// A failure wakes the timer while the approval is pending, and only then.
	keys, _, err := s.Due(ctx, nowMs(), 10)
	require.NoError(t, err)
	require.Empty(t, keys)
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: a.Deliveries[1].ID, Key: a.Key, Revision: 0, State: approval.Failed, Error: "gone"}))
	require.Equal(t, "gone", get(1).Error)
	require.Zero(t, get(1).DueMs, "a failed one is not drawn again")
	keys, _, err = s.Due(ctx, nowMs(), 10)
	require.NoError(t, err)
	require.Equal(t, []string{a.Key}, keys)
	change(t, s, a.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a} })
	keys, next, err := s.Due(ctx, nowMs(), 10)
	require.NoError(t, err)
	require.Empty(t, keys)
	require.Equal(t, a.ExpiresAtMs, next)

	change(t, s, a.Key, func(a approval.Approval) core.Change { return ended(a, approval.Denied) })
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Revision: 2, State: approval.Failed}))
	keys, next, err = s.Due(ctx, nowMs(), 10)
	require.NoError(t, err)
	require.Empty(t, keys)
	require.Zero(t, next)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(s.Record(ctx, approval.Delivered{ID: "none"})))
}

// When a message first stood in its chat is written down once, with its id.
func testRecordOfTheFirst(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 10)}})
	get := func() approval.Delivery {
		got, err := s.Get(ctx, a.Key)
		require.NoError(t, err)
		return got.Deliveries[0]
	}
	d := a.Deliveries[0]
	tried := approval.Delivered{ID: d.ID, Key: d.Key, Was: d, State: approval.Queued, DueMs: 20, Attempts: 1, Error: "slow"}
	require.NoError(t, s.Record(ctx, tried))
	require.Zero(t, get().SentMs, "a try that failed is none")
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Was: d, State: approval.Sent, MessageID: "m1"}))
	sent := get()
	require.InDelta(t, nowMs(), sent.SentMs, 60_000)
	was := sent
	was.SentMs = 7 // as of a message that was posted long ago
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Was: sent, State: approval.Sent, MessageID: "m1"}))
	require.Equal(t, sent.SentMs, get().SentMs, "an edit is none")
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Was: was, State: approval.Sent, MessageID: "m2"}))
	require.EqualValues(t, 7, get().SentMs, "nor is another copy")
	tried.Was, tried.MessageID, tried.State = get(), "m2", approval.Sent
	require.NoError(t, s.Record(ctx, tried))
	require.EqualValues(t, 7, get().SentMs, "nor an edit that is to be made again")
}

// What a step of the plan leaves is read as it was written, and Due gives the next step.
func testPlan(t *testing.T, s *Store) {
	silent, reminder := cardTo("1", 2, 10), cardTo("1", 2, 20)
	silent.Silent, reminder.Kind, reminder.ReplyTo, reminder.Mention = true, approval.ReminderDelivery, "7", []string{"11", "12"}
	a := pendingApproval("bot")
	a.PlanMs, a.ExpiresAtMs = 30, 1<<40
	a = create(t, s, a, core.Change{Deliveries: []approval.Delivery{silent, reminder}})
	stored, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.True(t, stored.Deliveries[0].Silent)
	require.Nil(t, stored.Deliveries[0].Mention)
	require.Equal(t, []string{"11", "12"}, stored.Deliveries[1].Mention)
	require.False(t, stored.Deliveries[1].Silent)
	keys, _, err := s.Due(ctx, 29, 10)
	require.NoError(t, err)
	require.NotContains(t, keys, a.Key)
	keys, _, err = s.Due(ctx, 30, 10)
	require.NoError(t, err)
	require.Contains(t, keys, a.Key)
	change(t, s, a.Key, func(got approval.Approval) core.Change {
		got.PlanMs, got.PlanDoneMs, got.AlsoAsked, got.Held = 0, 30, []string{"bob"}, []string{"alice"}
		return core.Change{Approval: got}
	})
	keys, _, err = s.Due(ctx, 1000, 10)
	require.NoError(t, err)
	require.NotContains(t, keys, a.Key)
	stored, err = s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.Equal(t, []any{int64(30), []string{"bob"}, []string{"alice"}}, []any{stored.PlanDoneMs, stored.AlsoAsked, stored.Held})
}

func testMoves(t *testing.T, s *Store) {
	inThread := cardTo("1", 1, 10)
	inThread.Target.ThreadID = "7"
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 10), inThread, cardTo("-1001", 1, 10)}})
	b := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 20)}})
	to := chat1("-1001")
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: b.Deliveries[0].ID, Key: b.Key, State: approval.Queued, DueMs: 20,
		MovedTo: &to, Attempts: 1}))

	a, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	b, err = s.Get(ctx, b.Key)
	require.NoError(t, err)
	require.Equal(t, approval.Failed, a.Deliveries[0].State)
	require.Equal(t, "same chat as another card", a.Deliveries[0].Error)
	require.Zero(t, a.Deliveries[0].DueMs)
	require.Equal(t, approval.Target{Channel: "telegram", To: "-1001", ThreadID: "7"}, a.Deliveries[1].Target)
	require.Equal(t, approval.Queued, a.Deliveries[1].State)
	require.Equal(t, to, b.Deliveries[0].Target)
	moves, err := s.Moves(ctx)
	require.NoError(t, err)
	require.Equal(t, map[approval.Target]approval.Target{chat1("1"): to}, moves)
	place, ok, _, err := s.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, to, place)

	// It moves on, and back to where it began.
	on, back := chat1("-1002"), chat1("1")
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: b.Deliveries[0].ID, Key: b.Key, State: approval.Queued, DueMs: 20, MovedTo: &on}))
	moves, err = s.Moves(ctx)
	require.NoError(t, err)
	require.Equal(t, map[approval.Target]approval.Target{chat1("1"): on, chat1("-1001"): on}, moves)
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: b.Deliveries[0].ID, Key: b.Key, State: approval.Queued, DueMs: 20, MovedTo: &back}))
	moves, err = s.Moves(ctx)
	require.NoError(t, err)
	require.Equal(t, map[approval.Target]approval.Target{chat1("-1001"): back, chat1("-1002"): back}, moves)
}

func testRedraw(t *testing.T, s *Store) {
	row := func(kind approval.DeliveryKind, state approval.DeliveryState, messageID string) approval.Delivery {
		return approval.Delivery{Kind: kind, Target: chat1("1"), State: state, MessageID: messageID, CreatedMs: 1}
	}
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{
		row(approval.CardDelivery, approval.Queued, ""), row(approval.CardDelivery, approval.Sent, "m1"), row(approval.CardDelivery, approval.Settled, "m2"),
		row(approval.CardDelivery, approval.Sent, ""), row(approval.CardDelivery, approval.Failed, "m3"), row(approval.OutcomeDelivery, approval.Sent, "m4"),
	}})
	before := nowMs()
	a = change(t, s, a.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a, Redraw: true} })
	for i, d := range a.Deliveries {
		if i < 3 {
			require.EqualValues(t, 1, d.Revision)
			require.GreaterOrEqual(t, d.DueMs, before)
		} else {
			require.Zero(t, d.Revision)
			require.Zero(t, d.DueMs)
		}
	}
}

func testAdopted(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{})
	copied := approval.Delivery{Kind: approval.CardDelivery, Target: approval.Target{Channel: "telegram", To: "-100",
		ThreadID: "1"}, State: approval.Sent, MessageID: "m9"}
	for range 2 {
		a = change(t, s, a.Key, func(a approval.Approval) core.Change {
			return core.Change{Approval: a, Unchanged: true, Deliveries: []approval.Delivery{copied}}
		})
	}
	require.Len(t, a.Deliveries, 1)
	require.EqualValues(t, 1, a.Version)
	require.Equal(t, chat1("-100"), a.Deliveries[0].Target)
	require.NotZero(t, a.Deliveries[0].CreatedMs)

	d, ok, err := s.ByMessage(ctx, approval.Target{Channel: "telegram", To: "-100", ThreadID: "5"}, "m9")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, a.Deliveries[0], d)
	for _, place := range []approval.Target{chat1("-101"), {Channel: "discord", To: "-100"}} {
		_, ok, err = s.ByMessage(ctx, place, "m9")
		require.NoError(t, err)
		require.False(t, ok)
	}
	_, ok, err = s.ByMessage(ctx, chat1("-100"), "")
	require.NoError(t, err)
	require.False(t, ok)
}

// A message whose record waits for its commit is known, and what is asked for
// then finds it recorded.
func testRecordOnItsWay(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	held, let := make(chan struct{}), make(chan struct{})
	go s.do(ctx, func(*tx) error { close(held); <-let; return nil })
	<-held
	another, recorded := s.Posted(), make(chan error, 1)
	d := a.Deliveries[0]
	go func() {
		recorded <- s.Record(ctx, approval.Delivered{ID: d.ID, Key: a.Key, Was: d, State: approval.Sent, MessageID: "m7", Shown: true})
	}()
	<-another
	got, ok, err := s.ByMessage(ctx, d.Target, "m7")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, a.Key, got.Key)
	require.Equal(t, "m7", got.MessageID)
	if s.read != s.write { // else the job above has the one connection
		_, ok, err = s.ByMessage(ctx, approval.Target{Channel: "telegram", To: "2"}, "m7")
		require.NoError(t, err)
		require.False(t, ok, "another chat's message of that id")
	}
	var seen approval.Delivery
	after := make(chan error, 1)
	go func() {
		_, err := s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
			seen = a.Deliveries[0]
			return core.Change{Approval: a, Unchanged: true}, nil
		})
		after <- err
	}()
	close(let)
	require.NoError(t, <-recorded)
	require.NoError(t, <-after)
	require.Equal(t, "m7", seen.MessageID)
	require.True(t, seen.Shown)
	_, ok = s.posted.find(d.Target.Chat(), "m7")
	require.False(t, ok, "the database knows it now")
}

// A message that was redrawn while it was sent stays due, whoever tells what it was.
func testRecordRedrawn(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	d := a.Deliveries[0]
	change(t, s, a.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a, Redraw: true} })
	record := func(was approval.Delivery, state approval.DeliveryState) {
		require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: a.Key, Was: was, Revision: was.Revision, State: state, MessageID: "m1"}))
	}
	record(d, approval.Sent)
	d, ok, err := s.NextDelivery(ctx, d.Target.Chat(), nowMs())
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "m1", d.MessageID)
	require.Equal(t, approval.Sent, d.State)
	require.EqualValues(t, 2, d.Version)
	record(d, approval.Settled)
	_, ok, err = s.NextDelivery(ctx, d.Target.Chat(), nowMs())
	require.NoError(t, err)
	require.False(t, ok)
	got, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.Equal(t, approval.Settled, got.Deliveries[0].State)
	require.Zero(t, got.Deliveries[0].DueMs)
}

// What is taken from a chat is not given again before the chat is released, and
// then it is, unless it was recorded.
func testOutboxTaken(t *testing.T, s *Store) {
	next := func(ok bool) approval.Delivery {
		t.Helper()
		d, got, err := s.NextDelivery(ctx, chat1("1"), nowMs())
		require.NoError(t, err)
		require.Equal(t, ok, got)
		return d
	}
	add := func() approval.Delivery {
		return create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}}).Deliveries[0]
	}
	claim := func() {
		t.Helper()
		place, ok, _, err := s.ClaimChat(ctx, "telegram", nowMs())
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, chat1("1"), place)
	}
	first := add()
	claim()
	require.Equal(t, first.ID, next(true).ID)
	second := add()
	d := next(true)
	require.Equal(t, second.ID, d.ID)
	s.due.touch([]waiting{anything(chat1("1"))})
	next(false)
	require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Was: d, State: approval.Sent, MessageID: "m"}))
	require.NoError(t, s.ReleaseChat(ctx, chat1("1"), 0))
	claim()
	require.Equal(t, first.ID, next(true).ID)
	next(false)
}
