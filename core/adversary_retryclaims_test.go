package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store"
)

// T3: a retry that waits to be claimed is not handed out once those who asked for it may not ask
// any more.
func TestAdversary_T3_TheAskerIsRemovedBeforeTheClaim(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *fixture){
		"the requester is removed": func(t *testing.T, d *fixture) { d.only(t, "alice") },
		"the token may not ask":    func(_ *testing.T, d *fixture) { d.use(func(r *core.Rules) { r.Owners = nil }) },
		"it is another person's": func(_ *testing.T, d *fixture) {
			d.use(func(r *core.Rules) { r.Owners = map[string]string{"agent": "alice"} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			a := d.submit(t, "ask", func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob"} })
			require.NoError(t, vote(t, d, alice, &a))
			d.ran(t, a, "1", "failed")
			_, err := d.Retry(ctx, alice, a.Code, false)
			require.NoError(t, err)
			change(t, d)
			_, err = d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "2"})
			require.Equal(t, "not_claimable policy", why(err))
		})
	}
}

// T3: a claim whose answer was lost is not handed out again once somebody has said, with a round,
// that the run has ended: the retry would be a second run at the same time.
func TestAdversary_T3_ARepeatedClaimInARoundWithoutResult(t *testing.T) {
	for name, then := range map[string]func(*testing.T, *fixture, approval.Approval){
		"open": func(*testing.T, *fixture, approval.Approval) {},
		"expired": func(_ *testing.T, d *fixture, a approval.Approval) {
			time.Sleep(time.Duration(d.Rules().TimeoutMs+1) * time.Millisecond)
		},
		"denied": func(t *testing.T, d *fixture, a approval.Approval) {
			_, err := d.VoteAs(t.Context(), bob, a.Code, approval.Deny, "", "")
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, ctx := newFixture(t), t.Context()
				a := d.allowed(t, "two")
				d.ran(t, a, "1", "")
				_, err := d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "1"})
				require.NoError(t, err, "the answer was lost")
				_, err = d.Retry(ctx, alice, a.Code, true, 0)
				require.NoError(t, err)
				then(t, d, a)
				_, err = d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "1"})
				require.Equal(t, "already_used", why(err))
			})
		})
	}
}

// T3: a late result of the first run that names no run is stored as the second's, and is no end
// of it: without a word that the second has ended no third is let run.
func TestAdversary_T3_AnUnnamedResultIsNoEndOfTheNewestRun(t *testing.T) {
	for name, ids := range map[string][2]string{"named runs": {"1", "2"}, "runs without a name": {}} {
		t.Run(name, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			a := d.allowed(t, "ask")
			d.ran(t, a, ids[0], "")
			_, err := d.Retry(ctx, alice, a.Code, true, 0)
			require.NoError(t, err)
			d.ran(t, a, ids[1], "") // runs
			_, err = d.Report(ctx, agent, a.ID, "", approval.Result{Status: "failed"})
			require.NoError(t, err)
			_, err = d.Retry(ctx, bob, a.Code, false, 1)
			require.Equal(t, "not_claimable pending", why(err), "it may be the result of the first run")
			if ids[1] != "" {
				_, err = d.Report(ctx, agent, a.ID, ids[1], approval.Result{Status: "failed"})
				require.NoError(t, err)
			}
			_, err = d.Retry(ctx, bob, a.Code, ids[1] == "", 1)
			require.NoError(t, err, "the second has said so itself, or bob has")
		})
	}
}

// T3: the result of a named run is stored and told once, also if it came without the name first.
func TestAdversary_T3_ANamedResultTwice(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	a := d.allowed(t, "ask")
	d.ran(t, a, "1", "")
	var was approval.Approval
	for _, id := range []string{"", "1", "1", ""} {
		got, err := d.Report(ctx, agent, a.ID, id, approval.Result{Status: "failed"})
		require.NoError(t, err)
		if id == "" && was.Result == nil {
			was = got
		}
		require.Len(t, got.Deliveries, len(was.Deliveries))
		require.Equal(t, was.Result.AtMs, got.Result.AtMs)
	}
	_, err := d.Report(ctx, agent, a.ID, "1", approval.Result{Status: "succeeded"})
	require.Equal(t, "already_used", why(err))
	n := 0
	events, err := d.store.Log(ctx, 0, 100)
	require.NoError(t, err)
	for _, e := range events {
		if e.Type == approval.EventResult {
			n++
		}
	}
	require.Equal(t, 1, n)
}

// T3: what waits for its retry, or is voted on, is not deleted meanwhile.
func TestAdversary_T3_SweptWhileARetryWaits(t *testing.T) {
	for _, decided := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			window := 24 * time.Hour
			d.use(func(r *core.Rules) { r.RetryWindowMs = window.Milliseconds() })
			a := d.allowed(t, "two")
			d.ran(t, a, "1", "failed")
			time.Sleep(window - time.Minute)
			_, err := d.Retry(ctx, alice, a.Code, false)
			require.NoError(t, err)
			if decided {
				_, err = d.Retry(ctx, bob, a.Code, false)
				require.NoError(t, err)
			}
			time.Sleep(2 * time.Minute)
			keep := store.Keep{ApprovalsMs: window.Milliseconds(), CallsMs: window.Milliseconds()}
			_, err = d.store.Sweep(ctx, time.Now().UnixMilli(), keep)
			require.NoError(t, err)
			_, err = d.ByKey(ctx, a.Key)
			require.NoError(t, err)
		})
	}
}
