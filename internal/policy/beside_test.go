package policy

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// No row of a server, no hint, no rule of the operator and no classifier lets a call run, or be
// covered by a session's yes, that gives the server something beside the tool's arguments.
func TestAdversary_T1_WhatIsBesideTheArgumentsAsksWhateverPermitsTheTool(t *testing.T) {
	t.Parallel()
	beside := at{"inputResponses": at{"sum": at{"action": "accept"}}}
	asks := func(e *Engine, c approval.Call, why string) {
		t.Helper()
		for _, j := range []approval.Judgement{
			judge(e, c),
			e.JudgeWith(context.Background(), c, opined(approval.R0, 1)),
			e.JudgeWith(context.Background(), c, approval.Opinion{Failed: "unreachable"}),
		} {
			require.NotEqual(t, approval.OutcomeAllow, j.Outcome, why)
			require.True(t, j.Rule.RequiresHuman || j.Outcome == approval.OutcomeDeny, why)
			require.Subset(t, []approval.Decision{approval.AllowOnce, approval.Deny}, j.Offers, why)
			require.Empty(t, j.GrantScope, why)
			require.Contains(t, j.Assessment.ReasonCodes, "beside-arguments", why)
		}
	}
	unknown := []string{"mcp__shop__look", "mcp__shop__read_file", "mcp__shop__think"}
	names := slices.Clone(unknown)
	for server, tools := range bridged(t).servers {
		for tool := range tools {
			names = append(names, "mcp__"+server+"__"+tool)
		}
	}
	lets := map[string]Rule{
		"allow":   {Name: "a", Match: Match{Tool: names}, Outcome: "allow"},
		"lower":   {Name: "a", Match: Match{Tool: names}, Risk: new(approval.R0)},
		"approve": {Name: "a", Match: Match{Tool: names}, Approve: true},
	}
	for name, rule := range lets {
		e := bridged(t, humansFromR4, func(c *Config) {
			c.Rules = []Rule{rule}
			c.Classifier.Enabled, c.Classifier.OnLowConfidence = true, "allow"
			c.AllowedApprovers = []approval.Factor{approval.UserRequest, approval.RulesBased, approval.LLMEvaluation}
		})
		hints := approval.Hints{ReadOnly: approval.HintYes, OpenWorld: approval.HintNo}
		for server, tools := range e.servers {
			for tool, row := range tools {
				args := at{besideMember: beside}
				for _, param := range slices.Sorted(maps.Keys(row.Params)) {
					args[param] = "a"
				}
				c := atOf(t, server, "mcp__"+server+"__"+tool, args, hints)
				c.SessionKey = "s"
				asks(e, c, name+" "+server+" "+tool)
			}
		}
		for _, tool := range unknown {
			c := atOf(t, "shop", tool, at{"q": "a", besideMember: beside}, hints)
			c.SessionKey = "s"
			asks(e, c, name+" "+tool)
			c = atOf(t, "shop", tool, at{"q": slices.Repeat([]string{"a"}, 5000), besideMember: beside}, hints)
			c.SessionKey = "s"
			asks(e, c, name+" "+tool+", which cannot be read")
		}
	}
}

const besideMember = "approvalbot/mcp"

// A tool that has changed is not run on a rule's approval alone.
func TestAdversary_T2_ARulesApprovalIsForTheToolAsItWas(t *testing.T) {
	t.Parallel()
	e := bridged(t, humansFromR4, func(c *Config) {
		c.Rules = []Rule{{Name: "a", Match: Match{Tool: []string{"mcp__shop__look"}}, Approve: true}}
		c.AllowedApprovers = []approval.Factor{approval.UserRequest, approval.RulesBased}
	})
	c := atOf(t, "shop", "mcp__shop__look", at{"q": strings.Repeat("a", 3)})
	require.False(t, judge(e, c).Rule.RequiresHuman)
	c.Context.Tool.Changed = true
	require.True(t, judge(e, c).Rule.RequiresHuman)
}
