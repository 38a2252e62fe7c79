package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Who is about to start hears where the key cannot be.
func TestKeyInAMissingFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "approvalbot.yaml")
	text := "store:\n  url: sqlite:" + dir + "/desk.db\n  keyFile: " + dir + "/keys/desk.key\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	const want = ":3: store.keyFile: lies in a folder that does not exist: make it before the first start"
	for _, args := range [][]string{{"config", "check", file}, {"serve", "--config", file}} {
		var out, errs safeBuffer
		run(t.Context(), args, nil, nil, &out, &errs)
		require.Contains(t, out.String()+errs.String(), file+want, args)
	}
}

// The table fits a terminal, whatever is in the file.
func TestTableFits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/wide.yaml")
	require.NoError(t, err)
	cfg, _ := loadText(t, string(text))
	var out strings.Builder
	require.NoError(t, (&app{stdout: &out}).printPolicy(cfg))
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), tableWidth, line)
	}
	require.NotContains(t, out.String(), "hunter2")
}
