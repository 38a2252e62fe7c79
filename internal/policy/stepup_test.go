package policy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// From the class on that the operator names, or by a rule, or for an agent, a person's
// yes must be signed: the strictest counts.
func TestStepUp(t *testing.T) {
	t.Parallel()
	rule := Rule{Name: "deploys", Match: Match{Tool: []string{"deploy"}}, Outcome: "ask", StepUp: true}
	lower := Rule{Name: "calm", Match: Match{Tool: []string{"notes"}}, Risk: new(approval.R1), StepUp: true}
	e, err := New(Config{Enabled: true, StepUpAtOrAbove: new(approval.R4), Rules: []Rule{rule, lower},
		Layers: Layers{Agents: map[string]AgentLayer{"careful": {StepUpAtOrAbove: new(approval.R0)}}}})
	require.NoError(t, err)
	for _, c := range []struct {
		call approval.Call
		want bool
		ask  bool
	}{
		{approval.Call{ToolName: "exec", Params: json.RawMessage(`{"command":"rm -rf /"}`)}, true, true},
		{approval.Call{ToolName: "exec", Params: json.RawMessage(`{"command":"git push"}`)}, false, true},
		{approval.Call{ToolName: "deploy", Params: json.RawMessage(`{}`)}, true, true},
		{approval.Call{ToolName: "notes", Params: json.RawMessage(`{}`)}, true, true},
		{approval.Call{ToolName: "exec", Params: json.RawMessage(`{"command":"git push"}`), AgentID: "careful"}, true, true},
	} {
		j := e.Judge(t.Context(), c.call)
		require.Equal(t, c.want, j.Rule.StepUp, "%s %s: %v", c.call.ToolName, c.call.Params, j.Why)
		require.Equal(t, c.ask, j.Outcome == approval.OutcomeAsk, c.call.ToolName)
		require.True(t, !c.want || j.Rule.RequiresHuman)
	}
	for name, bad := range map[string]Rule{
		"allowed": {Name: "a", Match: Match{Tool: []string{"deploy"}}, Outcome: "allow", StepUp: true},
		"denied":  {Name: "a", Match: Match{Tool: []string{"deploy"}}, Outcome: "deny", StepUp: true},
	} {
		_, err := New(Config{Enabled: true, Rules: []Rule{bad}})
		require.ErrorContains(t, err, "stepUp have no effect", name)
	}
	other, err := New(Config{Enabled: true, Rules: []Rule{rule, lower}})
	require.NoError(t, err)
	require.NotEqual(t, e.Hash(), other.Hash())
}

// From the class on whose yes must be signed, a call is asked, though its class alone would
// run it unasked; only what a rule allows in so many words runs.
func TestAdversary_N4_AClassToSignIsAsked(t *testing.T) {
	t.Parallel()
	allowed := Rule{Name: "deploys", Match: Match{Tool: []string{"deploy"}}, Outcome: "allow"}
	e, err := New(Config{Enabled: true, StepUpAtOrAbove: new(approval.R1), Rules: []Rule{allowed},
		Layers: Layers{Agents: map[string]AgentLayer{"careful": {StepUpAtOrAbove: new(approval.R0)}}}})
	require.NoError(t, err)
	for _, c := range []struct {
		tool, agent string
		want        approval.Outcome
	}{
		{"read", "", approval.OutcomeAllow}, {"read", "careful", approval.OutcomeAsk},
		{"deploy", "", approval.OutcomeAllow}, {"deploy2", "", approval.OutcomeAsk},
	} {
		j := e.Judge(t.Context(), approval.Call{ToolName: c.tool, AgentID: c.agent, Params: []byte(`{"path":"x"}`)})
		require.Equal(t, c.want, j.Outcome, "%s %s: %v", c.tool, c.agent, j.Why)
	}
	require.Equal(t, approval.OutcomeAllow, e.OutcomeFor(approval.R0))
	require.Equal(t, approval.OutcomeAsk, e.OutcomeFor(approval.R1))
}
