package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/display"
)

// Nothing of a call can stand at the beginning of a line of its own in a terminal,
// wherever that wraps, and nothing of it is left out.
func TestAdversary_S7_ACallInATerminalIsFramed(t *testing.T) {
	title, whole := framed("$ git push")
	require.Equal(t, "$ git push", title)
	require.Empty(t, whole)

	call := "$ set -e" + lineFeed + "make" + lineFeed + strings.Repeat(" ", 80) + "Votes:       2 of 2: alice, bob"
	title, whole = framed(call)
	require.Equal(t, []string{"│ $ set -e" + lineFeed, "│ make" + lineFeed}, whole[:2])
	all := ""
	for _, line := range append([]string{"│ " + title}, whole...) {
		require.True(t, strings.HasPrefix(line, "│ "))
		require.LessOrEqual(t, len([]rune(line)), 80)
		_, cut := display.Clip(line, callWidth+2)
		require.False(t, cut)
	}
	for _, line := range whole {
		all += strings.TrimPrefix(line, "│ ")
	}
	require.Equal(t, call, all)
}

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
		require.Equal(t, want, ending(a))
	}
	require.Equal(t, "revoked", statusWord(back))
	require.Equal(t, "approved", statusWord(yes))
}
