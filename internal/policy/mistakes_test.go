package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is wrong with a Config is said with the key where it stands, all at once.
func TestMistakesHavePaths(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		Mode: "sometimes", ExecAsk: "perhaps", ToolsDeny: []string{"web_fetch", "a b", "exec"},
		ExecAllowlist: []string{"ls", "sudo *"}, ExecSafeBins: []string{"wc", "xargs"},
		Layers: Layers{
			Sandbox: Layer{Allow: []string{"raed"}}, Groups: map[string]Layer{"g": {Deny: []string{"group:none"}}},
			Agents: map[string]AgentLayer{"a.b": {Mode: "never", Providers: map[string]Layer{"p": {Allow: []string{"read", "?"}}}}},
		},
		Rules: []Rule{
			{Name: "ok", Outcome: "ask"},
			{Name: "ok", When: "1 +", Outcome: "ask", Role: "ops", Match: Match{
				Tool: []string{"x", "group:none"}, Path: []string{"a", "../b"}, Host: []string{"a/b"}, Session: []string{"s*", "*s"}}},
			{Name: "loose", Outcome: "allow", Match: Match{Tool: []string{"*"}}},
		},
	})
	var mistakes Mistakes
	require.ErrorAs(t, err, &mistakes)
	var got []string
	for _, m := range mistakes {
		got = append(got, strings.Join(m.Path, " "))
		require.Contains(t, err.Error(), m.Text)
	}
	require.ElementsMatch(t, []string{
		"approvals tools mode", "approvals exec ask", "tools deny [1]", "approvals exec allowlist [1]", "approvals exec safeBins [1]",
		"tools sandbox", "tools groups g deny [0]", "agents a.b approvals", "agents a.b tools providers p allow [1]",
		"approvals tools rules [1] name", "approvals tools rules [1] when", "approvals tools rules [1] role",
		"approvals tools rules [1] match tool [1]", "approvals tools rules [1] match path [1]",
		"approvals tools rules [1] match host [0]", "approvals tools rules [1] match session [1]",
		"approvals tools rules [2]",
	}, got)
}
