package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// What a tool of R3 and above acts on is there and of its type, or the call is refused.
// A member that the desk does not know may stand for it, so such a call asks.
func TestMalformedCallsOfRiskyToolsAreDenied(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, c := range []struct {
		tool, want string
		params     []string
	}{
		{"rm", "deny", []string{`{}`, `{"path":null}`, `{"path":""}`, `{"path":5}`, `{"path":true}`, `{"path":{"a":"b"}}`, `{"path":{}}`, `{"path":[]}`, `{"paths":["a",null]}`,
			`{"paths":["a",7]}`, `{"path":null,"frob":1}`, `{"path":"a","file":3}`, `{"reason":"tidy"}`}},
		{"rm", "ask", []string{`{"path":"a.go"}`, `{"paths":["a","b"]}`, `{"files":[{"path":"a","reason":"b"}]}`, `{"dir":"old"}`, `{"path":"a.go","frob":1}`, `{"victim":"a.go"}`, `{"path":null,"file":"a"}`, `{"path":"a","paths":null}`}},
		{"delete_file", "deny", []string{`{"target_file":null}`, `{"targetFile":["a",false]}`}},
		{"payment", "deny", []string{`{}`, `{"amount":null}`, `{"amount":true,"to":"bob"}`, `{"amount":"lots"}`, `{"amount":[]}`, `{"to":"bob","amount":null}`}},
		{"payment", "ask", []string{`{"amount":1}`, `{"amount":"10.00","to":"bob"}`, `{"amount":-1.5}`, `{"amount":{"value":"10","currency":"EUR"}}`, `{"amount":10,"metadata":{"value":"x"}}`, `{"invoice":"7"}`}},
		{"refund", "ask", []string{`{"chargeId":"ch_1"}`}},
		{"send_email", "deny", []string{`{}`, `{"body":5,"to":"bob"}`, `{"to":"bob","text":null}`, `{"text":false}`}},
		{"send_email", "ask", []string{`{"to":"bob","body":"hi"}`, `{"to":"bob"}`, `{"to":42,"text":"hi"}`, `{"content":[{"type":"text","text":"hi"}]}`, `{"action":"react","emoji":"x"}`, `{"subject":"x","attachments":["a"]}`}},
		{"execute_sql", "deny", []string{`{}`, `{"query":7}`, `{"sql":null}`}},
		{"execute_sql", "ask", []string{`{"query":"select 1"}`, `{"query":{"a":1}}`, `{"table":"x"}`}},
		{"bash", "deny", []string{`{}`, `{"command":null}`, `{"command":5}`, `{"command":[]}`, `{"command":["ls",3]}`, `{"description":"list","timeout":5}`, `{"command":{"a":"ls"}}`}},
		{"bash", "ask", []string{`{"restart":true}`, `{"command":"frobnicate"}`, `{"command":"ls","args":["x"]}`, `{"input":"ls"}`}},
		{"shell", "allow", []string{`{"command":["echo",""]}`}},
		{"cron", "deny", []string{`{}`, `{"action":5}`, `{"action":["list"]}`, `{"action":null,"x":1}`, `{"jobId":"7"}`}},
		{"cron", "ask", []string{`{"action":"add"}`, `{"job":{}, "frob":1}`}},
		{"cron", "allow", []string{`{"action":"list"}`}},
		{"write_stdin", "deny", []string{`{}`, `{"chars":null}`}},
		{"sessions_spawn", "allow", []string{`{"task":"x","sandbox":"require"}`}},
		{"EnterWorktree", "allow", []string{`{}`}},
		{"write", "ask", []string{`{"path":null}`, `{}`}},
		{"frobnicate", "ask", []string{`{}`, `{"path":null}`}},
		{"mcp__x__delete_file", "ask", []string{`{}`, `{"path":null}`}},
	} {
		for _, params := range c.params {
			j := judge(e, approval.Call{ToolName: c.tool, Params: json.RawMessage(params), AgentID: "main"})
			require.Equal(t, c.want, j.Outcome.String(), "%s %s: %v", c.tool, params, j.Assessment.ReasonCodes)
			denied := c.want == "deny"
			require.Equal(t, denied, slices.Contains(j.Assessment.ReasonCodes, "malformed-denied"), "%s %s", c.tool, params)
			if denied {
				require.Contains(t, j.Assessment.ReasonCodes, "malformed-call")
				require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3)
				require.True(t, strings.HasSuffix(j.Reason, "send them as the tool takes them."), j.Reason)
			}
		}
	}
}

// No rule, mode or class gets around it, but for mode off, which leaves the hard layers.
func TestNothingAllowsAMalformedCall(t *testing.T) {
	t.Parallel()
	call := approval.Call{ToolName: "rm", Params: json.RawMessage(`{"path":null}`), AgentID: "main"}
	allow := func(c *Config) {
		c.Rules = []Rule{{Name: "rm", Match: Match{Tool: []string{"rm"}}, Outcome: "allow"}}
	}
	require.Equal(t, approval.OutcomeDeny, outcome(t, call, allow))
	require.Equal(t, approval.OutcomeDeny, outcome(t, call, func(c *Config) { c.Mode = "always" }))
	require.Equal(t, approval.OutcomeDeny, outcome(t, call, func(c *Config) { c.RequireApprovalAtOrAbove = new(approval.R4) }))
	require.Equal(t, approval.OutcomeAllow, outcome(t, call, func(c *Config) { c.Mode = "off" }))
	e := engine(t, func(c *Config) { c.Classifier.Enabled = true })
	sure := approval.Opinion{Assessment: approval.Assessment{RiskClass: approval.R0, Confidence: 1}}
	require.False(t, judge(e, call).Unsure)
	require.Equal(t, approval.OutcomeDeny, e.JudgeWith(t.Context(), call, sure).Outcome)
}
