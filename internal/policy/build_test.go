package policy

import (
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

// Every file that the program is built from, here and in the rooms below, is in it.
func TestBuildHasAllSources(t *testing.T) {
	t.Parallel()
	var files int
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name == "program/data"): // of which program/table.txt is made
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(d.Name(), "."):
			return nil
		}
		files++
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		got, err := sources.ReadFile(name)
		require.NoError(t, err, "policy/%s judges, and no pattern of go:embed in build.go takes it: add one", name)
		require.Equal(t, string(want), string(got), name)
		return nil
	}))
	require.Greater(t, files, 50)
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
	name := func(program *debug.BuildInfo, files ...string) string {
		tree := fstest.MapFS{
			"shell/read.go":    {Data: []byte("package shell")},
			"shell/testdata/x": {Data: []byte("a")}, "shell/read_test.go": {Data: []byte("a")},
		}
		for i := 0; i < len(files); i += 2 {
			tree[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		got, err := buildOf(tree, program)
		require.NoError(t, err)
		return got
	}
	now := name(program("v3.1.0", "h1:a"))
	same := program("v3.1.0", "h1:a")
	require.Equal(t, now, name(same, "shell/read_test.go", "b", "shell/testdata/x", "b"), "tests judge nothing")
	chat := program("v3.1.0", "h1:a")
	chat.Deps[0].Version = "v2"
	require.Equal(t, now, name(chat), "nor does what policy does not use")
	forked := program("v3.1.0", "h1:a")
	forked.Deps[1].Replace = &debug.Module{Path: "example.org/sh", Version: "v3.1.0", Sum: "h1:c"}
	seen := map[string]bool{now: true}
	for _, other := range []string{
		name(program("v3.1.1", "h1:b")), name(program("v3.1.0", "h1:b")), name(forked), name(&debug.BuildInfo{}),
		name(same, "shell/read.go", "package shell // x"), name(same, "shell/data/programs.txt", "rm R3"),
		name(same, "tables.go", "package policy"),
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
	own, err := Build()
	require.NoError(t, err)
	want, err := cfg.hashOf(own)
	require.NoError(t, err)
	got, err := cfg.hash()
	require.NoError(t, err)
	require.Equal(t, want, got)
}
