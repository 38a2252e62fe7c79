package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/workspace"
)

// An agent may have several workspaces: what lies in any of them is local.
func TestSeveralWorkspaces(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, func(c *Config) {
		c.Workspaces = map[string][]string{"main": {"/work/app", "/work/docs/", "/work/app"}}
	})
	in := func(dir, line string) approval.Judgement {
		return judge(e, callOf(t, "exec", map[string]any{"command": line, "workdir": dir}))
	}
	for _, dir := range []string{"/work/app", "/work/docs", "/work/app/sub", "sub"} {
		for _, line := range []string{"echo x > a.txt", "cat a.txt", "go test ./...", "echo x > /work/docs/a.txt", "cd /work/docs && touch a"} {
			require.Equal(t, approval.OutcomeAllow, in(dir, line).Outcome, "%s in %s", line, dir)
		}
	}
	for _, line := range []string{"git status", "git -C /work/docs commit -m x", "echo x > /work/app/a"} {
		require.Equal(t, approval.OutcomeAllow, in("/work/docs", line).Outcome, line)
		require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, line)).Outcome, line)
	}
	for name, j := range map[string]approval.Judgement{
		"another directory":     in("/work/other", "echo x > a.txt"),
		"their parent":          in("/work", "echo x > a.txt"),
		"a name that begins so": in("/work/app2", "echo x > a.txt"),
		"what lies between":     in("/work/app", "echo x > /work/a.txt"),
		"hooks of one":          in("/work/app", "echo x > /work/docs/.husky/pre-commit"),
		"git elsewhere":         in("/work", "git status"),
		"tests elsewhere":       in("/work", "go test ./..."),
		"the list on a host":    judge(e, callOf(t, "exec", map[string]any{"command": "touch a", "workdir": "/work/app", "host": "prod"})),
	} {
		require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s: %v", name, j.Assessment)
	}
	file := func(path string) approval.Outcome {
		return judge(e, callOf(t, "write", map[string]any{"path": path, "content": "x"})).Outcome
	}
	require.Equal(t, approval.OutcomeAllow, file("/work/docs/a.md"))
	require.Equal(t, approval.OutcomeAllow, file("a.md"))
	require.Equal(t, approval.OutcomeAsk, file("/work/a.md"))
	require.Equal(t, approval.OutcomeAsk, file("/work/docs/.github/workflows/x.yml"))
}

// A relative pattern of a rule counts from each workspace.
func TestRulesCountFromEachWorkspace(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		c.Workspaces = map[string][]string{"main": {"/work/app", "/work/docs"}}
		c.Rules = []Rule{
			{Name: "secrets", Match: Match{Path: []string{"plans/**"}}, Outcome: "deny"},
			{Name: "scratch", Match: Match{Tool: []string{"delete_file"}, Path: []string{"scratch/*"}}, Outcome: "allow"},
		}
	})
	outcome := func(tool, path string) approval.Outcome {
		return judge(e, callOf(t, tool, map[string]any{"path": path})).Outcome
	}
	for _, root := range []string{"/work/app/", "/work/docs/", ""} {
		require.Equal(t, approval.OutcomeDeny, outcome("read", root+"plans/a.md"), root)
		require.Equal(t, approval.OutcomeAllow, outcome("delete_file", root+"scratch/a"), root)
	}
	require.Equal(t, approval.OutcomeAllow, outcome("read", "/work/plans/a.md"))
	require.Equal(t, approval.OutcomeAsk, outcome("delete_file", "/work/scratch/a"))
}

// Where a call does not say in which of several workspaces it stands, it may stand in
// each: a file of the desk's in the second one is the desk's.
func TestAdversary_W13_NoDirectoryIsAnyWorkspace(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		c.Workspaces = map[string][]string{"main": {"/work/app", "/work/desk"}}
		c.Protected.Files = []string{"/work/desk/approvalbot.db"}
	})
	require.Equal(t, approval.R4, judge(e, lineCall(t, "cp approvalbot.db a")).Assessment.RiskClass)
	require.Equal(t, approval.R4, judge(e, callOf(t, "read", map[string]any{"path": "approvalbot.db"})).Assessment.RiskClass)
	require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, "cat main.go")).Outcome)
}

// A call's own directory is no workspace where the desk's files lie in it, nor where
// only its letter case makes another name of a directory that is none.
func TestAdversary_W13_TheDesksOwnDirectoryIsNoWorkspace(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, func(c *Config) {
		c.Workspaces = nil
		c.Protected.Files = []string{"/srv/desk/etc/approvalbot.yaml"}
	})
	in := func(dir string) approval.Outcome {
		return judge(e, callOf(t, "exec", map[string]any{"command": "echo x > a.txt", "workdir": dir})).Outcome
	}
	for _, dir := range []string{"/srv/desk", "/srv/desk/etc", "/srv/Desk/ETC", "/HOME/u", "/users/u", "/Etc/x", "/applications/x", "/TMP", "/uſr/x"} {
		require.Equal(t, approval.OutcomeAsk, in(dir), dir)
	}
	require.Equal(t, approval.OutcomeAllow, in("/srv/app"))
	require.True(t, workspace.PlainDirectory("/srv/app"))
	require.False(t, workspace.PlainDirectory("/home/u"))
}
