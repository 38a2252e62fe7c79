//go:build unix

package answer

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
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
	deep := filepath.Join(app, strings.Repeat("d/", 40), "d")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	require.NoError(t, os.Symlink(filepath.Join(app, "sub"), filepath.Join(root, "link")))
	require.NoError(t, os.Symlink("sub", filepath.Join(app, "l4")))
	at := func(names ...string) (all []string) {
		for _, n := range names {
			all = append(all, filepath.Join(root, n))
		}
		return all
	}
	unignored, ignored := at("app/sub/a b.pem", "app/sub/id_rsa"), at("app/.env", "app/ignored/x.key")
	for _, c := range []struct {
		line, dir              string
		folders, want, ignored []string
	}{
		{"git add .", app, at("app"), unignored, nil},
		{"git add .", filepath.Join(app, "sub"), at("app/sub"), unignored, nil},
		{"git stash -u", app, at("app"), unignored, nil},
		{"echo > .gitignore; git add .", app, at("app"), unignored, ignored},
		{"git -c core.excludesFile=/dev/null add .", app, at("app"), unignored, ignored},
		{"cd ../other && git add .", app, at("app", "other"), append(unignored, at("other/.env")...), nil},
		{"(cd app; cd sub)\ngit -C other add -A", root, at("", "app", "app/sub", "other"), append(unignored, at("other/.env")...), nil},
		{"cd '" + other + "' && git add .", root, at("", "other"), at("other/.env"), nil},
		{"git init && git add .", bare, at("new"), at("new/.env"), at("new/.env")[:0]},
		{"git add .", bare, at("new"), nil, nil},
		{"cd ignored && git init && git add .", app, at("app", "app/ignored"), unignored, append(at("app/sub/tracked.pem"), append(ignored, unignored...)...)},
		{"git add -A && git commit -m init", app, at("app"), unignored, append(at("app/sub/tracked.pem"), append(ignored, unignored...)...)},
		{"git 'ad'd .", app, at("app"), unignored, nil},
		{`g\it "a"dd .`, app, at("app"), unignored, nil},
		{"sh -c 'cd ../other && git add .'", app, at("app", "other"), append(unignored, at("other/.env")...), nil},
		{"cd 'my repo' && git add .", root, at("", "my repo"), at("my repo/.env"), nil},
		{`cd my\ repo && git add .`, root, at("", "my repo"), at("my repo/.env"), nil},
		{"git stash -q; git switch other && git add .", app, at("app"), unignored, ignored},
		{"cp -r sub x && git add x", app, at("app", "app/sub"), unignored, ignored},
		{"git -C link add .", root, at("", "link"), at("link/a b.pem", "link/id_rsa"), nil},
		{"cd l4 && git add .", app, at("app", "app/l4"), append(unignored, at("app/l4/a b.pem", "app/l4/id_rsa")...), nil},
		{"git add .", deep, []string{deep}, unignored, nil},
	} {
		got, err := Untracked(t.Context(), c.dir, c.line)
		require.NoError(t, err, c.line)
		require.ElementsMatch(t, c.folders, got.Folders, c.line)
		require.ElementsMatch(t, c.want, got.Files, c.line)
		require.Subset(t, append(c.ignored, c.want...), got.Ignored, c.line)
		require.Subset(t, append(got.Ignored, got.Files...), c.ignored, c.line)
		require.Equal(t, c.ignored == nil, got.Ignored == nil, c.line)
	}
	// A desk that finds that one of these stages files knows that it was not looked for.
	for _, line := range []string{"make add", "ls", "git status", "g$x add .", "# don't\ntimeout 5 \"gi\"t add ."} {
		got, err := Untracked(t.Context(), app, line)
		require.NoError(t, err)
		require.Equal(t, &api.Untracked{}, got, line)
	}
	nothing, err := Untracked(t.Context(), app)
	require.NoError(t, err)
	require.Nil(t, nothing, "a call without a command")

	got, err := Untracked(t.Context(), root, "git", "-C", "my repo", "add", ".")
	require.NoError(t, err)
	require.Equal(t, at("my repo/.env"), got.Files, "words that are no line")
	got, err = Untracked(t.Context(), root, filepath.Join(root, "my repo"), "git add .")
	require.NoError(t, err)
	require.Equal(t, at("my repo/.env"), got.Files, "the folder of the call")
	many := "git add ."
	for i := range mostUntracked + 1 {
		dir := filepath.Join(root, "many", strconv.Itoa(i))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		many += " " + dir
	}
	got, err = Untracked(t.Context(), root, many)
	require.NoError(t, err)
	require.Len(t, got.Folders, mostUntracked, "a desk asks about the others")

	marker := filepath.Join(root, "ran")
	write("app/monitor", "#!/bin/sh\ntouch "+marker+"\n")
	require.NoError(t, os.Chmod(filepath.Join(app, "monitor"), 0o700))
	git(t, app, "config", "core.fsmonitor", "./monitor")
	_, err = Untracked(t.Context(), app, "git add .")
	require.NoError(t, err)
	require.NoFileExists(t, marker, "a repository starts nothing")

	git(t, app, "config", "--unset", "core.fsmonitor")

	// What is not there would be fetched, by a program that the repository names.
	write("app/sub/.gitignore", "*.pem\n")
	git(t, app, "add", "sub/.gitignore")
	git(t, app, "update-index", "--skip-worktree", "sub/.gitignore")
	hash := strings.TrimSpace(git(t, app, "rev-parse", ":sub/.gitignore"))
	require.NoError(t, os.Remove(filepath.Join(app, "sub/.gitignore")))
	require.NoError(t, os.Remove(filepath.Join(app, ".git/objects", hash[:2], hash[2:])))
	for _, pair := range [][2]string{{"core.repositoryFormatVersion", "1"}, {"extensions.partialClone", "o"}, {"remote.o.promisor", "true"}, {"remote.o.url", "/"}, {"remote.o.uploadpack", "touch " + marker + "; #"}} {
		git(t, app, "config", pair[0], pair[1])
	}
	_, _ = Untracked(t.Context(), app, "git add .")
	require.NoFileExists(t, marker, "a repository starts nothing")

	tree, split := filepath.Join(root, "tree"), filepath.Join(root, "split")
	git(t, root, "init", "-q", "-b", "main", split)
	write("split/a.go", "x")
	write("split/.gitignore", "/ignored.pem\n")
	write("split/.git/info/exclude", "/excluded.pem\n")
	git(t, split, "add", ".")
	git(t, split, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one")
	git(t, split, "worktree", "add", "-q", tree)
	git(t, split, "update-index", "--split-index")
	for _, name := range []string{"split/ignored.pem", "split/excluded.pem", "split/x.pem", "tree/ignored.pem", "tree/excluded.pem", "tree/x.pem"} {
		write(name, "x")
	}
	got, err = Untracked(t.Context(), split, "git add .; cd ../tree; git add .")
	require.NoError(t, err)
	require.ElementsMatch(t, at("split/x.pem", "tree/x.pem"), got.Files)

	ignores := filepath.Join(root, "ignores")
	write("ignores", "*.pem\n")
	t.Setenv("GIT_CONFIG_COUNT", "0")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(root, "settings"))
	write("settings", "[core]\n\texcludesFile = "+ignores+"\n")
	got, err = Untracked(t.Context(), split, "git add .")
	require.NoError(t, err)
	require.Empty(t, got.Files, "the user ignores them")
	git(t, split, "config", "core.excludesFile", "/dev/null")
	got, err = Untracked(t.Context(), split, "git add .")
	require.NoError(t, err)
	require.Equal(t, at("split/x.pem"), got.Files, "the repository has another file in place of the user's")
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")

	pipes := filepath.Join(root, "pipes")
	git(t, root, "init", "-q", pipes)
	require.NoError(t, os.Remove(filepath.Join(pipes, ".git/config")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(pipes, ".git/config"), 0o600))
	write("pipes/x.pem", "x")
	got, err = Untracked(t.Context(), pipes, "git add .")
	require.NoError(t, err)
	require.Equal(t, at("pipes/x.pem"), got.Files, "a pipe in place of the settings")

	path, fixed := os.Getenv("PATH"), fixedPlaces
	t.Cleanup(func() { fixedPlaces = fixed })
	fixedPlaces = nil // git is in none of them
	require.NoError(t, os.MkdirAll(filepath.Join(split, "node_modules/.bin"), 0o700))
	write("split/node_modules/.bin/git", "#!/bin/sh\ntouch "+marker+"\n")
	require.NoError(t, os.Chmod(filepath.Join(split, "node_modules/.bin/git"), 0o700))
	t.Setenv("PATH", filepath.Join(split, "node_modules/.bin")+":"+path)
	got, err = Untracked(t.Context(), split, "git add .")
	require.NoError(t, err)
	require.Equal(t, at("split/x.pem"), got.Files)
	require.NoFileExists(t, marker, "no program of the repository's")
	t.Setenv("PATH", path)
	git(t, split, "init", "-q", "sub")
	t.Setenv("PATH", filepath.Join(split, "node_modules/.bin")+":"+path)
	_, err = Untracked(t.Context(), split, "git -C sub add .")
	require.NoError(t, err)
	_, err = Untracked(t.Context(), filepath.Join(split, "sub"), "git add .")
	require.NoError(t, err)
	require.NoFileExists(t, marker, "of a repository around it")
	require.NoError(t, os.Symlink(split, filepath.Join(root, "of-split")))
	t.Setenv("PATH", filepath.Join(root, "of-split", "node_modules/.bin")+":"+path)
	_, err = Untracked(t.Context(), split, "git add .")
	require.NoError(t, err)
	t.Setenv("PATH", filepath.Join(split, "node_modules/.bin"))
	_, err = Untracked(t.Context(), split, "git add .")
	require.Error(t, err, "another git is not known")
	fixedPlaces = fixed
	if _, missing := os.Stat("/usr/bin/git"); missing == nil {
		t.Setenv("PATH", filepath.Join(split, "node_modules/.bin"))
		_, err = Untracked(t.Context(), app, "git add .")
		require.NoError(t, err, "of another project than the repository's")
	}
	require.NoFileExists(t, marker, "no program of the repository's")
	t.Setenv("PATH", path)

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
	fixedPlaces = nil
	t.Setenv("PATH", "")
	got, err = Untracked(t.Context(), app, "git add .")
	require.NoError(t, err, "without git nothing is taken")
	require.Empty(t, got.Files)
}
