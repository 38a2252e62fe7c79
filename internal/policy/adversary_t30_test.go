package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestAdversary_T30_APlanIsAPersonsToApprove: a call that ends planning asks a person each
// time, whatever threshold, factor or class would let it pass, and its plan is shown as text.
func TestAdversary_T30_APlanIsAPersonsToApprove(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"shipped": func(*Config) {},
		"R4": func(c *Config) {
			c.RequireApprovalAtOrAbove, c.RequireHumanApproverAtOrAbove = new(approval.R4), new(approval.R4)
		},
		"rule": func(c *Config) {
			c.Rules = []Rule{{Name: "a", Match: Match{Tool: []string{"ExitPlanMode"}}, Risk: new(approval.R0)}}
		},
		"approve": func(c *Config) {
			c.Rules = []Rule{{Name: "a", Match: Match{Tool: []string{"ExitPlanMode"}}, Approve: true}}
		},
	} {
		e := engine(t, shipped, change)
		for _, tool := range []string{"ExitPlanMode", "exit_plan_mode", "plan_exit"} {
			for _, params := range []map[string]any{{}, {"plan": "1. delete it\n2. see https://x.org"}, {"plan": "x", "planFilePath": "/home/u/.claude/plans/x.md"}} {
				c := callOf(t, tool, params)
				c.SessionKey = "s"
				j := judge(e, c)
				require.Equal(t, approval.OutcomeAsk, j.Outcome, "%s: %s", name, tool)
				require.Contains(t, j.Assessment.ReasonCodes, "approves-plan", name)
				require.True(t, j.Rule.RequiresHuman, name)
				require.Equal(t, []approval.Decision{approval.AllowOnce, approval.Deny}, j.Offers, name)
				require.Equal(t, approval.FormPlan, j.Form, name)
			}
		}
	}
	e := engine(t, shipped)
	for _, tool := range []string{"EnterPlanMode", "update_plan", "TodoWrite", "plan_enter", "create_plan"} {
		require.Equal(t, approval.OutcomeAllow, outcomeOf(e, callOf(t, tool, map[string]any{"plan": "x"})), tool)
	}
}
