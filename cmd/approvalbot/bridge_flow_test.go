package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// atServer asks for a call of a server's tool.
func (r *rig) atServer(c *api.Client, tool, params string, said api.Tool) api.Approval {
	r.t.Helper()
	a, err := c.Create(r.ctx(), api.CreateRequest{ToolName: tool, Params: []byte(params), AgentID: "main", Context: &api.Context{Tool: &said}}, api.CreateOptions{})
	require.NoError(r.t, err)
	return a
}

func declares(readOnly, openWorld bool) *api.ToolHints {
	return &api.ToolHints{ReadOnly: &readOnly, OpenWorld: &openWorld}
}

// A bridge that the operator trusts may say which well-known server a tool is of, and
// what its server declares.
func TestFlow_ATrustedBridge(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.agentHas = ", trustToolHints: true" })
	github := api.Tool{Server: "github", Description: "List issues", Schema: []byte(`{"type":"object"}`), Hints: declares(true, true)}
	const issues = `{"owner":"golang","repo":"go"}`

	a := r.atServer(r.agent(), "mcp__github__list_issues", issues, github)
	require.EqualValues(t, "approved", a.Status)
	require.Equal(t, "R2", a.RiskClass)
	require.EqualValues(t, "approved", r.atServer(r.agent(), "glance", `{"day":"today"}`, api.Tool{Server: "acme", Hints: declares(true, false)}).Status)
	e, err := r.agent().Evaluate(r.ctx(), api.CreateRequest{ToolName: "mcp__github__list_issues", Params: []byte(issues), Context: &api.Context{Tool: &github}})
	require.NoError(t, err)
	require.Equal(t, "allow", e.Outcome)

	asked := r.atServer(r.agent(), "mcp__filesystem__read_file", `{"path":"/home/u/.ssh/id_rsa"}`, api.Tool{Server: "filesystem", Description: "Reads a file"})
	require.EqualValues(t, "pending", asked.Status)
	require.Contains(t, asked.ReasonCodes, "reads-secret")
	require.Contains(t, r.card(asked).Text, "The tool, as told by agent: filesystem: Reads a file")

	a = r.atServer(r.agent(), "mcp__github__create_issue", `{"owner":"a","repo":"b","title":"t"}`, github)
	again := r.atServer(r.agent(), "mcp__github__create_issue", `{"owner":"a","repo":"b","title":"t"}`, api.Tool{})
	require.Equal(t, a.ArgsFingerprint, again.ArgsFingerprint, "what is said of a tool is no part of what runs")
}

// Whoever the operator does not trust lowers nothing, whatever it says and whoever
// it says it is.
func TestAdversary_H5_ACallerThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.tokens = "    - {name: bridge, token: bridge-secret-0123456, scopes: [approvals.request], trustToolHints: true}\n"
	})
	github := api.Tool{Server: "github", Hints: declares(true, false)}
	for _, c := range []*api.Client{r.agent(), r.client(secondSecret)} {
		for _, tool := range []string{"mcp__github__list_issues", "glance", "mcp__filesystem__read_file"} {
			a := r.atServer(c, tool, `{"path":"a.go"}`, github)
			require.EqualValues(t, "pending", a.Status, tool)
			require.Equal(t, "R3", a.RiskClass, tool)
			require.Contains(t, a.ReasonCodes, "unknown-tool", tool)
		}
	}
	_, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "x", Params: []byte(`{}`), Context: &api.Context{Tool: &api.Tool{
		Server: strings.Repeat("x", 300), Schema: []byte(`[]`), Description: strings.Repeat("x", 4001)}}}, api.CreateOptions{})
	requireProblem(t, err, "invalid_request")
	for _, field := range []string{"context.tool.server", "context.tool.schema", "context.tool.description"} {
		require.ErrorContains(t, err, field)
	}
}

// A trust that is taken back by a reload counts at once, also for what waits.
func TestAdversary_H5_TrustTakenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.agentHas = ", trustToolHints: true" })
	glance := api.Tool{Server: "acme", Hints: declares(true, false)}
	require.EqualValues(t, "approved", r.atServer(r.agent(), "glance", `{"n":1}`, glance).Status)
	r.agentHas = ""
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "approvalbot.yaml"), []byte(r.yaml()), 0o600))
	_, err := r.operator().Reload(r.ctx())
	require.NoError(t, err)
	require.EqualValues(t, "pending", r.atServer(r.agent(), "glance", `{"n":1}`, glance).Status)
}
