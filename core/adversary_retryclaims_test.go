package core_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
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
			a := d.submit(t, "ask", func(c *core.Call) { c.Requester = &core.Requester{Person: "bob"} })
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
	for name, then := range map[string]func(*testing.T, *fixture, core.Approval){
		"open": func(*testing.T, *fixture, core.Approval) {},
		"expired": func(_ *testing.T, d *fixture, a core.Approval) {
			time.Sleep(time.Duration(d.Rules().TimeoutMs+1) * time.Millisecond)
		},
		"denied": func(t *testing.T, d *fixture, a core.Approval) {
			_, err := d.VoteAs(t.Context(), bob, a.Code, core.Deny, "")
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
