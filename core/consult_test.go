package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What runs when no approver can be reached still waits for the verifier's own
// people: askFallback is not their yes.
func TestVerifierPeopleAreNotReplacedByAskFallback(t *testing.T) {
	c := consulted{Judgement: Judgement{Outcome: OutcomeAsk, Unreached: OutcomeAllow},
		verdict: Verification{Asked: true, People: &VerifierPeople{Accounts: []string{"telegram:1"}}}}
	c.applyVerifier()
	require.Equal(t, OutcomeAsk, c.Outcome)
	require.NotEqual(t, OutcomeAllow, c.Unreached)
}

// A drill needs one answer of anybody: where the verifier's only account is the
// asker's own, or nobody's, somebody else can still give it.
func TestADrillDoesNotNeedTheVerifiersPeople(t *testing.T) {
	d, err := NewDirectory(Rights{
		AllowedUsers: map[string][]string{"telegram": {"2"}}, Verifiers: map[string][]string{"": {"telegram:1"}},
	})
	require.NoError(t, err)
	a := Approval{ToolName: DrillTool, Askers: []Requester{{Channel: "telegram", UserID: "1"}},
		Rule: Rule{
			Effective: []Factor{UserRequest}, MinApprovals: 1,
			Verifier: &VerifierNeed{Accounts: []string{"telegram:1"}, Optional: true},
		}}
	require.Empty(t, a.quorumImpossible(d))
	a.Rule.Verifier.Optional = false
	require.NotEmpty(t, a.quorumImpossible(d))
}
