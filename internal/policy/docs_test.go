package policy

import (
	"cmp"
	"flag"
	"fmt"
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

const reasonsHead = `# Reason codes

Why the desk judges a call as it does, written from the table in policy/finding (` + "`go test ./internal/policy -run ReasonsPage -update`" + `).
A call's class is the highest of all that was found in it. ` + "`rule:NAME`" + ` is one of your rules.

| code | class | means |
|---|---|---|
`

const addNoRisk = `
These say why the desk asks or refuses, and add no risk:

| code | means |
|---|---|
`

// docs/reasons.md is what the table says, the lowest class first.
func TestReasonsPage(t *testing.T) {
	t.Parallel()
	found, add := make([]string, approval.R4+1), addNoRisk
	for c := range finding.CodeCount {
		r := finding.Reasons[c]
		if c >= finding.ApprovalsDisabled {
			add += fmt.Sprintf("| `%s` | %s |\n", r.Name, r.Text)
			continue
		}
		found[r.Class] += fmt.Sprintf("| `%s` | %s | %s |\n", r.Name, r.Class, r.Text)
	}
	page := reasonsHead + strings.Join(found, "") + add
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile("../../docs/reasons.md", []byte(page), 0o644))
	}
	stored, err := os.ReadFile("../../docs/reasons.md")
	require.NoError(t, err)
	require.Equal(t, page, string(stored), "docs/reasons.md is not what the table says: go test ./internal/policy -run ReasonsPage -update")
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
