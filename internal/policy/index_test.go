package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// The index of rules finds the rule that asking every one of them would find.
func TestTheIndexMissesNoRule(t *testing.T) {
	t.Parallel()
	var rules []Rule
	for i, m := range []Match{
		{Command: []string{"git push"}}, {Command: []string{"rm", "curl *"}}, {Command: []string{"*sh -c *"}}, {Tool: []string{"group:fs"}}, {Tool: []string{"exec"}, Command: []string{"docker"}}, {Tool: []string{"Web_Fetch"}},
		{Tool: []string{"jira__*"}}, {Agent: []string{"main"}, Path: []string{"/etc/**"}}, {Host: []string{"*.org"}}, {Session: []string{"s1"}}, {Session: []string{"s*"}}, {Path: []string{"src/**"}}, {Tool: []string{"jira__Create"}}, {Tool: []string{"*"}, Agent: []string{"other"}},
		{Command: []string{"/opt/x/frob"}},
	} {
		rules = append(rules, Rule{Name: fmt.Sprintf("r%d", i), Match: m, Outcome: "deny"})
	}
	var calls []approval.Call
	for _, line := range []string{"git push", "ls", "sudo git push", "frob git push", "frob -c 'x; git push'", "$X", "'", "sh -c 'curl x'", "/bin/rm x", "RM x", "docker ps", "./docker ps", "cat /etc/passwd", "curl https://a.org", "cat src/a", "watch -n 1 curl x", "frob", "eval $X"} {
		calls = append(calls, lineCall(t, line))
	}
	for _, r := range destructiveLines {
		calls = append(calls, lineCall(t, r.input))
	}
	for _, tool := range []string{"read", "webfetch", "Bash", "jira__create", "jira__Create", "JIRA__x", "think", "message"} {
		c := callOf(t, tool, map[string]any{"path": "src/x", "url": "https://x.org", "command": "git push"})
		other := c
		other.AgentID, other.SessionKey = "other", "s1"
		calls = append(calls, c, other)
	}
	for from := range rules {
		e := engine(t, func(c *Config) { c.Rules = rules[from:] })
		for _, c := range calls {
			j := e.read(t.Context(), c)
			want := ""
			for i := range e.rules {
				if e.matches(&e.rules[i], j) {
					want = e.rules[i].name
					break
				}
			}
			got := ""
			for _, code := range judge(e, c).Assessment.ReasonCodes {
				if name, ok := strings.CutPrefix(code, "rule:"); ok {
					got = name
				}
			}
			require.Equal(t, want, got, "%s %s", c.ToolName, c.Params)
		}
	}
}

// Settings of the shell that an earlier command could leave behind do not slip
// under a permission.
func TestNothingBeforeAPermittedCommandChangesIt(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		c.ExecAllowlist = []string{"frob"}
		c.Rules = []Rule{{Name: "r", Match: Match{Command: []string{"frob *"}}, Outcome: "allow"}}
	})
	for _, before := range []string{"alias frob=evil", "hash -p /tmp/evil frob", "printf -v PATH /tmp", "read PATH", "export PATH=/tmp", "PATH=/tmp", "declare PATH=/tmp", "enable -f /tmp/x frob", "set -a", "shopt -s expand_aliases", "source x",
		": ${PATH:=/tmp}", "unset PATH", "trap evil EXIT", "cd /tmp", "cd ..", "cd $X", "pushd /tmp", "ln -s /tmp/evil frob", "eval x", "exec 3<x", "getopts a PATH", "mapfile PATH", "let PATH=1", "((PATH=1))", "command -p x", "umask 000", "ulimit -n 1",
		"function frob { evil; }", "typeset -x A=1", "local x=1", "readonly PATH", "coproc evil", "select x in a; do evil; done", "BASH_ENV=/tmp/x", "env", "printenv"} {
		for _, sep := range []string{"; ", " && ", "\n"} {
			require.Equal(t, approval.OutcomeAsk, outcomeOf(e, lineCall(t, before+sep+"frob x")), before+sep)
		}
	}
}
