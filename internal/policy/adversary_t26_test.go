package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// typable are lines that are allowed where nobody can type, and start a program that takes
// commands from a terminal.
var typable = []string{
	"less README.md", "more README.md", "less -N a b", "bat a.go", "journalctl -u x", "journalctl --help", "systemctl status x", "systemctl --help",
	"systemctl", "loginctl list-sessions", "timedatectl list-timezones", "networkctl status", "nmcli device", "dmesg -H", "apt list", "apt show jq", "dpkg -l",
	"git commit", "git commit -a", "git commit -m x -e", "git commit -m x -p", "git add -p", "git stash -p", "git tag -a v1", "git log --help", "git -C sub commit",
	"ls && less a", "(less a)", "ls | less", "cat a | more", "bash -c 'less a'", "env less a", "timeout 5 less a", "git commit | cat", "systemctl status is-active", "less a | tee b",
	"git -C add commit",
}

// TestAdversary_T26_TypedCommands: what takes commands from a terminal is no reading where the
// call may have one, and neither a list nor a rule covers it.
func TestAdversary_T26_TypedCommands(t *testing.T) {
	t.Parallel()
	e, listed := engine(t, shipped), engine(t, shipped, func(c *Config) {
		c.ExecAllowlist = []string{"journalctl", "systemctl", "git commit", "bat"}
		c.Rules = []Rule{{Name: "a", Match: Match{Command: []string{"journalctl *", "apt *"}}, Outcome: "allow"}}
	})
	for _, line := range typable {
		c := lineCall(t, line)
		plain := judge(e, c)
		c.Context.Terminal = approval.TerminalPossible
		for _, e := range []*Engine{e, listed} {
			j := judge(e, c)
			require.Equal(t, approval.OutcomeAsk, j.Outcome, line)
			require.Contains(t, j.Assessment.ReasonCodes, "takes-typing", line)
			require.Empty(t, j.GrantScope.Subject+j.GrantScope.Program+j.GrantScope.Always, line)
			require.GreaterOrEqual(t, j.Assessment.RiskClass, plain.Assessment.RiskClass, line)
		}
	}
	for _, line := range []string{"less README.md", "journalctl -u x", "systemctl status x", "git log", "git add -p", "bat a"} {
		require.Equal(t, approval.OutcomeAllow, outcomeOf(e, lineCall(t, line)), "nobody can type: %s", line)
	}
	for _, line := range []string{ // what nothing can be typed into, or prints no page
		"ls -la", "cat README.md", "git log", "git diff", "git status", "git add a.go", "git commit -m x", "git commit -am x", "git stash", "git checkout -b x", "git tag v1", "git branch",
		"grep x a", "go test ./...", "npm test", "journalctl --no-pager -u x", "journalctl -u x | tail -5", "systemctl --no-pager status x", "systemctl is-active x", "bat -P a", "journalctl --version",
		"bash -c 'git log'", "python3 -m pytest", "dmesg | tail", "dpkg -l | grep x",
	} {
		c := lineCall(t, line)
		c.Context.Terminal = approval.TerminalPossible
		j := judge(e, c)
		require.Equal(t, approval.OutcomeAllow, j.Outcome, "%s: %v", line, j.Assessment.ReasonCodes)
	}
	for _, line := range []string{"python3", "bash", "ssh h", "psql", "gdb a", "vim a", "sqlite3 a.db", "tmux", "node", "man ls", "script"} { // and people are told
		c := lineCall(t, line)
		c.Context.Terminal = approval.TerminalPossible
		j := judge(e, c)
		require.Contains(t, j.Assessment.ReasonCodes, "takes-typing", line)
		require.Contains(t, j.Why, "It starts a program that takes commands from its terminal, and what is typed there later is not shown here.", line)
	}
}

// TestAdversary_T26_ATerminalAsks: a call that says that it has a terminal asks, whatever runs
// in it: any program that reads its input can be typed into.
func TestAdversary_T26_ATerminalAsks(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, func(c *Config) {
		c.ExecAllowlist = []string{"frobx"}
		c.Rules = []Rule{{Name: "a", Match: Match{Command: []string{"frobx *"}}, Outcome: "allow"}}
	})
	for _, line := range []string{"ls", "cat a", "git log", "frobx", "less a", "npm test"} {
		for _, key := range []string{"tty", "pty", "use_pty", "interactive", "isInteractive"} {
			c := callOf(t, "exec_command", map[string]any{"cmd": line, key: true})
			j := judge(e, c)
			require.Equal(t, approval.OutcomeAsk, j.Outcome, "%s %s", key, line)
			require.Contains(t, j.Assessment.ReasonCodes, "opens-terminal", "%s %s", key, line)
			require.Empty(t, j.GrantScope.Subject+j.GrantScope.Program+j.GrantScope.Always, line)
			require.Equal(t, approval.OutcomeAllow, outcomeOf(e, callOf(t, "exec_command", map[string]any{"cmd": line, key: false})), "%s %s", key, line)
			require.Equal(t, approval.OutcomeAsk, outcomeOf(e, callOf(t, "exec_command", map[string]any{"cmd": line, key: "yes"})), "%s %s", key, line)
		}
		for _, terminal := range []string{approval.TerminalOpen, "?"} {
			c := lineCall(t, line)
			c.Context.Terminal = terminal
			require.Contains(t, judge(e, c).Assessment.ReasonCodes, "opens-terminal", line)
			require.Equal(t, approval.OutcomeAsk, outcomeOf(e, c), line)
		}
	}
}

// TestAdversary_T26_TypingAsks: typing into a program that runs asks each time, also where
// calls of its class pass.
func TestAdversary_T26_TypingAsks(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, func(c *Config) {
		c.RequireApprovalAtOrAbove, c.Rules = new(approval.R4), []Rule{{Name: "a", Match: Match{Tool: []string{"write_stdin", "process"}}, Risk: new(approval.R0)}}
	})
	for tool, params := range map[string]map[string]any{
		"write_stdin": {"session_id": 1, "chars": "ls\n"}, "write_bash": {"sessionId": "1", "input": "ls"}, "process": {"action": "write", "sessionId": "1", "data": "y"},
		"send_keys": {"keys": "ls"}, "send_input": {"id": "x"},
	} {
		c := callOf(t, tool, params)
		c.SessionKey = "s"
		j := judge(e, c)
		require.Equal(t, approval.OutcomeAsk, j.Outcome, tool)
		require.Equal(t, []approval.Decision{approval.AllowOnce, approval.Deny}, j.Offers, tool)
		require.True(t, j.Rule.RequiresHuman, tool)
	}
}
