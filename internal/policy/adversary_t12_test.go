package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// byPath are lines in which a program is named by a path that the operator did not name.
var byPath = []string{
	"./bash -lc ls", "/tmp/sh -c ls", "~/sh -c ls", "/opt/tools/../../bin/sh -c id", "/opt/tools/bash -c 'frobx a'", "./bash -c 'frobx a'",
	"bin/env frobx", "./timeout 5 ls", "./timeout 5 frobx", "echo x | ./xargs frobx", "./xargs frobx", "sudo ./bash -c ls", "env ./bash -c ls",
	"command ./bash -c ls", "nohup ./sh -c frobx", "ls && ./bash -c ls", "frobx a | ./sh -c 'frobx b'", "bash -c './bash -c ls'",
	"/opt/tools/./frobx a", "/opt/tools//frobx a", "./frobx a", "sub/frobx", "../frobx", "~/frobx", "/tmp/frobx", "./wc -l",
	"Bash -c 'frobx a'", "bash.exe -c 'frobx a'", "/bin//sh -c 'frobx a'", "/usr/bin/../bin/sh -c 'frobx a'",
}

// TestAdversary_T12_AProgramByItsPathIsNotCovered: an allowlist, safeBins, a rule that allows
// and askFallback mean the program of that name, which the system finds, and no file that
// an agent has put somewhere under that name.
func TestAdversary_T12_AProgramByItsPathIsNotCovered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"allowlist": func(c *Config) { c.ExecAllowlist = []string{"frobx", "/opt/tools/frobx"} },
		"safeBins":  func(c *Config) { c.ExecSafeBins = []string{"wc", "frobx"} },
		"rule": func(c *Config) {
			c.Rules = []Rule{{Name: "a", Match: Match{Command: []string{"frobx *", "/opt/tools/frobx"}}, Outcome: "allow"}}
		},
		"lower": func(c *Config) {
			c.Rules = []Rule{{Name: "a", Match: Match{Command: []string{"frobx *"}}, Risk: new(approval.R0)}}
		},
		"fallback": func(c *Config) { c.ExecAllowlist, c.ExecAskFallback = []string{"frobx"}, "allowlist" },
	} {
		e := engine(t, change)
		for _, line := range byPath {
			j := judge(e, lineCall(t, line))
			require.Equal(t, approval.OutcomeAsk, j.Outcome, "%s: %s", name, line)
			require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3, line)
			require.Zero(t, j.Unreached, "%s: %s", name, line)
			require.Empty(t, j.GrantScope.Subject+j.GrantScope.Program, "%s: %s", name, line)
			require.True(t, j.GrantScope.Always == "" || !strings.Contains(line, "/"), "%s: %s", name, line)
		}
	}
	e := engine(t, func(c *Config) { c.ExecAllowlist = []string{"frobx", "/opt/tools/frobx"} })
	for _, line := range []string{"frobx a", "/opt/tools/frobx a", "bash -lc 'frobx a'", "/bin/sh -c 'frobx a'", "/usr/bin/bash -c '/opt/tools/frobx'"} {
		require.Equal(t, approval.OutcomeAllow, outcomeOf(e, lineCall(t, line)), line)
	}
}

// TestAdversary_T12_SafeBinsAreSafe: the start refuses what the table knows to do more than
// filter its input.
func TestAdversary_T12_SafeBinsAreSafe(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sort", "grep", "egrep", "rg", "jq", "yq", "less", "more", "man", "bat", "find", "fd", "sed", "awk", "tar", "diff", "tee", "cp", "dd", "curl", "wget", "kill", "git",
		"docker", "make", "npm", "psql", "sqlite3", "env", "printenv", "xargs", "rm", "mkdir", "touch", "vim", "top", "watch", "journalctl", "patch"} {
		cfg := desked()
		cfg.ExecSafeBins = []string{name}
		_, err := New(cfg)
		require.ErrorContains(t, err, "exec.safeBins: "+name, name)
		require.ErrorContains(t, err, "take it out", name)
	}
	bins := []string{"wc", "tr", "head", "tail", "cut", "uniq", "cat", "date", "frobx", "xxd", "shuf"}
	e := engine(t, func(c *Config) { c.ExecSafeBins = bins })
	for _, line := range []string{"uniq 1 2", "xxd 1 2", "shuf -oMakefile", "shuf -o 1", "frobx -oMakefile", "frobx -f.env", "frobx -la", "frobx -o Makefile", "frobx --out=x", "frobx -", "frobx x", "frobx *", "frobx $X"} {
		require.Equal(t, approval.OutcomeAsk, outcomeOf(e, lineCall(t, line)), line)
	}
	for _, line := range []string{"frobx", "frobx -l", "frobx -n 5", "frobx -n5", "frobx --long 20", "frobx -20", "cat x | frobx -w 20 | wc -l"} {
		require.Equal(t, approval.OutcomeAllow, outcomeOf(e, lineCall(t, line)), line)
	}
}
