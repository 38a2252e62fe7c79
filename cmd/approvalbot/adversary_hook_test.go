package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
)

// hookWords runs a command line without a desk.
func hookWords(t *testing.T, stdin string, words ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), words, []string{"HOME=" + t.TempDir()}, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// A command line that cannot be read, or names another event than the body, is denied in
// the words of the event that the runtime waits for: any others run the call.
func TestAdversary_H1_AMistakenCommandLineDeniesInTheEventsOwnWords(t *testing.T) {
	t.Parallel()
	asked := `{"hookName":"permissionRequest","sessionId":"s","cwd":"/w","toolName":"bash","toolInput":{"command":"ls"}}`
	before := `{"sessionId":"s","cwd":"/w","toolName":"bash","toolArgs":{"command":"ls"}}`
	for _, c := range []struct{ line, body, want string }{
		{"hook copilot-cli permissionRequest --limt 24h", asked, `"behavior":"deny"`},
		{"--bogus hook copilot-cli permissionRequest", asked, `"behavior":"deny"`},
		{"hook copilot-cli permissionRequest --limit soon", asked, `"behavior":"deny"`},
		{"hook --limit soon copilot-cli permissionRequest", asked, `"behavior":"deny"`},
		{"hook copilot-cli PERMISSIONREQUEST", asked, `"behavior":"deny"`},
		{"hook copilot-cli preToolUse", asked, `"behavior":"deny"`},
		{"hook copilot-cli permissionRequest", before, `"permissionDecision":"deny"`},
		{"hook copilot-cli PERMISSIONREQUEST", before, `"permissionDecision":"deny"`},
		{"hook claude-code PermissionRequest --limt 24h", hookBody, `"behavior":"deny"`},
		{"hook claude-code PermissionRequest", hookBody, `"permissionDecision":"deny"`},
		{"hook claude-code PermissionRequest", "{", `"behavior":"deny"`},
		{"hok claude-code PreToolUse --client /x", hookBody, `"permissionDecision":"deny"`},
		{"--json Hooks copilot-cli permissionRequest", asked, `"behavior":"deny"`},
	} {
		code, out, errs := hookWords(t, c.body, strings.Fields(c.line)...)
		require.Zero(t, code, "%s: %s", c.line, errs)
		require.Contains(t, out, c.want, c.line)
	}
}

// What is no hook is none: the exit status of a mistake stays.
func TestHook_AnotherMistakeIsNoHook(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"instal claude-code", "frob", "hok", "list claude-code hook claude-code", "install hook claude-code"} {
		code, out, _ := hookWords(t, "", strings.Fields(line)...)
		require.Equal(t, app.ExitError, code, line)
		require.Empty(t, out, line)
	}
	code, _, errs := hookWords(t, "", "hok", "kiro", "preToolUse")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "unknown command")
}
