package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newcomer is somebody's home beside a running desk.
type newcomer struct {
	t    *testing.T
	home string
	rig  *rig
}

func newNewcomer(t *testing.T) newcomer {
	t.Helper()
	r := newRig(t, func(r *rig) { r.agentHas = ", agentId: main" })
	n := newcomer{t, t.TempDir(), r}
	for name, secret := range map[string]string{
		"client": agentSecret, "operator": operatorSecret, "both": aliceSecret, "nameless": secondSecret, "gone": "no-such-token",
	} {
		n.write(".config/approvalbot/"+name+".yaml", "server: "+r.url+"\ntoken: "+secret+"\n")
	}
	return n
}

func (n newcomer) write(name, text string) {
	n.t.Helper()
	path := filepath.Join(n.home, name)
	require.NoError(n.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(n.t, os.WriteFile(path, []byte(text), 0o600))
}

func (n newcomer) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(n.home, name))
	return string(text)
}

func (n newcomer) run(words ...string) output {
	n.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(n.rig.ctx(), words, []string{"HOME=" + n.home}, strings.NewReader(""), &stdout, &stderr)
	return output{code, stdout.String(), stderr.String()}
}

func (n newcomer) client(name string) string {
	return filepath.Join(n.home, ".config/approvalbot", name+".yaml")
}

// One line attaches a runtime, with the client file that is there, and one gives the
// very bytes back.
func TestInstall(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	const before = "{\n  // mine\n  \"sandbox\": {\"enabled\": true}\n}"
	n.write(".claude/settings.json", before)
	out := n.run("install", "claude", "--user", "--print")
	require.Zero(t, out.code, out.stderr)
	require.Contains(t, out.stdout, "+++ "+filepath.Join(n.home, ".claude/settings.json"))
	require.Equal(t, before, n.read(".claude/settings.json"), "--print writes nothing")

	out = n.run("install", "claude-code", "--user")
	require.Zero(t, out.code, out.stderr)
	settings := n.read(".claude/settings.json")
	require.Contains(t, settings, "// mine")
	require.Contains(t, settings, "hook claude-code PreToolUse --client "+n.client("client"))
	require.Contains(t, settings, `"onFailure": "block"`)
	require.NotContains(t, settings, agentSecret)
	require.Contains(t, out.stdout, "What stays open:\n  Commands that a skill or a page of commands runs by itself")
	require.Contains(t, out.stdout, "\n  Settings that a repository")
	require.Contains(t, out.stdout, "Claude Code confines commands by itself (sandbox.enabled in its user settings)")
	require.Contains(t, out.stdout, "approvalbot doctor --live claude-code")

	out = n.run("uninstall", "claude-code")
	require.Zero(t, out.code, out.stderr)
	require.Equal(t, before, n.read(".claude/settings.json"))
	require.Contains(t, n.run("uninstall", "claude-code").stdout, "approvalbot is not in any file of Claude Code.")
}

// A token that may do more than an agent's is refused before anything is written, with
// the lines that mend it.
func TestInstall_WantsAnAgentsToken(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	for name, why := range map[string]string{
		"operator": "may not ask (approvals.request)",
		"both":     "may do more than ask (approvals.request, operator.approvals): an agent that reads it would approve for itself",
		"nameless": "names no agentId",
		"gone":     "desk does not know",
		"missing":  "is not there: make run writes it",
	} {
		out := n.run("install", "claude-code", "--user", "--client", n.client(name))
		require.Equal(t, 1, out.code, name)
		require.Contains(t, out.stderr, why, name)
		require.Empty(t, n.read(".claude/settings.json"), name)
		if name != "gone" {
			require.Contains(t, out.stderr, "    - {name: claude-code, tokenFile: claude-code.token, scopes: [approvals.request], agentId: claude-code}\n")
		}
		for _, secret := range []string{agentSecret, operatorSecret, aliceSecret, secondSecret} {
			require.NotContains(t, out.stdout+out.stderr, secret)
		}
	}
	n.rig.stop()
	out := n.run("install", "claude-code", "--user")
	require.Equal(t, 1, out.code)
	require.Contains(t, out.stderr, "cannot find out")
	require.Empty(t, n.read(".claude/settings.json"))
}

// A hook that says nothing about what policy allows cannot keep it from running beside a confined command.
func TestInstall_ConfinesOnlyIfItNamesCommands(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("confined calls: not tested, it is Linux only")
	}
	n := newNewcomer(t)
	both := "--confine and --silent-allow exclude each other"
	require.Contains(t, n.run("install", "claude-code", "--user", "--confine", "--silent-allow").stderr, both)
	require.Empty(t, n.read(".claude/settings.json"))
	require.Zero(t, n.run("install", "claude-code", "--user", "--confine").code)
	require.Contains(t, n.run("install", "claude-code", "--user", "--silent-allow").stderr, both, "as it is installed")
	require.Zero(t, n.run("install", "claude-code", "--user", "--silent-allow", "--confine=false").code)
}

// What install does not know it says, with what it does know.
func TestInstall_SaysWhatThereIs(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	for line, why := range map[string]string{
		"install nosuch":                        "known are claude-code, codex",
		"install openclaw":                      "OpenClaw has no configuration file for hooks",
		"install gemini --beside --user":        "leave out --beside",
		"install goose --managed":               "it has --user",
		"install claude --user --project":       "none of the others can be",
		"doctor --live openclaw":                "it can try claude-code, cline",
		"doctor --live claude-code":             "no hook that could be tried is installed for Claude Code here: run approvalbot install claude-code",
		"install claude-code --client relative": "is not there",
	} {
		out := n.run(strings.Fields(line)...)
		require.Equal(t, 1, out.code, line)
		require.Contains(t, out.stderr, why, line)
	}
}

// Uninstall takes the trace of a plugin that was loaded along.
func TestInstall_APluginsTraceGoesWithIt(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	out := n.run("install", "opencode", "--user")
	require.Zero(t, out.code, out.stderr)
	const trace = ".config/opencode/plugin/approvalbot.js.heartbeat"
	n.write(trace, "2026-11-22T19:59:16.621Z\n")
	require.Zero(t, n.run("uninstall", "opencode").code)
	require.Empty(t, n.read(trace))
}
