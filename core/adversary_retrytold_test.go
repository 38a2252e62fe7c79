package core_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// toBoth sends every card to two chats.
type toBoth struct{ more approval.Target }

func (r toBoth) Route(approval.Approval) core.Routes {
	return core.Routes{Targets: []approval.Target{ops, r.more}, FallbackAfterMs: 30_000}
}

func (r toBoth) Names(t approval.Target) bool { return t == ops || t == r.more }

// T3: a round is told in each chat that routing names: also where the card stood in a digest, or was
// not posted yet when somebody elsewhere was quicker, or that routing names since.
func TestAdversary_T3_ARoundIsToldInEveryChat(t *testing.T) {
	second := approval.Target{Channel: "telegram", To: "-200"}
	for _, since := range []bool{false, true} {
		d, ctx := newFixture(t), t.Context()
		if !since {
			d.use(func(r *core.Rules) { r.Router = toBoth{second} })
		}
		a := d.submit(t, "two")
		for _, x := range a.Deliveries { // the other is slow
			if x.Target == ops {
				require.NoError(t, d.store.Record(ctx, approval.Delivered{ID: x.ID, Key: x.Key, Was: x, Revision: x.Revision,
					State: approval.Sent, MessageID: "7", Shown: true}))
			}
		}
		for _, who := range []core.Caller{alice, bob} {
			_, err := d.VoteAs(ctx, who, a.Code, approval.AllowOnce, "", "")
			require.NoError(t, err)
		}
		d.ran(t, a, "1", "failed")
		d.use(func(r *core.Rules) { r.Router = toBoth{second} })
		_, err := d.Retry(ctx, alice, a.Code, false)
		require.NoError(t, err)
		told := map[approval.Target]bool{}
		got, err := d.ByKey(ctx, a.Key)
		require.NoError(t, err)
		for _, x := range got.Deliveries {
			if x.Kind == approval.RetryAskedDelivery {
				told[x.Target] = true
			}
		}
		if !told[ops] || !told[second] {
			t.Error("not told in both; named since: ", since)
		}
	}
}

// T3: a person who was removed does not read the call anew.
func TestAdversary_T3_ARoundIsNotToldToWhoWasRemoved(t *testing.T) {
	private := approval.Target{Channel: "telegram", To: "2"} // bob's
	d, ctx := newFixture(t), t.Context()
	d.use(func(r *core.Rules) { r.Router = toBoth{private} })
	a := d.submit(t, "ask")
	for i, x := range a.Deliveries {
		require.NoError(t, d.store.Record(ctx, approval.Delivered{ID: x.ID, Key: x.Key, Was: x, Revision: x.Revision,
			State: approval.Sent, MessageID: []string{"7", "8"}[i], Shown: true}))
	}
	require.NoError(t, vote(t, d, alice, &a))
	d.ran(t, a, "1", "failed")
	d.only(t, "alice", "carol")
	d.use(func(r *core.Rules) { r.Router, r.Policy = toOps{}, twoNow{byName{hash: "2"}} })
	_, err := d.Retry(ctx, alice, a.Code, false)
	require.NoError(t, err)
	got, err := d.ByKey(ctx, a.Key)
	require.NoError(t, err)
	require.NotNil(t, got.Round)
	for _, x := range got.Deliveries {
		if x.Kind == approval.RetryAskedDelivery && x.Target == private {
			what, err := d.Draw(ctx, x)
			require.NoError(t, err)
			require.NotEmpty(t, what.Skip, "bob was removed: %s", what.Text)
		}
	}
}

// twoNow is byName where all need two.
type twoNow struct{ byName }

func (p twoNow) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	j.Rule.MinApprovals = 2
	return j
}

// T3: a round says if the verifier's people are missing.
func TestAdversary_T3_ARoundSaysThatTheVerifiersPeopleAreMissing(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	a := d.allowed(t, "ask")
	d.ran(t, a, "1", "failed")
	d.use(func(r *core.Rules) { r.Verifier, r.Policy = wantsBob{}, byName{hash: "2"} })
	got, err := d.Retry(ctx, alice, a.Code, false)
	require.NoError(t, err)
	round, open := people.OpenRound(got, d.Rules().People, time.Now().UnixMilli())
	require.True(t, open)
	require.Contains(t, round.Text(), "verifier's people: 0 of 1 yes")
	require.Contains(t, card.VotedText(got, approval.Voter{}, approval.Retry, d.Rules().People, time.Now().UnixMilli()), "verifier's people: 0 of 1 yes")
}

// T3: a deny right after a round was decided is told that the call runs again, and how to take it back.
func TestAdversary_T3_ADenyThatComesAfterTheRound(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	d.three(t)
	a := d.allowed(t, "two") // by alice and bob
	d.ran(t, a, "1", "failed")
	for _, who := range []core.Caller{alice, bob} {
		_, err := d.Retry(ctx, who, a.Code, false)
		require.NoError(t, err)
	}
	_, err := d.VoteAs(ctx, carol, a.Code, approval.Deny, "", "")
	require.Equal(t, "already_resolved", why(err))
	require.Contains(t, err.Error(), "alice, bob allowed a retry")
	require.Contains(t, err.Error(), "approvalbot revoke "+a.Code)
}

// T3: a round's message says that a run may still go on, also if the retry since was not claimed.
func TestAdversary_T3_TheRoundsMessageSaysWhichRunMayGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newFixture(t), t.Context()
		d.use(func(r *core.Rules) { r.RetryWindowMs = 24 * time.Hour.Milliseconds() })
		a := d.allowed(t, "two")
		d.ran(t, a, "1", "") // and goes on
		for _, who := range []core.Caller{alice, bob} {
			_, err := d.Retry(ctx, who, a.Code, true)
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Hour) // it is not claimed
		_, err := d.Retry(ctx, alice, a.Code, false)
		require.Equal(t, "not_claimable pending", why(err), "the first run may still go on")
		a, err = d.Retry(ctx, alice, a.Code, true)
		require.NoError(t, err)
		for _, x := range a.Deliveries {
			if x.Kind == approval.RetryAskedDelivery && x.CreatedMs == time.Now().UnixMilli() {
				what, err := d.Draw(ctx, x)
				require.NoError(t, err)
				require.Contains(t, what.Text, "no result reported")
				return
			}
		}
		t.Error("not told")
	})
}
