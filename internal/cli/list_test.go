package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
)

// In a pipe each cell is whole, so that a program can read it, and escaped all the same.
func TestListIsWholeInAPipe(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Stdout: &out, Env: map[string]string{}}
	long := strings.Repeat("very long ", 30)
	require.NoError(t, printList(a, 0, []api.Approval{{ID: "1", Code: "K7QX2M", ToolName: "mcp__files__write_file", AgentID: "a-long-agents-name",
		ParamsSummary: long + "\x1b[31m\u202e"}}, func(a api.Approval) string { return a.ID }))
	require.True(t, strings.HasPrefix(out.String(), "Code\tID\tTool\tAgent\tStatus\tAge\tLeft\tRisk\tCommand\nK7QX2M\t1\tmcp__"), "no title, the code first, tabs between")
	for _, want := range []string{"mcp__files__write_file", "a-long-agents-name", long, `\u{1B}[31m\u{202E}`} {
		require.Contains(t, out.String(), want)
	}
}

// On a terminal of 80 columns the command is read, below its row if the rest leaves it no room, and an asker's long id is cut.
func TestTablesShowTheCommand_T30(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Stdout: &out, Env: map[string]string{}}
	const command = "terraform apply -auto-approve plan.out · in /srv/infra"
	items := []api.Approval{{ID: strings.Repeat("0a", 32), Code: "K7QX2M", ToolName: "mcp__github__create_issue", AgentID: "claude-code-main",
		Status: api.Pending, RiskClass: "R3", CreatedAtMs: time.Now().UnixMilli(), ExpiresAtMs: time.Now().Add(15 * time.Minute).UnixMilli(),
		ParamsSummary: command}}
	require.NoError(t, printList(a, 80, items, show.ShortID))
	require.Contains(t, out.String(), "\n  "+command+"\n")
	require.Contains(t, out.String(), "K7QX2M")
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
	out.Reset()
	require.NoError(t, printList(a, 200, items, show.ShortID))
	require.Contains(t, out.String(), "R3    "+command+"\n", "a wide one has it in the row")
}

// On a terminal the table fits 80 characters, whatever names are in it, and IDs are whole.
func TestTablesFitTheTerminal(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Stdout: &out, Env: map[string]string{}}
	items := []api.Approval{
		{ID: "0195f3c2-7c1e-7b6a-9d2e-5a1c0de00001", Code: core.KeyCode("0195f3c2-7c1e-7b6a-9d2e-5a1c0de00001"), ToolName: strings.Repeat("t", 128), AgentID: strings.Repeat("ä", 200),
			Status: api.Withdrawn, CreatedAtMs: time.Now().Add(-999 * 24 * time.Hour).UnixMilli(), ParamsSummary: strings.Repeat("x ", 200)},
		{ID: "my-own-id:17", Code: "8AAAAA", ToolName: "exec", Status: api.Pending, CreatedAtMs: time.Now().UnixMilli()},
	}
	require.NoError(t, printList(a, 80, items, show.ShortID))
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
	}
	require.Contains(t, out.String(), "\n8AAAAA  my-own-id:17  exec")
}
