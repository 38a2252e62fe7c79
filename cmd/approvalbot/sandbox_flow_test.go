package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
)

// The commands of an agent that the operator vouches for run unasked where its own
// token asks. Whoever merely says that it is this agent is asked about as ever.
func TestFlow_ASandboxIsTheOperatorsWord(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.agentHas = ", agentId: main"
		r.top = "agents: {list: [{id: main, workspace: [/work/a, /work/b], sandboxed: true}]}\n"
	})
	frob := api.CreateRequest{ToolName: "exec", Params: []byte(`{"command":"frobnicate --now","workdir":"/work/b"}`), AgentID: "main"}
	a, err := r.agent().Create(r.ctx(), frob, api.CreateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, "approved", a.Status, a.ReasonCodes)
	require.Equal(t, []string{"R2"}, []string{a.RiskClass})
	require.Contains(t, a.ReasonCodes, "sandboxed")
	_, err = r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	require.NoError(t, err)

	claimed, err := r.client(secondSecret).Create(r.ctx(), frob, api.CreateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, "pending", claimed.Status, "what a call says of its agent loosens nothing")
	require.Equal(t, "R3", claimed.RiskClass)

	waits, err := r.agent().Create(r.ctx(), frob, api.CreateOptions{})
	require.NoError(t, err)
	r.top = "agents: {list: [{id: main, workspace: [/work/a, /work/b]}]}\n"
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(r.yaml()), 0o600))
	got, err := r.operator().Reload(r.ctx())
	require.NoError(t, err)
	require.Empty(t, got.Looser)
	_, err = r.agent().Claim(r.ctx(), waits.ID, api.ClaimRequest{})
	requireProblem(t, err, "not_claimable")
}

// An operator's evaluate shows what would be for the agent that it names.
func TestEvaluateInASandbox(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.agentHas = ", agentId: main"
		r.top = "agents: {list: [{id: main, sandboxed: true}]}\n"
		r.tools = "    classifier: {enabled: false}\n"
	})
	outcome := func(c *api.Client, agent string) string {
		e, err := c.Evaluate(r.ctx(), api.CreateRequest{ToolName: "exec", Params: []byte(`{"command":"frobnicate"}`), AgentID: agent})
		require.NoError(t, err)
		return e.Outcome
	}
	require.Equal(t, "allow", outcome(r.operator(), "main"))
	require.Equal(t, "ask", outcome(r.operator(), "other"))
	require.Equal(t, "allow", outcome(r.agent(), "other"), "the token says which agent it is")
	require.Equal(t, "ask", outcome(r.client(secondSecret), "main"))
}

// What is loosened by a reload is told: sandboxes, project code, further directories.
func TestLooserAgents(t *testing.T) {
	t.Parallel()
	with := func(agents, code string) config.Config {
		cfg, _ := loadText(t, fmt.Sprintf("agents: {list: %s}\napprovals: {tools: {enabled: true, policy: {projectCode: %s}}}\n", agents, code))
		return cfg
	}
	before := with("[{id: a, workspace: /a}, {id: b}, {id: c, workspace: /c}]", "ask")
	after := with("[{id: a, workspace: [/a, /x]}, {id: b, sandboxed: true}, {id: c}]", "allow")
	require.Equal(t, []string{"tests and builds run the workspace's own code unasked", "more directories are local to agent a",
		"commands of agent b count as confined", "a call's own workdir may be local to agent c"}, effective.Looser(before, after))
	require.Empty(t, effective.Looser(after, with("[{id: a, workspace: /x}, {id: b}, {id: c}]", "ask")))
}

// What config check says of workspaces, sandboxes and project code.
func TestConfigCheckSaysWhatIsLocal(t *testing.T) {
	t.Parallel()
	text := `server: {tokens: [{name: m, token: 0123456789abcdef, scopes: [approvals.request], agentId: main}]}
agents:
  list:
    - {id: main, workspace: [/work/a, /work/b], sandboxed: true}
    - {id: loose, workspace: /home/u/.config, sandboxed: true}
    - {id: none}
approvals: {tools: {enabled: true}}
`
	_, warnings := loadText(t, text)
	require.Contains(t, warnings, "f.yaml:5: agents.list[1].sandboxed: has no effect, because no token has this "+
		"agentId; an agent id that a call itself gives never loosens policy")
	require.Contains(t, warnings, "f.yaml:5: agents.list[1].workspace: is not a plain project directory (it is a home, or belongs to the system, or holds settings or programs): the agent may change files in it unasked")
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	got := verb(t, "config", "check", file).out
	out := strings.Join(strings.Fields(got), " ")
	require.Contains(t, out, "What is local to agents: main /work/a, /work/b; its commands count as confined (sandboxed): unknown ones and the project's code are R2")
	require.Contains(t, out, "none a call's workdir if it is a plain project directory")
	require.Contains(t, out, "Project code: tests and builds of the workspace run unasked, with any code in them (projectCode: allow)")
}
