//go:build unix

package live

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakeclaude"
)

// TestMain makes this program the client where it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "claude" {
		fakeclaude.Main()
		return
	}
	os.Exit(m.Run())
}

// withClaude is a PATH with a client that is called claude, behind one directory that is
// relative and one where claude is no program.
func withClaude(t *testing.T) string {
	t.Helper()
	dir, none := t.TempDir(), t.TempDir()
	own, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(own, filepath.Join(dir, "claude")))
	require.NoError(t, os.WriteFile(filepath.Join(none, "claude"), nil, 0o600))
	t.Chdir(dir)
	return strings.Join([]string{".", none, dir, "/usr/bin", "/bin"}, string(os.PathListSeparator))
}

func TestOpen_WhatCannotBeTried(t *testing.T) {
	below := t.TempDir()
	_, err := Open("claude-code", t.TempDir()+string(os.PathListSeparator)+".", below)
	require.ErrorIs(t, err, ErrNoClient)
	_, err = Open("openclaw", os.Getenv("PATH"), below)
	require.ErrorContains(t, err, "it can try claude-code, cline")
	left, err := os.ReadDir(below)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A lab says whether the command ran, each time anew, and has nothing of this process's
// environment. Nothing is left of it, neither files nor what its client has started.
func TestLab_RunsAndLeavesNothing(t *testing.T) {
	t.Setenv("APPROVALBOT_TOKEN", "s3cret")
	t.Setenv("ANTHROPIC_API_KEY", "s3cret")
	path, below := withClaude(t), t.TempDir()
	l, err := Open("claude-code", path, below)
	require.NoError(t, err)
	require.NotContains(t, strings.Join(l.Env(), "\n"), "s3cret")
	require.Contains(t, l.Env(), "ANTHROPIC_API_KEY=x")
	require.Contains(t, l.Env(), "HTTPS_PROXY=http://127.0.0.1:9")
	require.Equal(t, "9.9.9", l.Version(t.Context()), "not what it says besides")
	for range 2 {
		got, err := l.Run(t.Context())
		require.NoError(t, err, got.Output)
		require.True(t, got.Asked)
		require.True(t, got.Ran)
		require.Equal(t, []string{"<nil>"}, got.Read, "of this run alone")
		daemon, err := os.ReadFile(filepath.Join(l.Home, "daemon"))
		require.NoError(t, err)
		pid, err := strconv.Atoi(string(daemon))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return gone(pid) }, time.Minute, time.Millisecond)
	}

	// A hook that always denies keeps it from running.
	settings := filepath.Join(l.Home, ".claude", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o700))
	require.NoError(t, os.WriteFile(settings, []byte(`{"hooks":{"PreToolUse":[{"hooks":[{"command":"exit 7","onFailure":"block"}]}]}}`), 0o600))
	got, err := l.Run(t.Context())
	require.NoError(t, err)
	require.False(t, got.Ran)
	require.Contains(t, got.Read[0], "the hook failed")

	// A client that does not get as far as the model proves nothing.
	l.url = "http://127.0.0.1:1"
	_, err = l.Run(t.Context())
	require.ErrorContains(t, err, "never asked the model")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Run(ended)
	require.Error(t, err)

	require.NoError(t, l.Close())
	left, err := os.ReadDir(below)
	require.NoError(t, err)
	require.Empty(t, left)
}

// gone reports whether a process has ended, whoever is to reap it.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(state), ") Z ")
}
