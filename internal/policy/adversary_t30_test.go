package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// TestAdversary_T30_APlanIsAPersonsToApprove: a call that ends planning asks a person each
// time, whatever threshold, factor or class would let it pass, and its plan is shown as text.
func TestAdversary_T30_APlanIsAPersonsToApprove(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"shipped": func(*Config) {},
		"R4": func(c *Config) {
			c.RequireApprovalAtOrAbove, c.RequireHumanApproverAtOrAbove = new(core.R4), new(core.R4)
		},
		"rule": func(c *Config) {
			c.Rules = []Rule{{Name: "a", Match: Match{Tool: []string{"ExitPlanMode"}}, Risk: new(core.R0)}}
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
				require.Equal(t, core.OutcomeAsk, j.Outcome, "%s: %s", name, tool)
				require.Contains(t, j.Assessment.ReasonCodes, "approves-plan", name)
				require.True(t, j.Rule.RequiresHuman, name)
				require.Equal(t, []core.Decision{core.AllowOnce, core.Deny}, j.Offers, name)
				require.Equal(t, core.FormPlan, j.Form, name)
			}
		}
	}
	e := engine(t, shipped)
	for _, tool := range []string{"EnterPlanMode", "update_plan", "TodoWrite", "plan_enter", "create_plan"} {
		require.Equal(t, core.OutcomeAllow, outcomeOf(e, callOf(t, tool, map[string]any{"plan": "x"})), tool)
	}
}
