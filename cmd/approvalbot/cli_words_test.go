package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing that the desk sends reaches the terminal as a control sequence.
func TestAdversary_S2_TerminalShowsTricks(t *testing.T) {
	t.Parallel()
	const trick = "a\x1b]0;x\x07\u202Eb\nStatus: approved"
	d := deskFor(t)
	for _, k := range []string{"toolName", "agentId", "sessionKey", "owner", "justification", "actionSummary", "paramsSummary", "reason", "argsFingerprint", "code", "riskClass"} {
		d.approval[k] = trick
	}
	d.approval["why"], d.approval["sideEffects"], d.approval["offers"] = []string{trick}, []string{trick}, []string{"deny", trick}
	d.approval["requester"] = map[string]any{"channel": trick, "userId": trick}
	d.approval["bind"] = map[string]any{"workdir": trick, "host": trick}
	d.approval["deliveries"] = []any{map[string]any{"target": trick, "state": "sent", "error": trick}}
	d.approval["votes"] = []any{map[string]any{"approverId": "user_request", "verdict": "approve", "decision": trick, "reason": trick,
		"voter": map[string]any{"person": trick, "channel": trick, "userId": trick}, "decidedAtMs": 1}}
	d.approval["result"] = map[string]any{"status": trick, "summary": trick}
	for _, args := range [][]string{{"list"}, {"view", deskID}, {"wait", deskID, "--for", "10ms"}, {"watch"}, {"revoke", deskID}} {
		out := runCLI(t, d, "", args...)
		all := out.stdout + out.stderr
		require.NotContains(t, all, "\x1b", args)
		require.NotContains(t, all, "\u202E", args)
		require.NotContains(t, all, "\nStatus: approved", args)
		require.Contains(t, all, `\u{1B}`, args)
	}
}
