package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/setup"
	"approvalbot/internal/hook/live"
)

// What doctor --live says is what the client does: as far as a client that is no more
// than its hooks can show it, with the hook that install writes and a real desk.
func TestDoctorLive_OnAClientThatIsNoMoreThanItsHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\nexec fakeclaude \"$@\"\n"), 0o700))
	l, err := live.Open("claude-code", dir+string(os.PathListSeparator)+os.Getenv("PATH"), t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	found, err := setup.TryLive(t.Context(), &app.App{}, l, runtimeOf(t, "claude-code"), program(t), false)
	require.NoError(t, err)
	require.Len(t, found, 4)
	for _, f := range found {
		require.Equal(t, core.LevelOK, f.Level, "%s: %s", f.What, f.Text)
	}
	require.Contains(t, found[2].Text, "denied by policy")
	require.Contains(t, found[3].Text, "cannot be reached")

	// Without the hook the command runs, which doctor says.
	require.NoError(t, os.Remove(filepath.Join(l.Home, ".claude/settings.json")))
	got, err := l.Run(t.Context())
	require.NoError(t, err)
	require.True(t, got.Ran)
}
