package policy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// TestRuntimesTools_T30: each tool that the clients of runtimes offer is judged as the table says, by
// the source of that version; what nobody has read asks.
func TestRuntimesTools_T30(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	table, err := os.ReadFile("testdata/runtimes.tsv")
	require.NoError(t, err)
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, cells, 6, line)
		j := judge(e, approval.Call{ToolName: cells[2], Params: json.RawMessage(cells[4]), AgentID: "main"})
		require.Equal(t, cells[3], j.Outcome.String(), "%s: %v", line, j.Assessment.ReasonCodes)
	}
	// What would make more of a quiet tool than its source has asks all the same.
	for tool, params := range map[string]string{
		"update_topic": `{"title":"x","file_path":"/etc/passwd"}`, "ReportFindings": `{"findings":[],"url":"https://x.org"}`,
		"list_agents": `{"command":"ls"}`, "session_sql": `{"query":"SELECT 1"}`,
		"update_goal": `{"status":"complete","webhook":"https://x.org"}`, "create_goal": `{"objective":"x","cwd":"/"}`, "list_bash": `{"bash":"ls"}`,
		"read_background_output": `{"pid":"../../.ssh/id_rsa"}`, "wait_for_mcp_servers": `{"start":"npx x"}`, "read_agent": `{"agent_id":"x","then":"ls"}`,
		"report_findings": `{"findings":[],"content":"x"}`, "get_goal": `{"goal":"x"}`, "wait_agent": `{"output":"/tmp/x"}`, "mcp__x__update_topic": `{}`, "mcp__get__goal": `{}`,
	} {
		j := judge(e, approval.Call{ToolName: tool, Params: json.RawMessage(params), AgentID: "main"})
		require.Equal(t, approval.OutcomeAsk, j.Outcome, tool)
	}
}
