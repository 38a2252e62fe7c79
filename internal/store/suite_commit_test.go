package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// hold keeps the commit loop busy until the function it gives is called, so that
// what is queued meanwhile lands in one batch.
func hold(t *testing.T, s *Store) (release func()) {
	began, free, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.do(ctx, func(*tx) error { close(began); <-free; return nil })
	}()
	<-began
	return func() { close(free); <-done }
}

func testLog(t *testing.T, s *Store) {
	n, head, err := s.Verify(ctx)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, head)

	a := create(t, s, pendingApproval("bot"), core.Change{Events: []approval.Event{{Type: approval.EventRequested, AtMs: 5, Owner: "bot"}}})
	require.NoError(t, s.Append(ctx, nil, event(a, approval.EventVote), event(a, approval.EventRefused)))
	change(t, s, a.Key, func(a approval.Approval) core.Change { return ended(a, approval.Denied) })

	all, err := s.Log(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, all, 4)
	prev := ""
	for i, e := range all {
		require.EqualValues(t, i+1, e.Seq)
		require.Equal(t, prev, e.PrevHash)
		require.Len(t, e.Hash, 64)
		prev = e.Hash
	}
	require.Equal(t, "{}", string(all[0].Data))
	require.Equal(t, a.Key, all[1].Key)
	page, err := s.Log(ctx, 2, 1)
	require.NoError(t, err)
	require.Equal(t, all[2:3], page)
	page, err = s.Log(ctx, 4, 10)
	require.NoError(t, err)
	require.Empty(t, page)

	n, head, err = s.Verify(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 4, n)
	require.Equal(t, all[3].Hash, head)
}

func testGroupCommit(t *testing.T, s *Store) {
	const writers = 100
	var approvals []approval.Approval
	for range writers {
		approvals = append(approvals, create(t, s, pendingApproval("bot"), core.Change{}))
	}
	refusal := errors.New("this one fails")
	release := hold(t, s)
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i, a := range approvals {
		wg.Go(func() {
			errs[i] = insist(func() error {
				_, err := s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
					a.Reason = fmt.Sprint(i)
					c := core.Change{Approval: a, Events: []approval.Event{event(a, approval.EventVote)}, Deliveries: []approval.Delivery{cardTo(fmt.Sprint(i), 1, 1)}}
					switch i % 10 {
					case 3: // fails before it writes
						return c, refusal
					case 7: // fails in the middle of its writes
						c.Aliases = []string{"x", approvals[0].ID}
					}
					return c, nil
				})
				return err
			})
		})
	}
	// There may be more of them: a sign of life, or one that was taken back.
	require.Eventually(t, func() bool { return len(s.jobs) >= writers }, patient, time.Millisecond)
	release()
	wg.Wait()
	for i, a := range approvals {
		got, err := s.Get(ctx, a.Key)
		require.NoError(t, err)
		switch i % 10 {
		case 3:
			require.Same(t, refusal, errs[i])
			require.Equal(t, a, got)
		case 7:
			require.ErrorIs(t, errs[i], errStale)
			require.Equal(t, a, got)
		default:
			require.NoError(t, errs[i])
			require.Equal(t, fmt.Sprint(i), got.Reason)
			require.Len(t, got.Deliveries, 1)
		}
	}
	n, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.EqualValues(t, writers*8/10, n)
	require.Zero(t, count(t, s, "SELECT COUNT(*) FROM approval_ids WHERE id = 'x'"))
}

// together runs work in one batch, in that order, and waits for all of it.
func together(t *testing.T, s *Store, work ...func()) {
	release := hold(t, s)
	s.heartbeat.mu.Lock() // else the sign of life might be taken for one of them
	var wg sync.WaitGroup
	for _, w := range work {
		before := len(s.jobs)
		wg.Go(w)
		require.Eventually(t, func() bool { return len(s.jobs) > before }, patient, time.Millisecond)
	}
	s.heartbeat.mu.Unlock()
	release()
	wg.Wait()
}

// Whoever looks something up sees what those before it in the same batch did, and
// nothing of those that failed.
func testOneBatch(t *testing.T, s *Store) {
	var seen []core.Existing
	ask := func(a approval.Approval, look core.Lookup, c core.Change) func() {
		look.Owner, look.AgentID, look.Grants = "bot", "main", true
		return func() {
			err := s.Create(ctx, look, func(f core.Existing) ([]core.Change, error) {
				seen = append(seen, f)
				if f.ByID != nil || f.Same != nil {
					return nil, nil
				}
				c.Approval, c.New = a, true
				return []core.Change{c}, nil
			})
			require.NoError(t, err)
		}
	}
	same := core.Lookup{Fingerprint: "f", SessionKey: "s1"}
	first, second := pendingApproval("bot"), pendingApproval("bot")
	first.Fingerprint, second.Fingerprint = "f", "f"
	together(t, s, ask(first, same, core.Change{}), ask(second, same, core.Change{}))
	require.Empty(t, seen[0].Same)
	require.Equal(t, first.Key, seen[1].Same[0].Key)
	require.Equal(t, []int{0, 1}, []int{seen[0].Pending, seen[1].Pending})

	own := pendingApproval("bot")
	own.ID = "mine"
	seen = nil
	together(t, s, ask(own, core.Lookup{ID: "mine"}, core.Change{Aliases: []string{"other", "third"}}),
		ask(second, core.Lookup{ID: "mine"}, core.Change{}), ask(second, core.Lookup{ID: "other"}, core.Change{}))
	require.Nil(t, seen[0].ByID)
	require.Equal(t, own.Key, seen[1].ByID.Key)
	require.Equal(t, own.Key, seen[2].ByID.Key)
	fresh := pendingApproval("bot")
	together(t, s, func() { create(t, s, fresh, core.Change{}) }, func() { require.Same(t, core.ErrCodeTaken, tryTwin(s, fresh)) })
	change(t, s, fresh.Key, func(a approval.Approval) core.Change { return ended(a, approval.Denied) })

	grant := approval.Grant{ID: "g1", Owner: "bot", AgentID: "main", Kind: approval.AlwaysGrant, Fingerprint: "granted"}
	end := func() {
		_, err := s.Update(ctx, own.Key, func(a approval.Approval) (core.Change, error) {
			c := ended(a, approval.Approved)
			c.Grants = []approval.Grant{grant}
			return c, nil
		})
		require.NoError(t, err)
	}
	drop := func() {
		_, err := s.DropGrants(ctx, core.GrantFilter{ID: "g1"}, func(approval.Grant) approval.Event { return event(own, approval.EventVote) })
		require.NoError(t, err)
	}
	seen = nil
	look := func(id string) func() { // each asks something else
		return ask(second, core.Lookup{Fingerprint: "granted", Subject: id, ID: id}, core.Change{})
	}
	together(t, s, look("mine"), end, look("other"))
	together(t, s, drop, look("third"))

	shown := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	d := sent(shown.Deliveries[0], "m1")
	d.Key = shown.Key
	record := func(id string) func() {
		return func() { d := d; d.MessageID = id; require.NoError(t, s.Record(ctx, d)) }
	}
	redraw := func() {
		a, err := s.Update(ctx, shown.Key, vote)
		require.NoError(t, err)
		require.Equal(t, "m1", a.Deliveries[0].MessageID)
	}
	together(t, s, record("m1"), redraw, record(""), redraw)
	shown, err := s.Get(ctx, shown.Key)
	require.NoError(t, err)
	require.Equal(t, []any{"m1", int64(2), true}, []any{shown.Deliveries[0].MessageID, shown.Deliveries[0].Revision,
		shown.Deliveries[0].DueMs > 0}, "no redraw is lost")
	require.Equal(t, approval.Pending, seen[0].ByID.Status)
	require.Equal(t, approval.Approved, seen[1].ByID.Status, "found by another name than it was changed by")
	require.Equal(t, []int{0, 1, 0}, []int{len(seen[0].Grants), len(seen[1].Grants), len(seen[2].Grants)})
}

// A statement that fails takes none of the batch with it but its own job, whenever
// it is found to have failed.
func testFailsLate(t *testing.T, s *Store) {
	a, b, taken := create(t, s, pendingApproval("bot"), core.Change{}), create(t, s, pendingApproval("bot"),
		core.Change{}), pendingApproval("bot")
	taken.Key, taken.ID = a.Key, a.Key
	var errs [4]error
	update := func() {
		_, err := s.Update(ctx, b.Key, vote)
		errs[0] = errors.Join(errs[0], err)
	}
	together(t, s, update, func() {
		errs[1] = s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) {
			return []core.Change{{Approval: taken, New: true, Events: []approval.Event{event(a, approval.EventRequested)}}}, nil
		})
	})
	together(t, s, update, func() {
		errs[2] = s.do(ctx, func(t *tx) error {
			return t.putOne("UPDATE approvals SET tool_name = $2 WHERE key = $1", "nobody", "x")
		})
	})
	errs[3] = s.do(ctx, func(t *tx) error {
		if _, err := t.pendingOf("bot"); err != nil {
			return err
		}
		if err := t.put("UPDATE approvals SET tool_name = $2 WHERE key = $1", a.Key, "lost"); err != nil {
			return err
		}
		return t.putOne("UPDATE approvals SET tool_name = $2 WHERE key = $1", "nobody", "x")
	})
	require.NoError(t, errs[0])
	require.Error(t, errs[1])
	require.ErrorIs(t, errs[2], errStale)
	require.ErrorIs(t, errs[3], errStale) // nothing is read after it, and nothing logged
	got, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.Equal(t, a, got)
	require.Zero(t, count(t, s, "SELECT COUNT(*) FROM approvals WHERE tool_name = 'lost'"))
	n, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func testContested(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			change(t, s, a.Key, func(a approval.Approval) core.Change {
				a.Votes = append(a.Votes, approval.Vote{Approver: approval.UserRequest})
				return core.Change{Approval: a}
			})
		})
	}
	wg.Wait()
	a, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.EqualValues(t, 65, a.Version)
	require.Len(t, a.Votes, 64)
}

func testLeaving(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{})
	set := func(ctx context.Context, reason string) error {
		_, err := s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
			a.Reason = reason
			return core.Change{Approval: a}, nil
		})
		return err
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, set(gone, "never queued"), context.Canceled)

	release := hold(t, s)
	gone, cancel = context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	require.Equal(t, context.DeadlineExceeded, set(gone, "left while queued"))
	release()
	require.NoError(t, s.Ping(ctx))
	got, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.Equal(t, a, got, "neither has run")

	// Many that leave at any moment: nothing is torn, and who was told that it is
	// written finds it written.
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			gone, cancel := context.WithTimeout(ctx, time.Duration(i%50)*20*time.Microsecond)
			defer cancel()
			b := pendingApproval("storm")
			err := s.Create(gone, core.Lookup{Owner: "storm"}, func(core.Existing) ([]core.Change, error) {
				return []core.Change{{Approval: b, New: true, Events: []approval.Event{event(b, approval.EventRequested)}}}, nil
			})
			if err == nil {
				_, err = s.Get(ctx, b.Key)
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, s.Ping(ctx))
	n, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.EqualValues(t, count(t, s, "SELECT COUNT(*) FROM approvals WHERE owner = 'storm'"), n)
}

func testInbox(t *testing.T, s *Store) {
	in := func(source string, id, at int64) approval.Inbound {
		return approval.Inbound{InboundRef: approval.InboundRef{Source: source, ID: id}, Body: fmt.Appendf(nil, `{"update_id":%d}`, id), ReceivedMs: at}
	}
	waited := in("telegram:1", 12, 100)
	waited.Waited = true
	require.NoError(t, s.SaveInbound(ctx, nil))
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{waited, in("telegram:1", 11, 100), in("telegram:2", 11, 100)}))
	again := in("telegram:1", 11, 999)
	again.Body = []byte("other")
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{again, in("telegram:1", 13, 200), in("telegram:1", 3, 300)}))

	open := func() (ids []int64) {
		list, err := s.Inbound(ctx, "telegram:1", 10)
		require.NoError(t, err)
		for _, i := range list {
			ids = append(ids, i.ID)
		}
		return ids
	}
	require.Equal(t, []int64{11, 12, 13, 3}, open())
	list, err := s.Inbound(ctx, "telegram:1", 2)
	require.NoError(t, err)
	require.Equal(t, []approval.Inbound{in("telegram:1", 11, 100), waited}, list)

	require.NoError(t, s.Append(ctx, &approval.InboundRef{Source: "telegram:1", ID: 11}))
	require.NoError(t, s.Append(ctx, &approval.InboundRef{Source: "telegram:1", ID: 99}), "one that is not stored")
	require.Equal(t, []int64{12, 13, 3}, open())
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{in("telegram:1", 11, 400)}))
	require.Equal(t, []int64{12, 13, 3}, open(), "handled ones stay handled")

	a := create(t, s, pendingApproval("bot"), core.Change{})
	change(t, s, a.Key, func(a approval.Approval) core.Change {
		return core.Change{Approval: a, Unchanged: true, Handled: &approval.InboundRef{Source: "telegram:1", ID: 12}}
	})
	_, err = s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
		return core.Change{Handled: &approval.InboundRef{Source: "telegram:1", ID: 13}}, errors.New("no")
	})
	require.Error(t, err)
	require.Equal(t, []int64{13, 3}, open(), "a refused change handles nothing")

	// An instance that was asleep meanwhile comes with what is handled by now.
	before, _, err := s.Verify(ctx)
	require.NoError(t, err)
	_, err = s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
		a.Votes = append(a.Votes, approval.Vote{Approver: approval.UserRequest})
		return core.Change{Approval: a, Events: []approval.Event{event(a, approval.EventVote)},
			Handled: &approval.InboundRef{Source: "telegram:1", ID: 12}}, nil
	})
	require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err))
	require.NoError(t, s.Append(ctx, &approval.InboundRef{Source: "telegram:1", ID: 11}, approval.Event{Type: approval.EventRefused}))
	got, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.Empty(t, got.Votes, "nothing is counted twice")
	after, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.Equal(t, before, after, "nor is it in the log twice")

	// What handles an update may store it too, once, before or after others did.
	with := func(i approval.Inbound) *approval.InboundRef {
		ref := i.InboundRef
		ref.Unstored = &i
		return &ref
	}
	require.NoError(t, s.Append(ctx, with(in("telegram:1", 20, 400))))
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{in("telegram:1", 20, 400)}))
	require.NoError(t, s.Append(ctx, with(in("telegram:1", 13, 200))))
	require.Equal(t, []int64{3}, open())
	for _, id := range []int64{20, 13, 12} {
		_, err = s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
			a.Votes = append(a.Votes, approval.Vote{Approver: approval.UserRequest})
			return core.Change{Approval: a, Handled: with(in("telegram:1", id, 1))}, nil
		})
		require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err), "%d was handled before", id)
	}
	_, err = s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
		return core.Change{Approval: a, Handled: with(in("telegram:1", 21, 1))}, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, count(t, s, "SELECT COUNT(*) FROM inbound WHERE id = 21 AND handled_ms > 0"))
	require.Zero(t, count(t, s, "SELECT COUNT(*) FROM inbound WHERE handled_ms > 0 AND body <> ''"), "nothing needs what was in it")
}

// testSweepCalls: sealed calls go when nobody may retry them any more, and their approvals
// stay. What is pending, or used again meanwhile, keeps its call.
func testSweepCalls(t *testing.T, s *Store) {
	const now, window = 100 * day, 1 * day
	approved := func(change func(*approval.Approval)) approval.Approval {
		a := pendingApproval("bot")
		a.Status, a.Decision, a.CreatedAtMs, a.ResolvedAtMs, a.ExpiresAtMs, a.ClaimUntilMs = approval.Approved, approval.AllowOnce, 1, 2, 0, 3
		change(&a)
		return create(t, s, a, core.Change{Seal: []byte("call")})
	}
	pending := create(t, s, pendingApproval("bot"), core.Change{Seal: []byte("call")})
	unclaimed := approved(func(*approval.Approval) {})
	running := approved(func(a *approval.Approval) { a.ClaimedAtMs = now - window/2 })
	failed := approved(func(a *approval.Approval) {
		a.ClaimedAtMs, a.Result = 4, &approval.Result{Status: "failed", AtMs: now - window}
	})
	old := approved(func(a *approval.Approval) {
		a.ClaimedAtMs, a.Result = 4, &approval.Result{Status: "failed", AtMs: now - window - clocksApartMs}
	})
	again := approved(func(*approval.Approval) {})
	again, err := s.Update(ctx, again.Key, func(a approval.Approval) (core.Change, error) {
		a.ClaimUntilMs = now
		return core.Change{Approval: a}, nil
	})
	require.NoError(t, err)
	var many []approval.Approval
	for range sweepChunk {
		many = append(many, approved(func(*approval.Approval) {}))
	}

	_, err = s.Sweep(ctx, now, Keep{})
	require.NoError(t, err)
	_, err = s.Sealed(ctx, old.Key)
	require.NoError(t, err, "0 is for ever")
	for range 2 { // the second finds nothing to do
		_, err = s.Sweep(ctx, now, Keep{CallsMs: window})
		require.NoError(t, err)
	}
	for _, a := range []approval.Approval{pending, running, failed, again} {
		_, err = s.Sealed(ctx, a.Key)
		require.NoError(t, err)
	}
	for _, a := range append(many, old, unclaimed) {
		_, err = s.Sealed(ctx, a.Key)
		require.Equal(t, approval.CodeRetryDataGone, approval.CodeOf(err))
		got, err := s.Get(ctx, a.Key)
		require.NoError(t, err)
		require.Equal(t, a, got)
	}
	require.Equal(t, 4, count(t, s, "SELECT COUNT(*) FROM approvals WHERE sealed <> ''"))
}

func testSweep(t *testing.T, s *Store) {
	const now = 100 * day
	at := func(created, resolved int64) approval.Approval {
		a := pendingApproval("bot")
		a.ID, a.CreatedAtMs, a.ResolvedAtMs, a.ExpiresAtMs = "own-"+a.Key, created, resolved, 0
		if resolved != 0 {
			a.Status = approval.Approved
		}
		return create(t, s, a, core.Change{Seal: []byte("call"), Deliveries: []approval.Delivery{cardTo("1", 1, 1)},
			Events: []approval.Event{event(a, approval.EventRequested)}})
	}
	pending, late, gone := at(1, 0), at(1, now-9*day), at(1, now-11*day)
	for range sweepChunk {
		a := pendingApproval("many")
		a.Status, a.CreatedAtMs, a.ResolvedAtMs = approval.Denied, 1, 2
		create(t, s, a, core.Change{})
	}
	ref := func(id int64) approval.InboundRef { return approval.InboundRef{Source: "x", ID: id} }
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{
		{InboundRef: ref(1), ReceivedMs: now - 3*day}, {InboundRef: ref(2), ReceivedMs: now - 3*day}, {InboundRef: ref(3),
			ReceivedMs: now - 1*day},
	}))
	for _, id := range []int64{1, 3} {
		require.NoError(t, s.Append(ctx, &approval.InboundRef{Source: "x", ID: id}))
	}
	require.NoError(t, s.do(ctx, func(t *tx) error {
		for n := range int64(2*sweepChunk + 1) {
			if _, err := t.exec(storeDone, []string{"w", "x", "y"}[n%3], 10+n, now-3*day, 0, 1); err != nil {
				return err
			}
		}
		return nil
	}))

	n, err := s.Sweep(ctx, now, Keep{})
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, 2, count(t, s, "SELECT COUNT(*) FROM inbound"), "only the old handled ones go")

	n, err = s.Sweep(ctx, now, Keep{ApprovalsMs: 10 * day})
	require.NoError(t, err)
	require.Equal(t, sweepChunk+1, n)
	_, err = s.Get(ctx, gone.Key)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	for _, kept := range []approval.Approval{pending, late} {
		got, err := s.Get(ctx, kept.Key)
		require.NoError(t, err)
		require.Equal(t, kept, got)
	}
	for _, table := range []string{"approvals", "approval_ids", "deliveries"} {
		require.Equal(t, 2, count(t, s, "SELECT COUNT(*) FROM "+table), table)
	}
	require.Nil(t, found(t, s, core.Lookup{Owner: "bot", ID: gone.ID}).ByID)
	events, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, events, "the log stays")
	err = s.Record(ctx, approval.Delivered{ID: gone.Deliveries[0].ID, Key: gone.Key, State: approval.Sent})
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
}
