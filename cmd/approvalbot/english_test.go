package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of each kind of text, how often words may come in 10,000 that make a sentence one to read twice. A bound only goes down.
var english = map[string]struct{ where, whoever, nobody, stands float64 }{
	"comments": {where: 10, whoever: 1, nobody: 10, stands: 2},
	"texts":    {where: 2, whoever: 1, nobody: 6, stands: 2},
	"docs":     {where: 4, whoever: 0.5, nobody: 9, stands: 0.5},
}

var (
	englishWord = regexp.MustCompile(`[A-Za-z']+`)
	codeInText  = regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	sqlInText   = regexp.MustCompile(`\b(WHERE|INSERT INTO|ON CONFLICT)\b`)
	// tagInText is a tag of a page, whole or as much as one literal of the generated code has of it.
	tagInText = regexp.MustCompile(`<[^>]*(>|$)|^[^<>]*">`)
)

// textOf is what people read of a literal: of a struct's tag its doc alone, of a page what is between its tags, of SQL nothing.
func textOf(literal string) string {
	text, err := strconv.Unquote(literal)
	if err != nil || sqlInText.MatchString(text) {
		return ""
	}
	if strings.HasPrefix(text, `json:"`) {
		return reflect.StructTag(text).Get("doc")
	}
	return html.UnescapeString(tagInText.ReplaceAllString(text, " "))
}

// The English of comments, of texts for people (pages and API descriptions too) and of docs gets no harder to read. Tests,
// SQL and words in backquotes do not count. The share of if, when and because is told, not held.
func TestEnglish_GetsNoHarder(t *testing.T) {
	t.Parallel()
	kinds := map[string]*strings.Builder{"comments": {}, "texts": {}, "docs": {}}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(name, ".") && name != ".." || name == "bin" || name == "dist" || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md"):
			text, err := os.ReadFile(path)
			kinds["docs"].Write(text)
			return err
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(name, "_templ.go") { // it has the texts of a *.templ file, and of its comments none that is ours
			for _, c := range file.Comments {
				kinds["comments"].WriteString(c.Text() + " ")
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, is := n.(*ast.BasicLit); is && s.Kind == token.STRING {
				if text := textOf(s.Value); strings.Count(text, " ") >= 3 {
					kinds["texts"].WriteString(text + " ")
				}
			}
			return true
		})
		return nil
	}))
	for kind, most := range english {
		words := englishWord.FindAllString(strings.ToLower(codeInText.ReplaceAllString(kinds[kind].String(), " ")), -1)
		of := func(list string) float64 {
			n := 0
			for _, w := range words {
				if strings.Contains(" "+list+" ", " "+w+" ") {
					n++
				}
			}
			return float64(n) * 10_000 / float64(len(words))
		}
		t.Logf("%s: %d words; in 10,000 if, when and because %.1f, where %.1f, whoever %.1f, nobody %.1f, stands %.1f", kind, len(words),
			of("if when because"), of("where"), of("whoever whatever wherever"), of("nobody none nothing"), of("stand stands"))
		assert.LessOrEqual(t, of("where"), most.where, "%s: where", kind)
		assert.LessOrEqual(t, of("whoever whatever wherever"), most.whoever, "%s: whoever", kind)
		assert.LessOrEqual(t, of("nobody none nothing"), most.nobody, "%s: nobody", kind)
		assert.LessOrEqual(t, of("stand stands"), most.stands, "%s: stands", kind)
	}
}
