package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

const claimers = 20

// claimant is one of those who want a call, and what it got.
type claimant struct {
	as     api.ClaimRequest
	claim  api.Claim
	winner bool
	code   string // of the refusal
}

// crowd is twenty who want the call at the same instant: one in five names other
// params, one in five another place.
func crowd() []*claimant {
	all := make([]*claimant, claimers)
	for i := range all {
		c := &claimant{as: api.ClaimRequest{ClaimID: string(rune('a' + i)), Params: []byte(`{"n":1}`), Bind: &api.Bind{Workdir: new("/srv/a"), Host: new("one")}}}
		switch i % 5 {
		case 3:
			c.as.Params = []byte(`{"n":2}`)
		case 4:
			c.as.Bind = &api.Bind{Workdir: new("/srv/b"), Host: new("one")}
		}
		all[i] = c
	}
	return all
}

// requireOneWinner checks that one claimant with the approved call got it, and the
// others what they deserve.
func requireOneWinner(t *testing.T, all []*claimant) *claimant {
	t.Helper()
	var winner *claimant
	for i, c := range all {
		switch {
		case c.winner:
			require.Nil(t, winner, "two got it")
			require.Less(t, i%5, 3, "one got it that named another call")
			winner = c
		case i%5 >= 3 && c.code == "fingerprint_mismatch":
		default: // a wrong one may also come too late to be compared
			require.Equal(t, "already_used", c.code, "claimant %d", i)
		}
	}
	require.NotNil(t, winner, "nobody got it")
	require.JSONEq(t, `{"n":1}`, string(winner.claim.Params))
	require.NotEmpty(t, winner.claim.Receipt)
	return winner
}

func bound(c *api.CreateRequest) { c.Bind = &api.Bind{Workdir: new("/srv/a"), Host: new("one")} }

// Twenty claim at the same instant, some of them another call: one wins, also after
// a restart.
func TestAdversary_B2_B4_B6_TwentyClaimers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"n":1}`, bound)
	_, err := r.operator().Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	for _, wrong := range []api.ClaimRequest{
		{Params: []byte(`{"n":2}`)}, {Params: []byte(`{"n":"1"}`)}, {Params: []byte(`{"n":1,"m":1}`)}, {Params: []byte(`{}`)},
		{Bind: &api.Bind{Workdir: new("/srv/b"), Host: new("one")}}, {Bind: &api.Bind{Workdir: new("/srv/a"), Host: new("two")}},
		{Bind: &api.Bind{Workdir: new("/srv/a"), Host: new("one"), EnvHash: new("x")}}, {Bind: &api.Bind{Workdir: new("/srv/a")}},
	} {
		_, err := r.agent().Claim(r.ctx(), a.ID, wrong)
		requireProblem(t, err, "fingerprint_mismatch")
	}
	all := crowd()
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for _, c := range all {
		client, ctx := r.agent(), r.ctx()
		wg.Go(func() {
			<-begin
			c.take(client.Claim(ctx, a.ID, c.as))
		})
	}
	close(begin)
	wg.Wait()
	winner := requireOneWinner(t, all)
	r.stop()
	r.start()
	again, err := r.agent().Claim(r.ctx(), a.ID, winner.as)
	require.NoError(t, err, "a lost answer can be asked for again")
	require.Equal(t, winner.claim, again)
	for _, c := range all {
		if c != winner {
			_, err := r.agent().Claim(r.ctx(), a.ID, c.as)
			require.Error(t, err)
		}
	}
	_, err = r.agent().Result(r.ctx(), a.ID, api.ResultRequest{Status: "succeeded"})
	require.NoError(t, err)
	_, err = r.agent().Claim(r.ctx(), a.ID, winner.as)
	requireProblem(t, err, "already_used")
}

// take notes an answer; false: there was none that counts.
func (c *claimant) take(claim api.Claim, err error) bool {
	var p *api.Problem
	switch {
	case err == nil:
		c.claim, c.winner, c.code = claim, true, ""
	case errors.As(err, &p) && p.Status < 500:
		c.code = p.Code
	default:
		return false
	}
	return true
}

// The same, and the desk is killed while they ask: whoever got no answer asks again.
func TestAdversary_B2_B4_B6_TwentyClaimersAcrossAKill(t *testing.T) {
	t.Parallel()
	bin, err := faultyBinary()
	require.NoError(t, err)
	for _, point := range []string{"before-claim-committed", "after-claim-committed"} {
		t.Run(point, func(t *testing.T) {
			c := newCrashRig(t, bin)
			c.run(point)
			a := c.ask(`{"n":1}`, bound)
			_, err := c.operator().Resolve(c.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
			require.NoError(t, err)
			all := crowd()
			var revive sync.Mutex
			var wg sync.WaitGroup
			for _, one := range all {
				client := c.agent()
				ctx := c.ctx()
				wg.Go(func() {
					for ctx.Err() == nil && !one.take(client.Claim(ctx, a.ID, one.as)) {
						revive.Lock()
						if c.dead() {
							c.revive()
						}
						revive.Unlock()
					}
				})
			}
			wg.Wait()
			winner := requireOneWinner(t, all)
			c.mustHaveDied(point)
			c.until("claim again", func(ctx context.Context) error {
				again, err := c.agent().Claim(ctx, a.ID, winner.as)
				if err == nil {
					require.Equal(t, winner.claim, again)
				}
				return err
			})
			records := 0
			page, err := c.operator().Audit(c.ctx(), api.AuditOptions{Limit: 200})
			require.NoError(t, err)
			for _, e := range page.Items {
				if e.Type == "audit.claimed" {
					records++
				}
			}
			require.Equal(t, 1, records, "one claim is on record")
			report, err := c.operator().VerifyAudit(c.ctx())
			require.NoError(t, err)
			require.True(t, report.OK, report.Problem)
		})
	}
}
