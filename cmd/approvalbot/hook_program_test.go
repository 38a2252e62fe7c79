package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The small program answers a hook as approvalbot hook does: the same words with the same input have the same
// output and exit status, whether the desk answers or not.
func TestHookFlow_BothProgramsAnswerTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.tools = "    rules: [{name: none, match: {tool: exec}, outcome: deny}]\n" })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	down := "http://" + free.Addr().String()
	require.NoError(t, free.Close())
	dir := t.TempDir()
	token, open, client := filepath.Join(dir, "token"), filepath.Join(dir, "open"), filepath.Join(dir, "client.yaml")
	require.NoError(t, os.WriteFile(token, []byte(agentSecret+"\n"), 0o600))
	require.NoError(t, os.WriteFile(open, []byte(agentSecret+"\n"), 0o644))
	require.NoError(t, os.WriteFile(client, []byte("server: "+r.url+"\ntoken: "+agentSecret+"\n"), 0o600))
	wrong := filepath.Join(dir, "wrong.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte("server: "+r.url+"\ntokn: x\n"), 0o600))
	desk := []string{"--server", r.url, "--token-file", token}
	read := strings.NewReplacer(`"Bash"`, `"Read"`, `"command":"npm publish"`, `"file_path":"/work/a"`).Replace(hookBody)
	with := func(flags []string, words ...string) []string { return append(words, flags...) }
	for name, c := range map[string]struct {
		body, says string
		status     int
		args       []string
	}{
		"allow":                {read, `"permissionDecision":"allow"`, 0, with(desk, "claude-code", "PreToolUse")},
		"allow, client file":   {read, `"permissionDecision":"allow"`, 0, []string{"--client", client, "claude-code", "PreToolUse"}},
		"allow, for a shell":   {read, `"permissionDecision":"allow"`, 3, with(desk, "claude-code", "--caller", "1", "PreToolUse")},
		"allow, silent":        {read, "", 0, with(desk, "claude-code", "PreToolUse", "--silent-allow")},
		"deny, silent":         {hookBody, `"permissionDecision":"deny"`, 0, with(desk, "claude-code", "PreToolUse", "--silent-allow")},
		"deny":                 {hookBody, `"permissionDecision":"deny"`, 0, with(desk, "claude-code", "PreToolUse")},
		"deny, another event":  {hookBody, "letter case counts", 0, with(desk, "claude-code", "pretooluse")},
		"report":               {strings.Replace(read, "PreToolUse", "PostToolUse", 1), "PostToolUse", 0, with(desk, "claude-code", "PostToolUse")},
		"desk down":            {read, `"permissionDecision":"deny"`, 0, []string{"claude-code", "PreToolUse", "--server", down, "--token-file", token, "--limit", "3s"}},
		"broken input":         {`{"tool_name":`, `"permissionDecision":"deny"`, 0, with(desk, "claude-code", "PreToolUse")},
		"no input, by status":  {"", "", 2, with(desk, "kiro", "preToolUse")},
		"no client file":       {read, "no such file", 0, []string{"claude-code", "PreToolUse", "--client", filepath.Join(dir, "gone")}},
		"wrong client file":    {read, "unknown key", 0, []string{"claude-code", "PreToolUse", "--client", wrong}},
		"relative client file": {read, "absolute path", 0, []string{"claude-code", "PreToolUse", "--client", "client.yaml"}},
		"others read it":       {read, "others can read it", 0, []string{"claude-code", "PreToolUse", "--token-file", open}},
		"no desk is named":     {read, "no desk is named", 0, []string{"claude-code", "PreToolUse"}},
		"token in the words":   {read, "list of processes", 0, []string{"claude-code", "PreToolUse", "--token", "x"}},
		"unknown runtime":      {read, "does not know this runtime", 2, with(desk, "clod", "PreToolUse")},
		"no words":             {read, "but got 0 words", 2, desk},
		"too many words":       {read, "but got 3 words", 0, with(desk, "claude-code", "PreToolUse", "now")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := func(program string, words ...string) (status int, stdout, stderr string) {
				h := r.started(exec.Command(program, append(words, c.args...)...), c.body)
				status, stdout = h.output(t)
				return status, stdout, h.stderr.String()
			}
			status, stdout, stderr := said("approvalbot", "hook")
			require.Equal(t, c.status, status, stdout+stderr)
			require.Contains(t, stdout+stderr, c.says)
			smallStatus, smallOut, smallErr := said("approvalbot-hook")
			require.Equal(t, status, smallStatus)
			require.Equal(t, stdout, smallOut)
			require.Equal(t, stderr, smallErr)
		})
	}
	// What is wrong with a flag is said in other words, and denied alike.
	for _, flag := range []string{"--limt=1h", "--limit=soon", "--caller=x"} {
		for _, words := range [][]string{{"approvalbot", "hook"}, {"approvalbot-hook"}} {
			h := r.started(exec.Command(words[0], append(words[1:], "copilot-cli", flag, "permissionRequest")...), read)
			status, stdout := h.output(t)
			require.Zero(t, status)
			require.Contains(t, stdout, `"behavior":"deny"`)
		}
	}
}

// A small program that its runtime ends withdraws what it asked, too.
func TestHookFlow_TheSmallProgramWithdraws(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.started(exec.Command("approvalbot-hook", r.hookArgs(r.url, "claude-code", "PreToolUse")[1:]...), hookBody)
	a := r.askedAs("toolu_1")
	require.NoError(t, h.Process.Signal(os.Interrupt))
	_, out := h.output(t)
	require.Contains(t, out, `"permissionDecision":"deny"`)
	require.EqualValues(t, "withdrawn", r.final(a).Status)
}
