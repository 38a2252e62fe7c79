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
	for _, c := range [][2]string{
		{"editor", `{"path":"/etc/passwd","new_text":"x"}`}, {"editor", `{"path":"a.go","new_text":"x","command":"create"}`},
		{"editor", `{"path":"a.go","new_text":"x","then":1}`}, {"editor", `{"path":["a.go","/etc/passwd"],"new_text":"x"}`}, {"editor", `{"new_text":"x"}`},
		{"editor", `{"path":{"uri":"a.go"},"new_text":"x"}`}, {"editor", `{"path":".cline/hooks/PreToolUse","new_text":"x"}`},
		{"editor", `{"path":"a.go","new_text":"x","old_text":{"command":"ls"}}`}, {"editor", `{"command":"view","path":"a.go"}`},
		{"search_codebase", `{"queries":["-uue."]}`}, {"search_codebase", `{"queries":["frobnicate","--pre=x"]}`}, {"search_codebase", `{"queries":"."}`},
		{"search_codebase", `{"queries":["frobnicate"],"path":"src"}`}, {"search_codebase", `{"queries":["frobnicate"],"hidden":1}`},
		{"search_codebase", `{"queries":["api_key"]}`}, {"search_codebase", `{"queries":[{"path":"/etc"}]}`}, {"search_codebase", `{"pattern":"frobnicate"}`},
		{"fetch_web_content", `{"requests":[{"url":"http://169.254.169.254/latest","prompt":"x"}]}`}, {"fetch_web_content", `{"requests":"https://example.com"}`},
		{"fetch_web_content", `{"requests":[{"url":"https://example.com","prompt":"x"},{"url":"http://169.254.169.254/x","prompt":"x"}]}`},
		{"fetch_web_content", `{"requests":[{"url":"https://example.com","prompt":"x","method":"POST"}]}`},
		{"fetch_web_content", `{"requests":[{"url":"https://example.com","prompt":"x","headers":{"a":"b"}}]}`},
		{"fetch_web_content", `{"requests":[{"url":"https://example.com","prompt":"x"}],"proxy":"x"}`},
		{"fetch_web_content", `{"requests":[{"url":"file:///root/.ssh/id_rsa","prompt":"x"}]}`}, {"web_fetch", `{"requests":[{"url":"https://example.com"}]}`},
		{"team_status", `{"path":"/etc/passwd"}`}, {"team_task", `{"action":"list","cwd":"/"}`}, {"team_cleanup", `{"team":"x"}`}, {"team_await_runs", `{"then":"ls"}`},
		{"team_mission_log", `{"kind":"done","summary":"x","file":"/etc/passwd"}`}, {"mcp__x__editor", `{"path":"a.go","new_text":"x"}`},
		{"search_codebase", `{"queries":[" -uue."]}`}, {"spawn_agent", `{"message":"x","path":"/etc/x"}`},
		{"spawn_agent", `{"items":[{"type":"skill","name":"x","path":"/etc/x"}]}`},
	} {
		j := judge(e, approval.Call{ToolName: c[0], Params: json.RawMessage(c[1]), AgentID: "main"})
		require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s %v", c, j.Assessment.ReasonCodes)
	}
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
