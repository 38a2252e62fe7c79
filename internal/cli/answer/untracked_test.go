//go:build unix

package answer

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// What git would take into a repository unnamed is told with its secrets, and no others.
func TestUntracked(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git: not tested, install it")
	}
	root := t.TempDir()
	app, other, bare, blank := filepath.Join(root, "app"), filepath.Join(root, "other"), filepath.Join(root, "new"), filepath.Join(root, "my repo")
	for _, dir := range []string{filepath.Join(app, "sub"), filepath.Join(app, "ignored"), other, bare, blank} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	for _, dir := range []string{app, other, blank} {
		git(t, dir, "init", "-q", "-b", "main")
	}
	write("app/.gitignore", ".env\n/ignored\n")
	for _, name := range []string{"app/.env", "app/ignored/x.key", "app/main.go", "app/sub/id_rsa", "app/sub/a b.pem", "other/.env", "new/.env", "my repo/.env"} {
		write(name, "x")
	}
	write("app/sub/tracked.pem", "x")
	git(t, app, "add", "sub/tracked.pem")
	at := func(names ...string) (all []string) {
		for _, n := range names {
			all = append(all, filepath.Join(root, n))
		}
		return all
	}
	unignored := at("app/sub/a b.pem", "app/sub/id_rsa")
	for _, c := range []struct {
		line, dir string
		want      []string
	}{
		{"git add .", app, unignored},
		{"git add .", filepath.Join(app, "sub"), unignored},
		{"git stash -u", app, unignored},
		{"echo > .gitignore; git add .", app, append(at("app/.env", "app/ignored/x.key"), unignored...)},
		{"git -c core.excludesFile=/dev/null add .", app, append(at("app/.env", "app/ignored/x.key"), unignored...)},
		{"cd ../other && git add .", app, append(unignored, at("other/.env")...)},
		{"(cd app; cd sub)\ngit -C other add -A", root, append(unignored, at("other/.env")...)},
		{"cd '" + other + "' && git add .", root, at("other/.env")},
		{"git init && git add .", bare, at("new/.env")},
		{"git add .", bare, nil},
		{"cd ignored && git init && git add .", app, append(at("app/ignored/x.key", "app/.env", "app/sub/tracked.pem"), unignored...)},
		{"git status", app, nil},
		{"make add", app, nil},
		{"git 'ad'd .", app, unignored},
		{`g\it "a"dd .`, app, unignored},
		{"sh -c 'cd ../other && git add .'", app, append(unignored, at("other/.env")...)},
		{"cd 'my repo' && git add .", root, at("my repo/.env")},
		{`cd my\ repo && git add .`, root, at("my repo/.env")},
		{"git stash -q; git switch other && git add .", app, append(at("app/.env", "app/ignored/x.key"), unignored...)},
		{"cp -r sub x && git add x", app, append(at("app/.env", "app/ignored/x.key"), unignored...)},
	} {
		got, err := Untracked(t.Context(), c.dir, c.line)
		require.NoError(t, err, c.line)
		require.ElementsMatch(t, c.want, got, c.line)
	}

	got, err := Untracked(t.Context(), root, "git", "-C", "my repo", "add", ".")
	require.NoError(t, err)
	require.Equal(t, at("my repo/.env"), got, "words that are no line")
	many := "git add ."
	for i := range mostPlaces + 1 {
		dir := filepath.Join(root, "many", strconv.Itoa(i), ".git")
		require.NoError(t, os.MkdirAll(dir, 0o700))
		many += " " + filepath.Dir(dir)
	}
	_, err = Untracked(t.Context(), root, many)
	require.Error(t, err)

	marker := filepath.Join(root, "ran")
	write("app/monitor", "#!/bin/sh\ntouch "+marker+"\n")
	require.NoError(t, os.Chmod(filepath.Join(app, "monitor"), 0o700))
	git(t, app, "config", "core.fsmonitor", "./monitor")
	_, err = Untracked(t.Context(), app, "git add .")
	require.NoError(t, err)
	require.NoFileExists(t, marker, "a repository starts nothing")

	_, err = Untracked(t.Context(), "app", "git add .")
	require.ErrorContains(t, err, "not known where")
	ended, stop := context.WithCancel(t.Context())
	stop()
	_, err = Untracked(ended, app, "git add .")
	require.Error(t, err, "what is not known is no absence")
	_, err = Untracked(ended, bare, "git init; git add .")
	require.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(app, "a\xff.pem"), nil, 0o600))
	_, err = Untracked(t.Context(), app, "git add .")
	require.ErrorContains(t, err, "cannot be told")
	t.Setenv("PATH", "")
	got, err = Untracked(t.Context(), app, "git add .")
	require.NoError(t, err, "without git nothing is taken")
	require.Empty(t, got)
}
