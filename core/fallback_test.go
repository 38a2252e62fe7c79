package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// Where the operator lets a command run that nobody could be asked about, the reason
// codes say that nobody was.
func TestNobodyReachedAndLetRun(t *testing.T) {
	a := approval.Approval{
		Names:   approval.Names{Key: "k"},
		Ended:   approval.Ended{Status: approval.Pending},
		Contact: approval.Contact{Reached: true},
		Judged:  approval.Judged{Unreached: true, Assessment: approval.Assessment{ReasonCodes: []string{"exec"}}},
	}
	c := Change{Approval: a}.unreached(5)
	require.Equal(t, approval.Approved, c.Approval.Status)
	require.False(t, c.Approval.Reached)
	require.Equal(t, []string{"exec", approval.ReasonUnreached}, c.Approval.Assessment.ReasonCodes)
}

// The reason says who is missing, and advises only what helps.
func TestWhyAQuorumCannotBeMet(t *testing.T) {
	directory := func(names ...string) *people.Directory {
		var r people.Rights
		r.AllowedUsers = map[string][]string{}
		for _, n := range names {
			r.People = append(r.People, people.Person{Name: n, Accounts: map[string]string{"telegram": n + "1"}})
			r.AllowedUsers["telegram"] = append(r.AllowedUsers["telegram"], n+"1")
		}
		d, err := people.NewDirectory(r)
		require.NoError(t, err)
		return d
	}
	asked := func(need int, askers ...string) approval.Approval {
		a := approval.Approval{Judged: approval.Judged{Rule: approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: need}}}
		for _, n := range askers {
			a.Askers = append(a.Askers, approval.Requester{Person: n})
		}
		return a
	}
	require.Contains(t, people.QuorumImpossible(asked(1, "bob"), directory("bob")), "Only the askers themselves could approve this.")
	why := people.QuorumImpossible(asked(2, "bob", "carol", "dave"), directory("alice", "bob", "carol", "dave"))
	require.Contains(t, why, "it needs 2, and there is 1.")
	require.Contains(t, why, "selfApproval: solo")
	why = people.QuorumImpossible(asked(3, "bob"), directory("alice", "bob"))
	require.Contains(t, why, "There are too few approvers for this")
	require.NotContains(t, why, "solo")
	require.Empty(t, people.QuorumImpossible(asked(2, "bob"), directory("alice", "bob", "carol")))
}

// A card that stands in the verifier's chat has reached its people, and not those whose
// yes is needed as well: these are tried at the fallback targets.
func TestTheVerifiersCardDoesNotReachApprovers(t *testing.T) {
	room, ops, spare := approval.Target{
		Channel: approval.VerifierChannel, To: "-7",
	}, approval.Target{Channel: "telegram", To: "-1"}, approval.Target{Channel: "telegram", To: "-2"}
	card := func(t approval.Target, s approval.DeliveryState) approval.Delivery {
		return approval.Delivery{Kind: approval.CardDelivery, Target: t, State: s}
	}
	routes := Routes{Targets: []approval.Target{ops}, Verifier: []approval.Target{room}, Fallback: []approval.Target{spare}, FallbackAfterMs: 50}
	a := approval.Approval{
		Names:   approval.Names{Key: "k"},
		Ended:   approval.Ended{Status: approval.Pending},
		Contact: approval.Contact{Reached: true, FallbackAtMs: 100, Deliveries: []approval.Delivery{card(room, approval.Sent), card(ops, approval.Failed)}},
		Asked:   approval.Asked{ExpiresAtMs: 1000},
		Judged: approval.Judged{Rule: approval.Rule{
			Verifier: verifierNeed(""),
		}},
	}
	c, who := tick(a, routes, nil, 60)
	require.False(t, who)
	require.Len(t, c.Deliveries, 1)
	require.Equal(t, spare, c.Deliveries[0].Target)

	a.FallbackDone = true
	c, who = tick(a, routes, nil, 200)
	require.False(t, who)
	require.True(t, c.Approval.Reached, "the verifier's people are asked")
	require.Zero(t, c.Approval.FallbackAtMs)

	a.FallbackDone, a.Rule.Verifier = false, verifierNeed("policy")
	c, who = tick(a, Routes{Verifier: []approval.Target{room}, FallbackAfterMs: 50}, nil, 200)
	require.False(t, who)
	require.Empty(t, c.Deliveries)
	require.Zero(t, c.Approval.FallbackAtMs)
}
