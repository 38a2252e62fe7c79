package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// atStart are the packages that may allocate more than a little before main runs, each with
// its reason.
var atStart = map[string]string{
	"approvalbot/cmd/approvalbot":   "these tests' own; the program's is main",
	"approvalbot/internal/fakechat": "only tests link it",
}

// No package of ours makes before main what the linker could lay out or a run may not need:
// every verb, a hook's question too, would pay for it. See internal/lazy, and sync.OnceValue.
func TestInit_AllocatesNothing(t *testing.T) {
	t.Parallel()
	const bytes, allocations = 2048, 40 // what some sync.OnceValue and strings.NewReplacer take
	cmd := exec.Command(program(t), "version")
	cmd.Env = append(cmd.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	seen := 0
	for line := range strings.Lines(string(out)) {
		var name string
		var at, took float64
		var size, count int
		_, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at, &took, &size, &count)
		if err != nil || !strings.HasPrefix(name, "approvalbot/") {
			continue
		}
		seen++
		if atStart[name] == "" {
			require.True(t, size <= bytes && count <= allocations,
				"%s allocates %d bytes in %d pieces before main; build at first use what it builds", name, size, count)
		}
	}
	require.Greater(t, seen, 5, "the trace was read")
}

// ofParts are the files whose patterns are no constants, with what compiles them instead.
var ofParts = map[string]string{"settings.go": "TestSettings_Compile of policy/shell"}

// nowhere imports nothing.
type nowhere struct{}

func (nowhere) Import(path string) (*types.Package, error) { return nil, errors.New(path) }

// A pattern that is compiled at first use compiles.
func TestInit_PatternsCompile(t *testing.T) {
	t.Parallel()
	folders := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			folders[filepath.Dir(path)] = true
		}
		return err
	}))
	seen := 0
	for folder := range folders {
		for text, place := range patterns(t, folder) {
			seen++
			_, err := regexp.Compile(text)
			require.NoError(t, err, place)
		}
	}
	require.Greater(t, seen, 50, "they were found")
}

// patterns gives the texts that a folder's files hand to lazy.Pattern, with their places. Each is a constant.
func patterns(t *testing.T, folder string) map[string]string {
	fset, out := token.NewFileSet(), map[string]string{}
	parsed, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range parsed {
		if file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution); err == nil && !strings.HasSuffix(name, "_test.go") {
			files = append(files, file)
		}
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	sloppy := types.Config{Importer: nowhere{}, Error: func(error) {}} // the folder's own constants suffice
	_, _ = sloppy.Check(folder, fset, files, info)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "lazy.Pattern" {
				return true
			}
			value := info.Types[call.Args[0]].Value
			place := fset.Position(call.Pos())
			if value != nil {
				out[constant.StringVal(value)] = place.String()
			} else {
				require.NotEmpty(t, ofParts[filepath.Base(place.Filename)], "%s: a pattern is a constant", place)
			}
			return true
		})
	}
	return out
}
