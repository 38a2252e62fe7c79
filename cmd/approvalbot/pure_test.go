package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No room that the Makefile calls PURE starts a goroutine, nor do their tests, which is why make test
// runs them without the race detector. Policy's tests may: those that judge calls in several have names
// that end in AtOnce, and are run with it.
func TestRooms_PureStartNoGoroutine(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	pure := regexp.MustCompile(`(?m)^PURE := ((?:.*\\\n)*.*)$`).FindStringSubmatch(string(text))
	require.NotNil(t, pure)
	files := 0
	for _, room := range strings.Fields(strings.ReplaceAll(pure[1], "\\\n", " ")) {
		folder, deep := strings.CutSuffix(room, "/...")
		folder = filepath.Join("../..", folder)
		require.NoError(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != folder && !deep:
				return filepath.SkipDir
			case filepath.Ext(path) == ".go" && !(deep && strings.HasSuffix(path, "_test.go")):
				files++
				startsNoGoroutine(t, path)
			}
			return nil
		}))
	}
	require.Greater(t, files, 150)
}

func startsNoGoroutine(t *testing.T, path string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		_, starts := n.(*ast.GoStmt)
		if s, ok := n.(*ast.SelectorExpr); ok { // of a WaitGroup or an errgroup; of time or context
			starts = s.Sel.Name == "Go" || s.Sel.Name == "AfterFunc"
		}
		require.False(t, starts, "%s starts a goroutine: do it in the caller's, or take the room out of PURE in the Makefile", path)
		return true
	})
}
