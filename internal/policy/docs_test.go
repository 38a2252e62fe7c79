package policy

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// The page of reasons has every code once, with its class, or among those that add no risk.
func TestReasonsPage(t *testing.T) {
	t.Parallel()
	page := finding.Describe()
	for c := range finding.CodeCount {
		row := "\n| `" + finding.Reasons[c].Name + "` | "
		require.Equal(t, 1, strings.Count(page, row), row)
		require.Equal(t, c < finding.ApprovalsDisabled, strings.Contains(page, row+finding.Reasons[c].Class.String()+" | "), row)
	}
}

// The page for operators names every group, profile and factor of a rule.
func TestThePageNamesEverything(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/policy.md")
	require.NoError(t, err)
	page := string(b)
	for _, g := range tool.GroupNames() {
		require.Contains(t, page, "`"+g+"`")
	}
	for p := range maps.Keys(tool.Profiles()) {
		require.Contains(t, page, cmp.Or("`"+p+"`", "full"))
	}
}

// The first three rules of the page do what it says.
func TestTheFirstThreeRules(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		c.Roles = []string{"ops"}
		c.Rules = []Rule{
			{Name: "no-prod", Match: Match{Command: []string{"kubectl * prod-*"}}, Outcome: "deny"},
			{Name: "publish-needs-ops", Match: Match{Command: []string{"npm publish", "terraform apply"}}, Outcome: "ask", Role: "ops"},
			{Name: "staging-deploy", Match: Match{Command: []string{"deploytool staging *"}, Agent: []string{"main"}}, Outcome: "allow"},
		}
	})
	for line, want := range map[string]approval.Outcome{
		"kubectl -n x delete prod-db": approval.OutcomeDeny, "ls && npm publish --tag next": approval.OutcomeAsk, "deploytool staging v7": approval.OutcomeAllow, "deploytool staging v7; curl x": approval.OutcomeAsk,
	} {
		require.Equal(t, want, outcomeOf(e, lineCall(t, line)), line)
	}
	require.Equal(t, []approval.Need{{Role: "ops", Min: 1}}, judge(e, lineCall(t, "ls && npm publish --tag next")).Rule.Needs)
	require.True(t, slices.IsSorted(tool.Known()))
}
