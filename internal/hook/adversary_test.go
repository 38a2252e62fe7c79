package hook

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdversary_T30_AnAllowedPlanIsHandedBack: Claude Code drops an allow of its plan that does
// not repeat the input, and Codex refuses one that does.
func TestAdversary_T30_AnAllowedPlanIsHandedBack(t *testing.T) {
	plan := Call{Tool: "ExitPlanMode", Params: []byte(`{"plan":"1. x\n2. y"}`)}
	event := func(runtime, name string) Event {
		r, _ := Find(runtime)
		e, known := r.Event(name)
		require.True(t, known)
		return e
	}
	e := event("claude", "PermissionRequest")
	require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"plan":"1. x\n2. y"}}}}`,
		string(e.Allow(plan, "").Stdout))
	const bare = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	require.JSONEq(t, bare, string(e.Allow(Call{Tool: "Bash", Params: plan.Params}, "").Stdout))
	require.JSONEq(t, bare, string(event("codex", "PermissionRequest").Allow(plan, "").Stdout))
	require.Contains(t, string(e.Deny(plan, "use staging").Stdout), "use staging")
	require.NotContains(t, string(e.Deny(plan, "use staging").Stdout), "updatedInput")
}

// TestAdversary_T26_TheDeskIsToldOfHiddenTyping: what a runtime types unseen is in its row, and
// every body of it says so to the desk.
func TestAdversary_T26_TheDeskIsToldOfHiddenTyping(t *testing.T) {
	for _, name := range []string{"codex-0.169.0-PreToolUse-command.json", "codex-0.169.0-PermissionRequest-command.json"} {
		e, c := readCapture(t, name)
		call, err := e.Decode(c.Stdin)
		require.NoError(t, err)
		require.Equal(t, "possible", call.Request().Context.Terminal)
	}
	e, c := readCapture(t, "claude-code-2.1.330-PreToolUse-command.json")
	call, err := e.Decode(c.Stdin)
	require.NoError(t, err)
	require.Empty(t, call.Request().Context.Terminal)
}
