package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// onlyThese is a directory of alice and bob in which only these accounts decide, and those of
// these people are known.
func onlyThese(t *testing.T, known, decide map[string]string) *core.Directory {
	t.Helper()
	r := core.Rights{AllowedUsers: map[string][]string{"telegram": {}}, Tokens: map[string]string{}}
	for name, id := range known {
		r.People = append(r.People, core.Person{Name: name, Accounts: map[string]string{"telegram": id}})
	}
	for name, id := range decide {
		r.AllowedUsers["telegram"] = append(r.AllowedUsers["telegram"], id)
		r.Tokens[name+"-laptop"] = name
	}
	d, err := core.NewDirectory(r)
	require.NoError(t, err)
	return d
}

// logged are the log's records of that type.
func logged(t *testing.T, d *fixture, kind core.EventType) (out []core.Entry) {
	t.Helper()
	all, err := d.store.Log(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range all {
		if e.Type == kind {
			out = append(out, e)
		}
	}
	return out
}

// An allow that waits to be claimed falls with the authority of who gave it, is on record, and
// its owner is told; a grant covers nothing any more.
func TestAdversary_T9_FallsWithItsGiver(t *testing.T) {
	both := map[string]string{"alice": "1", "bob": "2"}
	onlyAlice, withCarol := map[string]string{"alice": "1"}, map[string]string{"alice": "1", "carol": "2"}
	for name, c := range map[string]struct {
		tool          string
		known, decide map[string]string
		falls         bool
	}{
		"nothing has changed":                 {"ask", both, both, false},
		"who gave it was taken out":           {"ask", onlyAlice, onlyAlice, true},
		"who gave it may not decide":          {"ask", both, onlyAlice, true},
		"one of two was taken out":            {"two", onlyAlice, onlyAlice, true},
		"one of two may not decide":           {"two", both, onlyAlice, true},
		"the account is another person's":     {"ask", withCarol, withCarol, true},
		"policy has allowed it, not a person": {"allow", onlyAlice, onlyAlice, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			a := d.submit(t, c.tool)
			for _, by := range map[string][]core.Caller{"ask": {bob}, "two": {alice, bob}}[c.tool] {
				_, err := d.VoteAs(t.Context(), by, a.Code, core.AllowOnce, "")
				require.NoError(t, err)
			}
			d.use(func(r *core.Rules) { r.People = onlyThese(t, c.known, c.decide) })
			_, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
			if !c.falls {
				require.NoError(t, err)
				return
			}
			require.Equal(t, core.CodeNotClaimable, core.CodeOf(err))
			require.ErrorContains(t, err, a.Code)
			require.ErrorContains(t, err, "bob")
			require.Len(t, logged(t, d, core.EventRefused), 1)
			require.Len(t, logged(t, d, core.EventRevoked), 1)
			require.Empty(t, logged(t, d, core.EventClaimed))
			d.use(func(r *core.Rules) { r.People = onlyThese(t, both, both) })
			_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
			require.Equal(t, core.CodeNotClaimable, core.CodeOf(err), "it does not come back with them")
		})
	}
}

// A claim that is said again goes on to be answered: the call was handed out by then.
func TestAdversary_T9_ARepeatedClaimIsAnswered(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	_, err := d.VoteAs(t.Context(), bob, a.Code, core.AllowOnce, "")
	require.NoError(t, err)
	for range 2 {
		_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "mine"})
		require.NoError(t, err)
		d.use(func(r *core.Rules) {
			r.People = onlyThese(t, map[string]string{"alice": "1"}, map[string]string{"alice": "1"})
		})
	}
}

// A session grant and an always grant cover a call as long as who gave them may decide it.
func TestAdversary_T9_GrantsFallWithTheirGiver(t *testing.T) {
	both := map[string]string{"alice": "1", "bob": "2"}
	for _, decision := range []core.Decision{core.AllowSession, core.AllowAlways} {
		t.Run(string(decision), func(t *testing.T) {
			d := newFixture(t)
			_, err := d.VoteAs(t.Context(), bob, d.submit(t, "ask").Code, decision, "")
			require.NoError(t, err)
			require.Equal(t, core.Approved, d.submit(t, "ask").Status)
			d.use(func(r *core.Rules) { r.People = onlyThese(t, both, map[string]string{"alice": "1"}) })
			require.Equal(t, core.Pending, d.submit(t, "ask").Status, "bob may not decide any more")
		})
	}
}
