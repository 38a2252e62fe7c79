package offline

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/config/effective"
)

// The table fits a terminal, whatever is in the file.
func TestTableFits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/wide.yaml")
	require.NoError(t, err)
	cfg, _, err := effective.Parse("f.yaml", text, nil, nil)
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, printPolicy(&app.App{Stdout: &out}, cfg))
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), tableWidth, line)
	}
	require.NotContains(t, out.String(), "hunter2")
}

// The classes fit, whatever names are in them.
func TestTableOfClassesFits(t *testing.T) {
	t.Parallel()
	people, ids := "", ""
	for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
		people += "  - {name: somebody-with-a-long-name-" + n + ", telegram: " + n + "}\n"
		ids += n + ","
	}
	text := "people:\n" + people + "channels: {telegram: {botToken: \"1:a\", allowedUserIds: [" + ids + "99]}}\n" +
		"approvals: {tools: {minApprovals: 6}}\n"
	cfg, _, err := effective.Parse("f.yaml", []byte(text), nil, nil)
	require.NoError(t, err)
	cfg.Approvals.Tools.MinApprovals = 7
	var out strings.Builder
	require.NoError(t, printPolicy(&app.App{Stdout: &out}, cfg))
	table, _, _ := strings.Cut(out.String(), "\n\n")
	for line := range strings.Lines(table) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), tableWidth, line)
	}
	require.Contains(t, table, "6 people: too few")
}
