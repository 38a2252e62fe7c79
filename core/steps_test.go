package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where the operator lets a command run that nobody could be asked about, the reason
// codes say that nobody was.
func TestNobodyReachedAndLetRun(t *testing.T) {
	a := Approval{Key: "k", Status: Pending, Reached: true, Unreached: true, Assessment: Assessment{ReasonCodes: []string{"exec"}}}
	c := Change{Approval: a}.unreached(5)
	require.Equal(t, Approved, c.Approval.Status)
	require.False(t, c.Approval.Reached)
	require.Equal(t, []string{"exec", ReasonUnreached}, c.Approval.Assessment.ReasonCodes)
}
