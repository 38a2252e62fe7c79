package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxCircle is how many files of a room may be in one circle of names: files each of
// which uses, through others of them or at once, what is declared in every other.
const maxCircle = 12

// largerCircles are the rooms with a larger circle and the size of it, which may only fall.
var largerCircles = map[string]int{"fakechat": 24}

// Inside a room files call downward: no circle of names has more than maxCircle files.
func TestRooms_HaveNoLargeCircles(t *testing.T) {
	t.Parallel()
	fset, exported, ours := token.NewFileSet(), map[string]string{}, map[string][]string{}
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "approvalbot/...")
	out, err := list.Output()
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		exported[p.ImportPath] = p.Export
		if _, own := roomOf(p.ImportPath); own && len(p.GoFiles) > maxCircle {
			for _, f := range p.GoFiles {
				ours[p.ImportPath] = append(ours[p.ImportPath], filepath.Join(p.Dir, f))
			}
		}
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) }
	imports := importer.ForCompiler(fset, "gc", lookup)
	unseen := maps.Clone(largerCircles)
	for path, files := range ours {
		uses, err := usesOf(fset, imports, path, files)
		require.NoError(t, err)
		room, _ := roomOf(path)
		circle, known := largestCircle(uses), largerCircles[room]
		delete(unseen, room)
		switch n := len(circle); {
		case n > max(maxCircle, known):
			t.Errorf("%s: %d files use each other in a circle, %d may; move a type or a helper of them to a file below: %s",
				room, n, max(maxCircle, known), strings.Join(slices.Sorted(slices.Values(circle)), " "))
		case known > 0 && n <= maxCircle:
			t.Errorf("%s: its largest circle has %d files by now; take it out of largerCircles", room, n)
		case n < known:
			t.Errorf("%s: its largest circle has %d files by now; write that in largerCircles", room, n)
		}
	}
	require.Empty(t, unseen, "these rooms have no such circle any more; take them out of largerCircles")
}

// usesOf says which files of a package each of its files uses: it names a function, a
// type, a method, a variable or a constant that is declared there.
func usesOf(
	fset *token.FileSet, imports types.Importer, path string, files []string,
) (map[string]map[string]bool, error) {
	var parsed []*ast.File
	for _, f := range files {
		file, err := parser.ParseFile(fset, f, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: imports}
	p, err := config.Check(path, fset, parsed, &info)
	if err != nil {
		return nil, err
	}
	fileOf := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	uses := map[string]map[string]bool{}
	for name, o := range info.Uses {
		f, isFunc := o.(*types.Func)
		method := isFunc && o.Pkg() == p && f.Signature().Recv() != nil
		if !method && o.Parent() != p.Scope() {
			continue
		}
		from := fileOf(name.Pos())
		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}
		uses[from][fileOf(o.Pos())] = true
	}
	return uses, nil
}

// largestCircle gives the files of the largest circle; a file alone is none.
func largestCircle(uses map[string]map[string]bool) (largest []string) {
	reached := map[string]map[string]bool{}
	var walk func(from, file string)
	walk = func(from, file string) {
		for next := range uses[file] {
			if !reached[from][next] {
				reached[from][next] = true
				walk(from, next)
			}
		}
	}
	for file := range uses {
		reached[file] = map[string]bool{}
		walk(file, file)
	}
	for file := range uses {
		var circle []string
		for other := range reached[file] {
			if reached[other][file] {
				circle = append(circle, other)
			}
		}
		if len(circle) > max(1, len(largest)) {
			largest = circle
		}
	}
	return largest
}
