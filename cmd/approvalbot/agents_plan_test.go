package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook/live"
)

// useTool has a lab's model ask for a tool of the runtime's own, or for a command with
// arguments beside it.
func useTool(l *live.Lab, tool, command string, args map[string]any) {
	l.Model.Tool, l.Model.Args = tool, args
	if command != "" {
		l.Model.Command = command
	}
}

// planFile is where Claude Code has its model write the plan.
var planFile = regexp.MustCompile(`/[A-Za-z0-9/._-]+/\.claude/plans/[A-Za-z0-9-]+\.md`)

// Claude Code's plan comes before a person by --permission-prompt-tool, with its text: an
// allow lets the client go on, a deny does not.
func TestAgents_T30_APlanIsAsked(t *testing.T) {
	t.Parallel()
	for _, button := range []string{"Allow once", "Deny"} {
		l := lab(t, "claude-code")
		r := newRig(t)
		config := filepath.Join(l.Home, "mcp.json")
		require.NoError(t, os.WriteFile(config, fmt.Appendf(nil,
			`{"mcpServers": {"approvalbot": {"type": "http", "url": "%s/mcp", "headers": {"Authorization": "Bearer %s"}}}}`, r.url, agentSecret), 0o600))
		useTool(l, "ExitPlanMode", "", map[string]any{})
		l.Model.Saw = func(request []byte) { // the client's own file, which it puts into the call
			if name := planFile.Find(request); name != nil {
				require.NoError(t, os.MkdirAll(filepath.Dir(string(name)), 0o700))
				require.NoError(t, os.WriteFile(string(name), []byte("1. look at build\n2. delete all of it"), 0o600))
			}
		}
		done := make(chan running, 1)
		go func() {
			got, err := l.Try(t.Context(), func(ctx context.Context) (string, error) {
				out, err := l.Cmd(ctx, "-p", "clean up", "--output-format", "json", "--permission-mode", "plan", "--mcp-config", config,
					"--permission-prompt-tool", "mcp__approvalbot__permission_prompt").CombinedOutput()
				return string(out), err
			})
			done <- running{got, err}
		}()
		card := r.asked("delete all of it")
		require.Contains(t, card.Text, "2. delete all of it")
		r.tap(r.alice, r.group, card.ID, button)
		got := <-done
		require.NoError(t, got.err, got.result.Output)
		read := strings.Join(got.result.Read, "\n")
		require.Equal(t, button == "Allow once", strings.Contains(read, "User has approved"), read)
		if button == "Deny" {
			require.Contains(t, read, "denied by alice")
		}
	}
}

// Codex hides from its hook that a command has a terminal, and what is typed there: what takes
// commands from one asks, and what does not is not asked for.
func TestAgents_T26_CodexHidesTyping(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		asks    bool
	}{{"less README.md", true}, {"cat README.md", false}} {
		l := lab(t, "codex")
		r := newRig(t, func(r *rig) { r.agentHas = ", agentId: main" })
		attached(t, r, l, false)
		require.NoError(t, os.WriteFile(filepath.Join(l.Project, "README.md"), []byte("first line\n"), 0o600))
		useTool(l, "", c.command, map[string]any{"tty": true})
		done := startClient(t.Context(), l)
		if c.asks {
			card := r.asked(c.command)
			require.Contains(t, card.Text, "what is typed there later is not shown here")
			r.tap(r.alice, r.group, card.ID, "Deny")
		}
		got := <-done
		require.NoError(t, got.err, got.result.Output)
		require.Equal(t, !c.asks, strings.Contains(strings.Join(got.result.Read, "\n"), "first line"), "%v", got.result.Read)
	}
}

// The example for CI: a yes lets the call run; a no, a request that expires and a desk that is gone do not.
func TestAgents_T30_InCI(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../examples/agents-in-ci/claude.sh")
	require.NoError(t, err)
	for _, how := range []string{"Allow once", "Deny", "expires", "no desk"} {
		l := lab(t, "claude-code")
		r := newRig(t, asksAlways, func(r *rig) {
			if how == "expires" {
				r.tools += "    timeoutMs: 6000\n"
			}
		})
		done := make(chan running, 1)
		go func() {
			got, err := l.Try(t.Context(), func(ctx context.Context) (string, error) {
				cmd := exec.CommandContext(ctx, script, "clean up")
				cmd.Dir, cmd.Env = l.Project, append(l.Env(), "APPROVALBOT_SERVER="+r.url, "APPROVALBOT_TOKEN="+agentSecret)
				out, err := cmd.CombinedOutput()
				return string(out), err
			})
			done <- running{got, err}
		}()
		switch how {
		case "no desk":
			r.stop()
		case "expires":
			r.settled(r.group, r.asked(live.Command()).ID, "Nobody answered in 6 s")
		default:
			r.tap(r.alice, r.group, r.asked(live.Command()).ID, how)
		}
		got := endOf(t, done)
		require.Equal(t, how == "Allow once", got.Ran, "%s: %v\n%s", how, got.Read, got.Output)
		t.Logf("%s: %v", how, got.Read)
	}
}

// In the terminal Claude Code says what it waits for while its installed hook asks.
func TestAgents_T30_TheTerminalSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksAlways)
	l := installed(t, r, "claude-code")
	seed := fmt.Sprintf(`{"hasCompletedOnboarding": true, "customApiKeyResponses": {"approved": ["x"]},
		"projects": {%q: {"hasTrustDialogAccepted": true}}}`, l.Project)
	require.NoError(t, os.WriteFile(filepath.Join(l.Home, ".claude.json"), []byte(seed), 0o600))
	screen := openTerminal(t, l, "--permission-mode", "default", "clean up the build folder")
	card := r.asked(live.Command())
	require.Contains(t, card.Text, "From: Claude Code")
	screen.shows("asking the approval desk")
	r.tap(r.alice, r.group, card.ID, "Allow once")
	screen.shows("FINAL:")
	require.NoDirExists(t, filepath.Join(l.Project, "build"))
}

// The installed hook asks about the plan, too, with its text: what the person says is what the terminal goes by.
func TestAgents_T30_APlanThroughTheHook(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.agentHas = ", agentId: main" })
	l := installed(t, r, "claude-code")
	seed := fmt.Sprintf(`{"hasCompletedOnboarding": true, "customApiKeyResponses": {"approved": ["x"]},
		"projects": {%q: {"hasTrustDialogAccepted": true}}}`, l.Project)
	require.NoError(t, os.WriteFile(filepath.Join(l.Home, ".claude.json"), []byte(seed), 0o600))
	useTool(l, "ExitPlanMode", "", map[string]any{})
	l.Model.Saw = func(request []byte) {
		if name := planFile.Find(request); name != nil {
			require.NoError(t, os.MkdirAll(filepath.Dir(string(name)), 0o700))
			require.NoError(t, os.WriteFile(string(name), []byte("1. look at build\n2. delete all of it"), 0o600))
		}
	}
	screen := openTerminal(t, l, "--permission-mode", "plan", "clean up the build folder")
	card := r.asked("delete all of it")
	require.Contains(t, card.Text, "to go by its plan")
	r.tap(r.alice, r.group, card.ID, "Deny")
	screen.shows("FINAL:")
	require.Contains(t, strings.Join(l.Model.Read(), "\n"), "denied by alice")
}
