package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

var requesting = core.Caller{Token: "agent", MayRequest: true}

// leavingStore is the real store; whoever asked goes away while it writes.
type leavingStore struct {
	core.Changes
	leave func()
}

func (s *leavingStore) Create(ctx context.Context, l core.Lookup, fn func(core.Existing) ([]core.Change, error)) error {
	return s.Changes.Create(ctx, l, func(f core.Existing) ([]core.Change, error) {
		defer s.leave()
		return fn(f)
	})
}

// What is written has its consequences, also when the client hung up meanwhile:
// the dispatcher, the timers and whoever waits learn of it.
func TestACommitWakesEverybodyThoughItsClientHungUp(t *testing.T) {
	d := newDesk(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var woken atomic.Int32
	stores := d.store.CoreStores()
	stores.Changes = &leavingStore{stores.Changes, cancel}
	gate := core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler), func(core.Change) { woken.Add(1) })
	_, _, _ = gate.Submit(ctx, requesting, approval.Call{ToolName: "ask", ID: "x", Params: []byte(`{"n":1}`)})
	page, err := d.gate.List(t.Context(), core.Caller{MayDecide: true}, core.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.EqualValues(t, 1, woken.Load())
}

// crowdedStore is the real store; others are given the code first, so many times.
type crowdedStore struct {
	core.Changes
	left int
}

func (s *crowdedStore) Create(ctx context.Context, l core.Lookup, fn func(core.Existing) ([]core.Change, error)) error {
	if s.left--; s.left >= 0 {
		first, _ := core.CodeKeys(l.Code)
		other := approval.Approval{
			Names: approval.Names{Key: first + "-other", ID: first, Code: l.Code, Owner: "other"},
			Ended: approval.Ended{Status: approval.Denied},
		}
		if err := s.Changes.Create(ctx, core.Lookup{}, func(core.Existing) ([]core.Change, error) { return []core.Change{{Approval: other, New: true}}, nil }); err != nil {
			return err
		}
	}
	return s.Changes.Create(ctx, l, fn)
}

// An approval whose code is taken gets another, and with it another key.
func TestACodeThatIsTakenIsGivenToNobodyElse(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	stores := d.store.CoreStores()
	stores.Changes = &crowdedStore{d.store, 2}
	gate := core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler))
	a, created, err := gate.Submit(ctx, requesting, approval.Call{ToolName: "ask", Params: []byte(`{"n":1}`)})
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, a.Key, a.ID)
	require.Equal(t, core.KeyCode(a.Key), a.Code)
	found, err := gate.ByCode(ctx, a.Code)
	require.NoError(t, err)
	require.Equal(t, a.Key, found.Key)
	events, err := d.store.Log(ctx, 0, 10)
	require.NoError(t, err)
	require.Equal(t, a.Key, events[0].Key)
	all, err := gate.List(ctx, core.Caller{MayDecide: true}, core.Filter{})
	require.NoError(t, err)
	require.Len(t, all.Items, 3)

	stores.Changes = &crowdedStore{d.store, 99}
	gate = core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler))
	_, _, err = gate.Submit(ctx, requesting, approval.Call{ToolName: "ask", Params: []byte(`{"n":1}`)})
	require.ErrorIs(t, err, core.ErrCodeTaken)
}

// turningStore is the real store; something happens between a claim's look at
// the call and its commit.
type turningStore struct {
	core.CallStore
	between func()
}

func (s *turningStore) Sealed(ctx context.Context, key string) ([]byte, error) {
	b, err := s.CallStore.Sealed(ctx, key)
	if f := s.between; f != nil {
		s.between = nil
		f()
	}
	return b, err
}

// A claim asks policy, even if the approval is only given while it is under way.
func TestAdversary_B8_EveryClaimAsksPolicy(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	stores := d.store.CoreStores()
	st := &turningStore{CallStore: stores.CallStore}
	stores.CallStore = st
	gate := core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler))
	a, _, err := gate.Submit(ctx, requesting, approval.Call{ToolName: "ask", ID: "x", Params: []byte(`{"n":1}`)})
	require.NoError(t, err)
	d.judge.turn("ask")
	approved := make(chan error, 1)
	st.between = func() {
		_, err := gate.VoteAs(ctx, core.Caller{Token: "alice", Person: "alice", MayDecide: true}, a.Code, approval.AllowOnce, "", "")
		approved <- err
	}
	got, err := gate.Claim(ctx, requesting, "x", core.ClaimInput{})
	require.NoError(t, <-approved)
	require.Error(t, err)
	require.Empty(t, got.Params)
}

// A request has its own time: it does not join one whose time is over.
func TestAnOverdueApprovalIsNotJoined(t *testing.T) {
	d := newDesk(t) // without timers, nothing ends the first one
	ctx := t.Context()
	call := approval.Call{ToolName: "ask", SessionKey: "s", Params: []byte(`{"n":1}`)}
	brief := call
	brief.TimeoutMs = 1
	overdue, _, err := d.gate.Submit(ctx, requesting, brief)
	require.NoError(t, err)
	<-time.After(time.Until(time.UnixMilli(overdue.ExpiresAtMs + 1))) // lets the clock pass it
	next, created, err := d.gate.Submit(ctx, requesting, call)
	require.NoError(t, err)
	require.True(t, created)
	require.NoError(t, d.gate.Tick(ctx, overdue.Key))
	next, err = d.gate.ByKey(ctx, next.Key)
	require.NoError(t, err)
	require.Equal(t, approval.Pending, next.Status)
	overdue, err = d.gate.ByKey(ctx, overdue.Key)
	require.NoError(t, err)
	require.Equal(t, approval.Expired, overdue.Status)
}

// Who asks and waits learns of a decision that is faster than its wait: it watches
// from before the approval can be seen by anybody.
func TestDecidedBeforeTheWaitBegins(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	var gate *core.Gate
	alice := core.Caller{Token: "alice", Person: "alice", MayDecide: true}
	gate = core.NewGate(d.store.CoreStores(), d.rules, slog.New(slog.DiscardHandler), func(c core.Change) {
		if c.New {
			_, err := gate.VoteAs(ctx, alice, c.Approval.Code, approval.Deny, "no", "")
			require.NoError(t, err)
		}
	})
	call := approval.Call{ToolName: "ask", ID: "x", Params: []byte(`{"n":1}`)}
	a, created, w, err := gate.SubmitAndWatch(ctx, requesting, call)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, approval.Pending, a.Status)
	select {
	case <-w.Changed():
	default:
		t.Fatal("the decision was missed")
	}
	ended, err := w.Look(ctx, false)
	require.NoError(t, err)
	require.Equal(t, approval.Denied, ended.Status)
	w.Stop()

	_, created, w, err = gate.SubmitAndWatch(ctx, requesting, call)
	require.NoError(t, err)
	require.False(t, created)
	require.Nil(t, w, "what was there before is to be looked at first")
}

// laterPolicy is the policy of a desk that was started with other rules.
type laterPolicy struct{ *judge }

func (laterPolicy) Hash() string { return "later" }

// What policy denies by now is not approved by a vote: the vote ends it.
func TestAdversary_B5_AVoteAsksTheRulesOfNow(t *testing.T) {
	d := newDesk(t)
	a := d.ask("ask", `{"n":1}`)
	d.judge.turn("ask")
	rules := d.rules
	rules.Policy = laterPolicy{d.judge}
	gate := core.NewGate(d.store.CoreStores(), rules, slog.New(slog.DiscardHandler))
	got, err := gate.VoteAs(t.Context(), core.Caller{Token: "alice", Person: "alice", MayDecide: true}, a.Code, approval.AllowOnce, "", "")
	require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err))
	require.NotEqual(t, approval.Approved, got.Status)
	after, err := d.agent.Get(t.Context(), a.ID, 0)
	require.NoError(t, err)
	require.EqualValues(t, approval.Denied, after.Status)
	require.Equal(t, []string{"policy"}, after.DecidedBy)
	require.Equal(t, "no longer", after.Reason)
}

// A pending approval does not answer a call of which policy wants more by now.
func TestAdversary_B7_AStricterCallIsNotJoined(t *testing.T) {
	d := newDesk(t)
	inSession := func(r *api.CreateRequest) { r.SessionKey = "s" }
	loose := d.ask("ask", `{"n":1}`, inSession)
	d.judge.mu.Lock()
	d.judge.answer["ask"] = d.judge.answer["pair"] // a higher class, two people
	d.judge.mu.Unlock()
	strict := d.ask("ask", `{"n":1}`, inSession)
	require.NotEqual(t, loose.Code, strict.Code)
	require.Equal(t, 2, strict.Approvers.MinApprovals)
}
