package core_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// The Gate stays small, and what it keeps things in is no interface of everything.
func TestTheGateStaysSmall(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, reflect.TypeFor[*core.Gate]().NumMethod(), 40)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[core.Stores]()) {
		require.LessOrEqual(t, field.Type.NumMethod(), 8, field.Name)
	}
}

// Files call downward: no file uses a name of one that uses it, over others too.
func TestFilesCloseNoCircle(t *testing.T) {
	t.Parallel()
	uses := usedFiles(t)
	var path []string
	done := map[string]bool{}
	var visit func(file string)
	visit = func(file string) {
		require.NotContains(t, path, file, "a circle of files: %v", path)
		if path = append(path, file); !done[file] {
			for used := range uses[file] {
				visit(used)
			}
		}
		path, done[file] = path[:len(path)-1], true
	}
	for file := range uses {
		visit(file)
	}
	require.True(t, uses["voting.go"]["vote.go"])
}

// usedFiles gives the files of the package that each of its files uses a name or method of.
func usedFiles(t *testing.T) map[string]map[string]bool {
	t.Helper()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	set, files := token.NewFileSet(), []*ast.File{}
	for _, name := range names {
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		files = append(files, file)
	}
	// What is imported is not read: names of this package are known without.
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, _ := config.Check("approvalbot/core", set, files, &info)
	uses := map[string]map[string]bool{}
	for name, object := range info.Uses {
		_, function := object.(*types.Func)
		if object.Pkg() != pkg || !function && object.Parent() != pkg.Scope() {
			continue
		}
		from, to := set.Position(name.Pos()).Filename, set.Position(object.Pos()).Filename
		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}
		if from != to {
			uses[from][to] = true
		}
	}
	return uses
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("is not read") }
