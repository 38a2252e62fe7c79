package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// sumOf is what build.sum has of these sources.
func sumOf(t *testing.T, sources fs.FS) string {
	sum := sha256.New()
	require.NoError(t, fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name == "program/data"): // of which program/table.txt is made
			return fs.SkipDir
		case d.IsDir(), strings.HasSuffix(name, "_test.go"), strings.HasPrefix(d.Name(), "."), name == "build.sum":
			return nil
		}
		text, err := fs.ReadFile(sources, name)
		fmt.Fprintf(sum, "file %q %d\n%s\n", name, len(text), text)
		return err
	}))
	return hex.EncodeToString(sum.Sum(nil))
}

// A program that judges otherwise has another build: its sum is of the sources that are here.
func TestBuildIsOfTheSources(t *testing.T) {
	t.Parallel()
	sum := sumOf(t, os.DirFS("."))
	if *update {
		require.NoError(t, os.WriteFile("build.sum", []byte(sum+"\n"), 0o600))
		return
	}
	require.Equal(t, sum+"\n", sourcesSum, "policy's sources have changed: make generate")
}

// Each file that the program is built from counts, and no test does.
func TestBuildIsOfEverySource(t *testing.T) {
	t.Parallel()
	tree := func(files ...string) fstest.MapFS {
		tree := fstest.MapFS{
			"shell/read.go":    {Data: []byte("package shell")},
			"shell/testdata/x": {Data: []byte("a")}, "shell/read_test.go": {Data: []byte("a")},
		}
		for i := 0; i < len(files); i += 2 {
			tree[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		return tree
	}
	now := sumOf(t, tree())
	require.Equal(t, now, sumOf(t, tree("shell/read_test.go", "b", "shell/testdata/x", "b", "program/data/x.yaml", "b", "build.sum", "b")))
	seen := map[string]bool{now: true}
	for _, other := range []string{
		sumOf(t, tree("shell/read.go", "package shell // x")), sumOf(t, tree("shell/table.txt", "rm R3")),
		sumOf(t, tree("tables.go", "package policy")), sumOf(t, tree("shell/read.go", "", "tables.go", "package shell")),
	} {
		require.False(t, seen[other])
		seen[other] = true
	}
}

// What policy imports from elsewhere to read calls is known by its version.
func TestBuildHasAllModules(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
				continue
			}
			at := slices.IndexFunc(judgingModules, func(m string) bool { return strings.HasPrefix(imported+"/", m+"/") })
			require.GreaterOrEqual(t, at, 0, "%s imports %s, which is of none of the modules in judgingModules", name, imported)
			used[judgingModules[at]] = true
		}
		return nil
	}))
	require.Len(t, used, len(judgingModules), "of some modules nothing is imported")
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, m := range judgingModules {
		require.Contains(t, string(mod), "\t"+m+" v")
	}
}

func TestBuildNamesWhatJudges(t *testing.T) {
	t.Parallel()
	program := func(version, sum string) *debug.BuildInfo {
		return &debug.BuildInfo{Deps: []*debug.Module{
			{Path: "example.org/chat", Version: "v1"}, {Path: "mvdan.cc/sh/v3", Version: version, Sum: sum},
		}}
	}
	now := buildOf("sum", program("v3.1.0", "h1:a"))
	chat := program("v3.1.0", "h1:a")
	chat.Deps[0].Version = "v2"
	require.Equal(t, now, buildOf("sum\n", chat), "what policy does not use judges nothing")
	forked := program("v3.1.0", "h1:a")
	forked.Deps[1].Replace = &debug.Module{Path: "example.org/sh", Version: "v3.1.0", Sum: "h1:c"}
	seen := map[string]bool{now: true}
	for _, other := range []string{
		buildOf("sum", program("v3.1.1", "h1:b")), buildOf("sum", program("v3.1.0", "h1:b")), buildOf("sum", forked),
		buildOf("sum", &debug.BuildInfo{}), buildOf("other", program("v3.1.0", "h1:a")),
	} {
		require.False(t, seen[other])
		seen[other] = true
	}
}

// The build is part of each policy's name.
func TestHashNamesTheBuild(t *testing.T) {
	t.Parallel()
	cfg, bad := Config{}.normal()
	require.Empty(t, bad)
	a, err := cfg.hashOf("a build")
	require.NoError(t, err)
	b, err := cfg.hashOf("another")
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	want, err := cfg.hashOf(Build())
	require.NoError(t, err)
	got, err := cfg.hash()
	require.NoError(t, err)
	require.Equal(t, want, got)
}
