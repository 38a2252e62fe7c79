package core_test

import (
	"testing"

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
