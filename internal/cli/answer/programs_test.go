//go:build unix

package answer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Words by which PATH finds a program of the project are told, however the line has them; what PATH finds elsewhere first is not.
func TestPrograms(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("USER", "me")
	app := filepath.Join(root, "home/app")
	bin, system := filepath.Join(app, "node_modules/.bin"), filepath.Join(root, "usr/bin")
	write := func(name string, mode os.FileMode) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, mode))
	}
	for _, name := range []string{"home/app/node_modules/.bin/which", "home/app/node_modules/.bin/npm", "home/app/sub/here", "home/own/bin/mine", "usr/bin/npm", "usr/bin/ls"} {
		write(name, 0o700)
	}
	write("home/app/node_modules/.bin/data", 0o600)
	for _, name := range []string{"home/app/own/node", "home/app/own/gzip", "home/app/own/echo", "home/app/shadows/uname", "home/app/shadows/jq", "home/plain/.venv/bin/run", "usr/bin/gzip", "usr/bin/node", "usr/bin/tar", "usr/bin/xargs", "home/app/tools/tool.sh"} {
		write(name, 0o700)
	}
	script := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o700))
	}
	script("usr/bin/npm", "#!/usr/bin/env node\nx\n")
	script("usr/bin/zcat", "#!/bin/sh\nexec gzip -cd \"$@\"\n")
	require.NoError(t, os.MkdirAll(filepath.Join(app, "vendor/lib/.git"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "home/plain/sub"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "home/plain/lib/.git"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(app, "tools/tool.sh"), filepath.Join(root, "home/own/bin/tool")))
	require.NoError(t, os.MkdirAll(filepath.Join(app, ".git"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(bin, "folder"), 0o700))
	require.NoError(t, os.Symlink(bin, filepath.Join(root, "link")))
	require.NoError(t, os.Symlink(app, filepath.Join(root, "way")))
	require.NoError(t, os.Symlink(filepath.Join(bin, "npm"), filepath.Join(bin, "linked")))
	isFolder := func(name string) bool { return strings.HasPrefix(name, "/") }
	path := func(dirs ...string) string { return strings.Join(dirs, string(os.PathListSeparator)) }
	for _, c := range []struct {
		line, dir, path string
		want            []string
	}{
		{"which x", app, path(bin, system), []string{"which"}},
		{"which x", filepath.Join(app, "sub"), path(bin, system), []string{"which"}},
		{"ls; npm -v", app, path(bin, system), []string{"npm"}},
		{"ls; npm -v", app, path(system, bin), nil},
		{"linked", app, path(system, bin), []string{"linked"}},
		{"which x", app, path(filepath.Join(root, "link"), system), []string{"which"}},
		{"which x", app, path(filepath.Join(root, "gone"), "../app/node_modules/.bin"), []string{"which"}},
		{"here", filepath.Join(app, "sub"), path(".", system), []string{"here"}},
		{"which x", app, path("~/app/node_modules/.bin", system), []string{"which"}},
		{"which x", app, path("~me/app/node_modules/.bin", system), []string{"which"}},
		{"which x", app, path("~+/node_modules/.bin", system), []string{"which"}},
		{"here", filepath.Join(app, "sub"), ":" + system, []string{"here"}},
		{"cd sub && here", app, system + ":", []string{"here"}},
		{"cd s[u]b && here; ls", app, system + ":", []string{"here"}},
		{"d=su; ls ${d}b", app, ".:" + system, []string{"ls"}},
		{"git submodule status; yq .", app, path(filepath.Join(app, "own"), system), nil},
		{"git submodule status; yq .", app, path(filepath.Join(app, "shadows"), system), []string{"git", "yq"}},
		{`sh -c "timeout 5 which x"; find . -exec 'npm' {} \;`, app, path(bin, system), []string{"npm", "which"}},
		{"data; folder; x", app, path(bin, system), nil},
		{"./which; cat whichever", app, path(bin, system), []string{"which"}}, // the desk knows its words
		{`bash -c 'timeout 5 "wh"ich x'`, app, path(bin, system), []string{"which"}},
		{"# don't\ntimeout 5 wh\"ich\" x; w\\hich; wh\\\nich", app, path(bin, system), []string{"which"}},
		{"npm -v", app, path(filepath.Join(app, "own"), system), []string{"npm"}}, // a script that env starts by node
		{"bash -c 'zcat x | \"npm\" -v'", app, path(filepath.Join(app, "own"), system), []string{"npm", "zcat"}},
		{"cat x | xargs; tar tzf x; ls", app, path(filepath.Join(app, "own"), system), []string{"tar", "xargs"}},
		{"npm -v; zcat x; xargs; tar tf x", app, path(bin, system), []string{"npm"}},
		{"npm -v; zcat x; tar tf x", app, path(system, filepath.Join(app, "own")), nil},
		{"tool", app, path(filepath.Join(root, "home/own/bin"), system), []string{"tool"}},  // a link to one of the project
		{"which x", filepath.Join(app, "vendor/lib"), path(bin, system), []string{"which"}}, // a repository inside of it
		{"run", filepath.Join(root, "home/plain/sub"), path(filepath.Join(root, "home/plain/.venv/bin"), system), []string{"run"}},
		{"run", app, path(filepath.Join(root, "home/plain/.venv/bin"), system), nil},                                               // of another project
		{"run", filepath.Join(root, "home/plain/lib"), path(filepath.Join(root, "home/plain/.venv/bin"), system), []string{"run"}}, // a repository in one that is none
		{"mine", app, path(filepath.Join(root, "home/own/bin"), system), nil},
		{"which x", filepath.Join(root, "home"), path(bin, system), nil}, // all that the home has is no project
		{"which x", root, path(bin, system), nil},
		{"which x", app, "", nil},
		{"which x", app, path(filepath.Join(system, "ls"), system), nil}, // an entry that is a file
		{"cd ~/app; cd " + app + " && which x", filepath.Join(root, "home/own"), path(bin, system), []string{"which"}},
	} {
		got, err := Programs(c.dir, c.path, c.line)
		require.NoError(t, err, c.line)
		if got = slices.DeleteFunc(got, isFolder); len(got) == 0 {
			got = nil
		}
		if strings.Contains(":"+c.path+":", "::") || strings.HasPrefix(c.path, ".") || strings.Contains(c.path, "~+") || strings.Contains(c.path, "..") {
			require.Subset(t, got, c.want, "%s in %s by %s", c.line, c.dir, c.path) // and words that may be commands in another folder
			continue
		}
		require.Equal(t, c.want, got, "%s in %s by %s", c.line, c.dir, c.path)
	}
	got, err := Programs(app, bin, "which", "a b")
	require.NoError(t, err)
	require.Equal(t, []string{bin, "which"}, got, "words that no shell sees")
	got, err = Programs(filepath.Join(root, "way"), path(bin, filepath.Join(root, "way/later/bin"), system), "ls")
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(app, "later/bin"), bin, filepath.Join(root, "way/later/bin"), filepath.Join(root, "way/node_modules/.bin")}, got,
		"folders by each of their names, also before they are there")
	got, err = Programs(filepath.Join(app, "gone"), bin)
	require.NoError(t, err)
	require.Empty(t, got, "a call without a command")
	got, err = Programs(filepath.Join(app, "gone"), bin, "ls; which x")
	require.NoError(t, err)
	require.Contains(t, got, "which", "a folder that is gone")
	var many []string
	for i := range mostPrograms + 1 {
		many = append(many, fmt.Sprintf("p%04d", i))
		write("home/app/node_modules/.bin/"+many[i], 0o700)
	}
	got, err = Programs(app, bin, strings.Join(many[2:], "\n"))
	require.NoError(t, err)
	require.Len(t, got, mostPrograms)
	_, err = Programs(app, bin, strings.Join(many, "\n"))
	require.ErrorContains(t, err, "too many words")
	t.Chdir(app)
	got, err = Programs("", bin, "which x")
	require.NoError(t, err)
	require.Contains(t, got, "which", "where the hook runs")
	if os.Geteuid() != 0 {
		require.NoError(t, os.Chmod(bin, 0o100))
		got, err = Programs(app, bin, "which x")
		require.NoError(t, err)
		require.Contains(t, got, "which", "a folder that cannot be listed")
	}
}

// What make obeys saw a program start by PATH is known here.
func TestPrograms_KnowsWhatOthersStart(t *testing.T) {
	text, err := os.ReadFile("../../policy/testdata/obeys.tsv")
	require.NoError(t, err)
	seen := 0
	for line := range strings.Lines(string(text)) {
		cols := strings.Split(strings.TrimSpace(line), "\t")
		if len(cols) < 4 || slices.Contains([]string{"bash", "env", "flock"}, cols[0]) { // the line has the words
			continue
		}
		for word := range strings.FieldsSeq(cols[3]) {
			if name, starts := strings.CutPrefix(word, "!"); starts && !strings.HasPrefix(name, "git-") {
				require.Contains(t, starters()[cols[0]], name, cols[0])
				seen++
			}
		}
	}
	require.Greater(t, seen, 20)
}
