package show

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// Who took an approval back, and why, stands beside who had allowed it.
func TestEndingsInWords(t *testing.T) {
	yes := api.Approval{Status: api.Approved, Decision: api.AllowOnce, DecidedBy: []string{"person:bob"}, Reason: "only if tests pass"}
	back := yes
	back.RevokedAtMs, back.RevokedBy, back.RevokeReason = 1, "person:alice", "alice says no"
	withdrawn := api.Approval{Status: api.Withdrawn, DecidedBy: []string{"token:main-agent"}, Reason: "approved by alice"}
	for want, a := range map[string]api.Approval{
		"approved (allow-once) by bob: only if tests pass":                                      yes,
		"revoked by alice: alice says no; was approved (allow-once) by bob: only if tests pass": back,
		"withdrawn by token main-agent, who said: approved by alice":                            withdrawn,
		"pending": {Status: api.Pending},
	} {
		require.Equal(t, want, Ending(a))
	}
	require.Equal(t, "revoked", Status(back))
	require.Equal(t, "approved", Status(yes))
}
