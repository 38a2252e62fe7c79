package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where the operator lets a command run that nobody could be asked about, the reason
// codes say that nobody was.
func TestNobodyReachedAndLetRun(t *testing.T) {
	a := Approval{
		Key: "k", Status: Pending, Reached: true, Unreached: true,
		Assessment: Assessment{ReasonCodes: []string{"exec"}},
	}
	c := Change{Approval: a}.unreached(5)
	require.Equal(t, Approved, c.Approval.Status)
	require.False(t, c.Approval.Reached)
	require.Equal(t, []string{"exec", ReasonUnreached}, c.Approval.Assessment.ReasonCodes)
}

// The reason says who is missing, and advises only what helps.
func TestWhyAQuorumCannotBeMet(t *testing.T) {
	people := func(names ...string) *Directory {
		var r Rights
		r.AllowedUsers = map[string][]string{}
		for _, n := range names {
			r.People = append(r.People, Person{Name: n, Accounts: map[string]string{"telegram": n + "1"}})
			r.AllowedUsers["telegram"] = append(r.AllowedUsers["telegram"], n+"1")
		}
		d, err := NewDirectory(r)
		require.NoError(t, err)
		return d
	}
	asked := func(need int, askers ...string) Approval {
		a := Approval{Rule: Rule{Effective: []Factor{UserRequest}, MinApprovals: need}}
		for _, n := range askers {
			a.Askers = append(a.Askers, Requester{Person: n})
		}
		return a
	}
	require.Contains(t, asked(1, "bob").quorumImpossible(people("bob")), "Nobody but whoever asked could approve this.")
	why := asked(2, "bob", "carol", "dave").quorumImpossible(people("alice", "bob", "carol", "dave"))
	require.Contains(t, why, "it needs 2, and there is 1.")
	require.Contains(t, why, "selfApproval: solo")
	why = asked(3, "bob").quorumImpossible(people("alice", "bob"))
	require.Contains(t, why, "There are too few approvers for this")
	require.NotContains(t, why, "solo")
	require.Empty(t, asked(2, "bob").quorumImpossible(people("alice", "bob", "carol")))
}

// A card that stands in the verifier's chat has reached its people, and not those whose
// yes is needed as well: these are tried at the fallback targets.
func TestTheVerifiersCardDoesNotReachApprovers(t *testing.T) {
	room, ops, spare := Target{
		Channel: VerifierChannel, To: "-7",
	}, Target{Channel: "telegram", To: "-1"}, Target{Channel: "telegram", To: "-2"}
	card := func(t Target, s DeliveryState) Delivery { return Delivery{Kind: CardDelivery, Target: t, State: s} }
	routes := Routes{Targets: []Target{ops}, Verifier: []Target{room}, Fallback: []Target{spare}, FallbackAfterMs: 50}
	a := Approval{Key: "k", Status: Pending, Reached: true, ExpiresAtMs: 1000, FallbackAtMs: 100, Rule: Rule{
		Verifier: verifierNeed(""),
	},
		Deliveries: []Delivery{card(room, Sent), card(ops, Failed)}}
	c, who := a.tick(routes, nil, 60)
	require.False(t, who)
	require.Len(t, c.Deliveries, 1)
	require.Equal(t, spare, c.Deliveries[0].Target)

	a.FallbackDone = true
	c, who = a.tick(routes, nil, 200)
	require.False(t, who)
	require.True(t, c.Approval.Reached, "the verifier's people are asked")
	require.Zero(t, c.Approval.FallbackAtMs)

	a.FallbackDone, a.Rule.Verifier = false, verifierNeed("policy")
	c, who = a.tick(Routes{Verifier: []Target{room}, FallbackAfterMs: 50}, nil, 200)
	require.False(t, who)
	require.Empty(t, c.Deliveries)
	require.Zero(t, c.Approval.FallbackAtMs)
}
