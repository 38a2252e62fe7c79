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
	c.apply()
	require.Equal(t, OutcomeAsk, c.Outcome)
	require.NotEqual(t, OutcomeAllow, c.Unreached)
}
