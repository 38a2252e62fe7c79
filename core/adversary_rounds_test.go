package core_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// saysR3 is a classifier to which every call is R3.
type saysR3 struct{}

func (saysR3) Classify(context.Context, approval.Call, approval.Judgement) approval.Opinion {
	return approval.Opinion{Assessment: approval.Assessment{RiskClass: approval.R3, Confidence: 1, Source: "classifier"}}
}

// fromR3 wants a signature or two people, or denies, from R3 on.
type fromR3 struct {
	byName
	what string
}

func (p fromR3) rule(j approval.Judgement) approval.Judgement {
	if j.Assessment.RiskClass < approval.R3 {
		return j
	}
	switch j.Rule.StepUp = p.what == "sign"; p.what {
	case "two":
		j.Rule.MinApprovals = 2
	case "deny":
		return approval.Judgement{Outcome: approval.OutcomeDeny, Reason: "R3 is denied now"}
	}
	return j
}

func (p fromR3) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	return p.rule(p.byName.Judge(ctx, c))
}

func (p fromR3) JudgeWith(ctx context.Context, c approval.Call, o approval.Opinion) approval.Judgement {
	return p.rule(p.byName.JudgeWith(ctx, c, o))
}

// T3: the class that a classifier gave a call counts under the policy of today, whether
// it runs again, waits to be claimed or for people, and whether or not there is a classifier still.
func TestAdversary_T3_TheClassifiersClassCountsToday(t *testing.T) {
	for what, want := range map[string]struct{ retry, claim string }{
		"sign": {"step_up_required", "not_claimable policy"},
		"two":  {"", ""},
		"deny": {"not_claimable policy", "not_claimable policy"},
	} {
		t.Run(what, func(t *testing.T) {
			d, ctx := newSigning(t, "alice", "bob"), t.Context()
			d.use(func(r *core.Rules) { r.Classifier, r.Policy = saysR3{}, fromR3{byName{hash: "1"}, ""} })
			a := d.allowed(t, "unsure")
			d.ran(t, a, "1", "failed")
			unclaimed := d.allowed(t, "unsure", func(c *approval.Call) { c.AgentID = "2" })
			pending := d.submit(t, "unsure", func(c *approval.Call) { c.AgentID = "3" })
			require.Equal(t, approval.R3, pending.Assessment.RiskClass)

			d.use(func(r *core.Rules) { r.Classifier, r.Policy = nil, fromR3{byName{hash: "2"}, what} })
			got, err := d.Retry(ctx, alice, a.Code, false)
			require.Equal(t, want.retry, why(err))
			require.Equal(t, what == "two", got.Round != nil, "one yes of two")
			_, err = d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "2"})
			require.Equal(t, "already_used", why(err))
			_, err = d.Claim(ctx, agent, unclaimed.ID, core.ClaimInput{})
			require.Equal(t, want.claim, why(err))
			require.NoError(t, d.Upkeep().Rejudge(ctx))
			pending, err = d.ByKey(ctx, pending.Key)
			require.NoError(t, err)
			require.Equal(t, what == "deny", pending.Status == approval.Denied)
			require.Equal(t, what == "sign", pending.Rule.StepUp)
			require.Equal(t, what == "two", pending.Rule.MinApprovals == 2)
		})
	}
}

// T3: the verifier's people that the configuration wants today must say yes: to one more
// run, to what still waits for people, and to what waits to be claimed.
func TestAdversary_T3_TheVerifiersPeopleAreWantedToday(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	a := d.allowed(t, "ask")
	d.ran(t, a, "1", "failed")
	unclaimed := d.allowed(t, "ask", func(c *approval.Call) { c.AgentID = "2" })
	pending := d.submit(t, "two", func(c *approval.Call) { c.AgentID = "3" })
	d.use(func(r *core.Rules) { r.Verifier, r.Policy = wantsBob{}, byName{hash: "2"} })

	got, err := d.Retry(ctx, alice, a.Code, false)
	require.NoError(t, err)
	require.True(t, got.Round.Rule.AsksVerifier())
	_, err = d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "2"})
	require.Equal(t, "already_used", why(err), "the verifier's person has not said yes")
	got, err = d.Retry(ctx, bob, a.Code, false)
	require.NoError(t, err)
	require.Equal(t, 1, got.Retries)
	d.ran(t, a, "2", "failed")

	_, err = d.Claim(ctx, agent, unclaimed.ID, core.ClaimInput{})
	require.Equal(t, "not_claimable policy", why(err))
	require.NoError(t, d.Upkeep().Rejudge(ctx))
	pending, err = d.ByKey(ctx, pending.Key)
	require.NoError(t, err)
	require.True(t, pending.Rule.AsksVerifier())
	require.True(t, pending.Rule.AsksApprovers())
}

// T3: a request to run it again that is sent twice counts once.
func TestAdversary_T3_AResentRetryCountsOnce(t *testing.T) {
	for _, result := range []string{"failed", ""} {
		d, ctx := newFixture(t), t.Context()
		a := d.allowed(t, "two")
		d.ran(t, a, "1", "")
		_, err := d.Retry(ctx, alice, a.Code, true, 0)
		require.NoError(t, err)
		_, err = d.VoteAs(ctx, bob, a.Code, approval.Retry, "", "", 0)
		require.NoError(t, err)
		got, err := d.Retry(ctx, alice, a.Code, true, 0)
		require.NoError(t, err, "the answer was lost, and the retry waits")
		require.Equal(t, 1, got.Retries)
		d.ran(t, a, "2", result)
		_, err = d.Retry(ctx, alice, a.Code, true, 0)
		require.Equal(t, "not_claimable late", why(err))
		_, err = d.Retry(ctx, bob, a.Code, true, 1)
		require.NoError(t, err, "who names the run")
		_, err = d.VoteAs(ctx, alice, a.Code, approval.Retry, "", "", 0)
		require.Equal(t, "not_claimable late", why(err))
		got, err = d.ByKey(ctx, a.Key)
		require.NoError(t, err)
		require.Equal(t, 1, got.Retries)
	}
	d, ctx := newFixture(t), t.Context()
	a := d.allowed(t, "ask")
	d.ran(t, a, "1", "")
	_, err := d.Retry(ctx, alice, a.Code, true)
	require.NoError(t, err)
	d.ran(t, a, "2", "")
	_, err = d.Retry(ctx, alice, a.Code, true)
	require.Equal(t, "not_claimable pending", why(err), "it may be the same request")
	_, err = d.Retry(ctx, bob, a.Code, true)
	require.NoError(t, err)
}

// T3: what is known of the last run that was claimed counts, however many retries were
// not claimed since.
func TestAdversary_T3_TheLastClaimedRunCounts(t *testing.T) {
	for _, claimID := range []string{"", "1"} {
		synctest.Test(t, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			a := d.allowed(t, "ask")
			d.ran(t, a, claimID, "")
			_, err := d.Retry(ctx, alice, a.Code, true)
			require.NoError(t, err)
			time.Sleep(6 * time.Minute) // and nobody claims it
			_, err = d.Retry(ctx, bob, a.Code, false)
			require.Equal(t, "not_claimable pending", why(err), "the first run may still go on")
			_, err = d.Retry(ctx, alice, a.Code, true)
			require.NoError(t, err)
			_, err = d.Report(ctx, agent, a.ID, claimID, approval.Result{Status: "succeeded"})
			require.NoError(t, err)
			_, err = d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "3"})
			require.Equal(t, "not_claimable revoked", why(err))
		})
	}
}

// T3: a ceremony is for the run that it was begun for, and over with its first answer.
func TestAdversary_T3_ACeremonyIsForOneRun(t *testing.T) {
	d, ctx := newSigning(t, "alice", "bob"), t.Context()
	a := d.submit(t, "signed")
	shown := d.shown(a)
	shown.Retry = true
	_, err := d.Pages().BeginYes(ctx, signedInAs("alice"), a.Code, shown)
	require.Equal(t, "not_claimable pending", why(err))
	_, err = d.yes(t, "alice", a)
	require.NoError(t, err)

	signed := func() core.SignedYes {
		y, err := d.Pages().BeginYes(ctx, signedInAs("alice"), a.Code, shown)
		require.NoError(t, err)
		yes := d.sign(t, "alice", y)
		yes.Retry = true
		return yes
	}
	early := signed()
	_, err = d.Pages().VoteSigned(ctx, signedInAs("alice"), a.Code, early, "")
	require.Equal(t, "not_claimable pending", why(err), "it can be claimed yet")
	d.ran(t, a, "1", "failed")
	_, err = d.Pages().VoteSigned(ctx, signedInAs("alice"), a.Code, early, "")
	require.Equal(t, "step_up_required", why(err), "it was answered")

	one, two, three := signed(), signed(), signed()
	_, err = d.Pages().VoteSigned(ctx, signedInAs("alice"), a.Code, one, "")
	require.NoError(t, err)
	_, err = d.Pages().VoteSigned(ctx, signedInAs("alice"), a.Code, two, "")
	require.NoError(t, err, "she has said so, and the retry waits")
	d.ran(t, a, "2", "failed")
	for _, yes := range []core.SignedYes{one, two, three} {
		_, err = d.Pages().VoteSigned(ctx, signedInAs("alice"), a.Code, yes, "")
		require.Equal(t, "step_up_required", why(err))
	}
	_, err = d.Pages().BeginYes(ctx, signedInAs("alice"), a.Code, shown)
	require.Equal(t, "unseen_payload", why(err), "the page is of the run before")
	_, err = d.again(t, "alice", a)
	require.NoError(t, err)
}

// T3: a round is not ended by a deny that is older than it, nor by a tap on a card whose id
// was lost.
func TestAdversary_T3_WhatIsNoDenyOfTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newFixture(t), t.Context()
		a := d.allowed(t, "two")
		d.ran(t, a, "1", "failed")
		early := time.Now().UnixMilli()
		time.Sleep(time.Second)
		_, err := d.Retry(ctx, alice, a.Code, false)
		require.NoError(t, err)
		for _, b := range []core.Ballot{
			{Chat: &ops, Code: a.Code, ReceivedMs: early},
			{Chat: &ops, Code: a.Code, ReceivedMs: time.Now().UnixMilli(), Card: "4711"},
			{Chat: &ops, Code: a.Code, ReceivedMs: time.Now().UnixMilli()}, // of a card that the desk knows, or a list
		} {
			b.Voter, b.Decision = approval.Voter{Channel: "telegram", UserID: "2"}, approval.Deny
			got, err := d.Vote(ctx, a.Key, b)
			require.Equal(t, "already_resolved", why(err))
			require.NotNil(t, got.Round)
		}
		got, err := d.ByKey(ctx, a.Key)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(got.Deliveries, func(x approval.Delivery) bool { return x.MessageID == "4711" }))
		_, err = d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "2"})
		require.Equal(t, "already_used", why(err))
		_, err = d.Retry(ctx, bob, a.Code, false)
		require.NoError(t, err)
	})
}

// T3: a retry that waits to be claimed is not handed out after a person has denied the very call.
func TestAdversary_T3_DeniedSinceTheRetry(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	a := d.allowed(t, "ask")
	d.ran(t, a, "1", "failed")
	same := d.submit(t, "ask", func(c *approval.Call) { c.SessionKey = "other" })
	_, err := d.Retry(ctx, alice, a.Code, false)
	require.NoError(t, err)
	_, err = d.VoteAs(ctx, bob, same.Code, approval.Deny, "", "")
	require.NoError(t, err)
	_, err = d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "2"})
	require.Equal(t, "not_claimable denied", why(err))
}

// T3: a late result that names no run does not take the newest run's place to tell its own.
func TestAdversary_T3_ANamedResultCountsForMore(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	for _, c := range []struct {
		late, own, refused string
	}{{"failed", "succeeded", ""}, {"failed", "failed", ""}, {"succeeded", "failed", "already_used"}} {
		a := d.allowed(t, "ask", func(x *approval.Call) { x.AgentID = c.late + c.own })
		d.ran(t, a, "", "")
		_, err := d.Retry(ctx, alice, a.Code, true)
		require.NoError(t, err)
		d.ran(t, a, "2", "")
		_, err = d.Report(ctx, agent, a.ID, "", approval.Result{Status: c.late, Summary: "of the first"})
		require.NoError(t, err)
		got, err := d.Report(ctx, agent, a.ID, "2", approval.Result{Status: c.own, Summary: "of the second"})
		require.Equal(t, c.refused, why(err))
		if err == nil {
			require.Equal(t, approval.Result{Status: c.own, Summary: "of the second", AtMs: got.Result.AtMs}, *got.Result)
			_, err = d.Report(ctx, agent, a.ID, "", approval.Result{Status: c.late})
			require.Equal(t, "already_used", why(err))
		}
		_, err = d.Retry(ctx, bob, a.Code, false)
		require.Equal(t, c.late == "failed" && c.own == "failed", err == nil)
	}
}

// T3b: an approval, pending or ended, takes no more than 64 askers.
func TestAdversary_T3b_AskersAreBounded(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	for _, ended := range []bool{false, true} {
		id := fmt.Sprint(ended)
		a := d.submit(t, "ask", func(c *approval.Call) { c.ID, c.SessionKey = id, id })
		if ended {
			_, err := d.VoteAs(ctx, alice, a.Code, approval.AllowOnce, "", "")
			require.NoError(t, err)
			d.ran(t, a, "1", "succeeded")
		}
		ask := func(n int) error {
			_, _, err := d.Submit(ctx, agent, call("ask", func(c *approval.Call) {
				c.ID, c.SessionKey = id, id
				c.Requester = &approval.Requester{Channel: "telegram", UserID: fmt.Sprint(1000 + n)}
			}))
			return err
		}
		n := 0
		for ; n < 70 && ask(n) == nil; n++ {
		}
		got, err := d.ByKey(ctx, a.Key)
		require.NoError(t, err)
		require.Len(t, got.Askers, 64)
		require.Equal(t, "id_conflict", why(ask(n)))
		require.NoError(t, ask(0), "who has asked before")
	}
}

// A revoked retry leaves the grant of the first yes, and its card does not say that nothing ran.
func TestARetryIsRevoked(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	a := d.submit(t, "ask")
	_, err := d.VoteAs(ctx, alice, a.Code, approval.AllowAlways, "", "")
	require.NoError(t, err)
	d.ran(t, a, "1", "failed")
	_, err = d.Retry(ctx, bob, a.Code, false)
	require.NoError(t, err)
	got, err := d.Revoke(ctx, bob, a.Code, "")
	require.NoError(t, err)
	grants, err := d.store.Grants(ctx, core.GrantFilter{Live: time.Now().UnixMilli()})
	require.NoError(t, err)
	require.Len(t, grants, 1)
	card, err := d.Card(ctx, got)
	require.NoError(t, err)
	require.Contains(t, card.Outcome.String(), "before it ran again")
}

// The figures keep who allowed a call at first, and no vote of a retry is one of theirs.
func TestStatsAfterARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newFixture(t), t.Context()
		a := d.allowed(t, "ask")
		d.ran(t, a, "1", "failed")
		time.Sleep(20 * time.Hour)
		_, err := d.Retry(ctx, bob, a.Code, false)
		require.NoError(t, err)
		stats, err := d.Stats(ctx, alice, 0)
		require.NoError(t, err)
		require.Len(t, stats.Approvers, 1)
		require.Equal(t, "alice", stats.Approvers[0].Name)
		require.Equal(t, 1, stats.Approvers[0].Approved)
		require.Zero(t, stats.Approvers[0].Vote.MedianMs)
	})
}

// T3b: one person who opens round after round does not fill the chats.
func TestAdversary_T3b_RoundsAreToldOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newFixture(t), t.Context()
		d.use(func(r *core.Rules) { r.TimeoutMs = time.Minute.Milliseconds() })
		a := d.allowed(t, "two")
		d.ran(t, a, "1", "failed")
		told := 0
		for range 61 {
			got, err := d.Retry(ctx, alice, a.Code, false)
			require.NoError(t, err)
			told = 0
			for _, x := range got.Deliveries {
				if x.Kind == approval.RetryAskedDelivery {
					told++
				}
			}
			time.Sleep(time.Minute)
		}
		require.Equal(t, 2, told)
	})
}
