package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

func TestToolsThatAModelMayBeShown(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	sandboxed := &api.Context{Sandboxed: true}
	out, err := d.agent.Tools(ctx, api.ToolsRequest{Tools: []string{"read", "rm", "nobody-knows", "read", "exec"}, Context: sandboxed})
	require.NoError(t, err)
	require.Equal(t, api.Tools{Allowed: []string{"read", "nobody-knows", "exec"},
		Denied: []api.DeniedTool{{Tool: "rm", Reason: "The tool is denied (test)."}}}, out, "in order, each once")

	out, err = d.agent.Tools(ctx, api.ToolsRequest{Tools: []string{}, AgentID: "locked"})
	require.NoError(t, err)
	require.Equal(t, api.Tools{Allowed: []string{}, Denied: []api.DeniedTool{}}, out)
	out, err = d.bob.Tools(ctx, api.ToolsRequest{Tools: []string{"rm"}})
	require.NoError(t, err)
	require.Equal(t, []string{"rm"}, out.Allowed, "policy would deny each call; that is not said of the tool")

	locked := testTokens()
	locked[0].Caller.AgentID = "locked"
	require.NoError(t, d.srv.Tokens.Use(locked))
	out, err = d.agent.Tools(ctx, api.ToolsRequest{Tools: []string{"read"}, AgentID: "main"})
	require.NoError(t, err)
	require.Empty(t, out.Allowed, "the token's agent counts, whatever is said")
}

func TestToolsRefuses(t *testing.T) {
	d := newDesk(t)
	many := strings.Repeat(`"read",`, core.MaxTools) + `"read"`
	for body, field := range map[string]string{
		`{}`:                                     "tools",
		`{"tools":null}`:                         "tools",
		`{"tools":"read"}`:                       "tools",
		`{"tools":[` + many + `]}`:               "tools",
		`{"tools":["read","s3cret name"]}`:       "tools.1",
		`{"tools":["read",""]}`:                  "tools.1",
		`{"tools":["read"],"toolName":"exec"}`:   "toolName",
		`{"tools":["read"],"Context":{}}`:        "Context",
		`{"tools":["read"],"context":{"x":1}}`:   "context.x",
		`{"tools":["read"],"agentId":"a\u0000"}`: "agentId",
	} {
		p := d.do("POST", "/v1/tools", "agent", body)
		require.Equal(t, 422, p.StatusCode, "%s: %s", body, p.text)
		require.Contains(t, p.text, fmt.Sprintf(`"field":%q`, field))
		require.NotContains(t, p.text, "s3cret name")
	}
	require.Equal(t, 200, d.do("POST", "/v1/tools", "agent", `{"tools":[`+many[:len(many)-len(`,"read"`)]+`]}`).StatusCode)
	require.Equal(t, 403, d.do("POST", "/v1/tools", "auditor", `{"tools":[]}`).StatusCode)
	require.Equal(t, 401, d.do("POST", "/v1/tools", "", `{"tools":[]}`).StatusCode)

	off := d.rules
	off.Enabled = false
	d.gate.Use(off)
	require.Contains(t, d.do("POST", "/v1/tools", "agent", `{"tools":[]}`).text, string(approval.CodeApprovalsDisabled))
}

// An operator looks at what others would ask, from whatever chat.
func TestOperatorsEvaluateAnyOriginAndGroup(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	elsewhere := request("ask", `{}`, func(r *api.CreateRequest) {
		r.Origin = &api.Target{Channel: "telegram", To: "-100999", ThreadID: "5"}
		r.Context = &api.Context{Group: "any"}
	})
	_, err := d.agent.Evaluate(ctx, elsewhere)
	refusal(t, err, approval.CodeOriginNotAllowed)
	for _, c := range []*api.Client{d.alice, d.bob} {
		e, err := c.Evaluate(ctx, elsewhere)
		require.NoError(t, err)
		require.Equal(t, "ask", e.Outcome)
	}
	_, err = d.bob.Create(ctx, elsewhere, api.CreateOptions{})
	refusal(t, err, approval.CodeOriginNotAllowed)
}
