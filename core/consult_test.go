package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// What runs when no approver can be reached still waits for the verifier's own
// people: askFallback is not their yes.
func TestVerifierPeopleAreNotReplacedByAskFallback(t *testing.T) {
	c := consulted{Judgement: approval.Judgement{Outcome: approval.OutcomeAsk, Unreached: approval.OutcomeAllow},
		verdict: approval.Verification{Asked: true, People: &approval.VerifierPeople{Accounts: []string{"telegram:1"}}}}
	c.applyVerifier()
	require.Equal(t, approval.OutcomeAsk, c.Outcome)
	require.NotEqual(t, approval.OutcomeAllow, c.Unreached)
}

// A drill needs one answer of anybody: where the verifier's only account is the
// asker's own, or nobody's, somebody else can still give it.
func TestADrillDoesNotNeedTheVerifiersPeople(t *testing.T) {
	d, err := people.NewDirectory(people.Rights{
		AllowedUsers: map[string][]string{"telegram": {"2"}}, Verifiers: map[string][]string{"": {"telegram:1"}},
	})
	require.NoError(t, err)
	a := approval.Approval{
		Asked: approval.Asked{ToolName: approval.DrillTool, Askers: []approval.Requester{{Channel: "telegram", UserID: "1"}}},
		Judged: approval.Judged{Rule: approval.Rule{
			Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1,
			Verifier: &approval.VerifierNeed{Accounts: []string{"telegram:1"}, Optional: true},
		}},
	}
	require.Empty(t, people.QuorumImpossible(a, d))
	a.Rule.Verifier.Optional = false
	require.NotEmpty(t, people.QuorumImpossible(a, d))
}
