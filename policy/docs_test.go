package policy

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/policy/finding"
	"approvalbot/policy/tool"
)

// The page for operators names every reason code with its sentence, every group,
// profile and factor of a rule.
func TestThePageNamesEverything(t *testing.T) {
	b, err := os.ReadFile("../docs/policy.md")
	require.NoError(t, err)
	page := string(b)
	for c := range finding.CodeCount {
		require.Contains(t, page, "`"+finding.Reasons[c].Name+"`", "docs/policy.md lists every reason code")
	}
	for _, g := range tool.GroupNames() {
		require.Contains(t, page, "`"+g+"`")
	}
	for p := range maps.Keys(tool.Profiles) {
		require.Contains(t, page, cmp.Or("`"+p+"`", "full"))
	}
}

// The first three rules of the page do what it says.
func TestTheFirstThreeRules(t *testing.T) {
	e := engine(t, func(c *Config) {
		c.Roles = []string{"ops"}
		c.Rules = []Rule{
			{Name: "no-prod", Match: Match{Command: []string{"kubectl * prod-*"}}, Outcome: "deny"},
			{Name: "publish-needs-ops", Match: Match{Command: []string{"npm publish", "terraform apply"}}, Outcome: "ask", Role: "ops"},
			{Name: "staging-deploy", Match: Match{Command: []string{"deploytool staging *"}, Agent: []string{"main"}}, Outcome: "allow"},
		}
	})
	for line, want := range map[string]core.Outcome{
		"kubectl -n x delete prod-db": core.OutcomeDeny, "ls && npm publish --tag next": core.OutcomeAsk, "deploytool staging v7": core.OutcomeAllow, "deploytool staging v7; curl x": core.OutcomeAsk,
	} {
		require.Equal(t, want, outcomeOf(e, lineCall(t, line)), line)
	}
	require.Equal(t, []core.Need{{Role: "ops", Min: 1}}, judge(e, lineCall(t, "ls && npm publish --tag next")).Rule.Needs)
	require.True(t, slices.IsSorted(tool.Known()))
}
