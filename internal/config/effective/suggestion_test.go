package effective

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// What is suggested is written into the file as it is, and the call that asked runs; words of the
// call that mean something in YAML stay words.
func TestASuggestionIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for agent, line := range map[string]string{
		"main":           "git fetch origin && git push origin main",
		`a", "b], x: {y`: "git push origin fix/#12",
		"ü#":             "gh pr comment 1 --body fixed:yes",
		"- &x !y":        "kubectl scale deploy web --replicas=3",
		"null":           "gh issue close 12",
	} {
		base := fmt.Sprintf("agents: {list: [{id: %q, workspace: /srv/app}]}\napprovals:\n  tools:\n    enabled: true\n", agent)
		engine := func(text string) core.Policy {
			cfg, _ := load(t, text)
			rules, err := Rules(cfg, Table(cfg))
			require.NoError(t, err)
			return rules.Policy
		}
		params, err := json.Marshal(map[string]string{"command": line})
		require.NoError(t, err)
		call := approval.Call{ToolName: "exec", Params: params, AgentID: agent, Bind: &approval.Bind{Workdir: new("/srv/app")}}
		before := engine(base)
		require.Equal(t, approval.OutcomeAsk, before.Judge(t.Context(), call).Outcome, line)
		s := before.(core.Suggester).Suggest(t.Context(), call)
		require.Equal(t, "approvals.tools.rules", s.Key, "%s: %s", line, s.None)
		after := engine(base + "    rules: [" + s.Value + "]\n")
		require.Equal(t, approval.OutcomeAllow, after.Judge(t.Context(), call).Outcome, s.Value)
		call.AgentID = "another"
		require.Equal(t, approval.OutcomeAsk, after.Judge(t.Context(), call).Outcome, s.Value)
	}
}
