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
	for _, query := range []string{
		"", "ATTACH 'x' AS y", "attach/**/'x' as y", "SELECT 1; ATTACH 'x' AS y", "SELECT load_extension('x')", `SELECT "load_extension"('x')`,
		"SELECT writefile('/tmp/x', 'y')", "WITH x AS (SELECT 1) DELETE FROM todos", "-- x\nPRAGMA y", "SELECT 'a", "SELECT 'a' -- '\n; PRAGMA x",
		"EXPLAIN SELECT 1", "CREATE TRIGGER x AFTER INSERT ON todos BEGIN SELECT 1; END", "SELECT fts3_tokenizer('x', 1)", "(SELECT 1)",
	} {
		j := judge(e, callOf(t, "session_sql", map[string]any{"query": query, "description": "x"}))
		require.Equal(t, approval.OutcomeAsk, j.Outcome, query)
	}
	// What would make more of a quiet tool than its source has asks all the same.
	for tool, params := range map[string]string{
		"update_topic": `{"title":"x","file_path":"/etc/passwd"}`, "ReportFindings": `{"findings":[],"url":"https://x.org"}`,
		"list_agents": `{"command":"ls"}`, "session_sql": `{"query":"SELECT 1","database":"x"}`, "session-sql": `{"query":["SELECT 1"]}`, "wait_agent": `{"output":"/tmp/x"}`, "mcp__x__update_topic": `{}`, "mcp__get__goal": `{}`,
	} {
		j := judge(e, approval.Call{ToolName: tool, Params: json.RawMessage(params), AgentID: "main"})
		require.Equal(t, approval.OutcomeAsk, j.Outcome, tool)
	}
}
