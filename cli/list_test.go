package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/cli/app"
)

// In a pipe each cell is whole, so that a program can read it, and escaped all the same.
func TestListIsWholeInAPipe(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Stdout: &out, Env: map[string]string{}}
	long := strings.Repeat("very long ", 30)
	require.NoError(t, printList(a, []api.Approval{{ID: "1", ToolName: "mcp__files__write_file", AgentID: "a-long-agents-name",
		ParamsSummary: long + "\x1b[31m\u202e"}}, func(a api.Approval) string { return a.ID }))
	for _, want := range []string{"mcp__files__write_file", "a-long-agents-name", long, `\u{1B}[31m\u{202E}`} {
		require.Contains(t, out.String(), want)
	}
}
