package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/line"
	grammar "approvalbot/internal/policy/shell"
	"approvalbot/internal/policy/workspace"
)

// TestJudgedWordsAreTheFormsWords: the words that commands are judged by say the same
// as the form in which both readers agreed: what is written out there is literal and
// the same text, and nothing that is computed or a pattern there is literal.
func TestJudgedWordsAreTheFormsWords(t *testing.T) {
	t.Parallel()
	e := engine(t)
	stored, err := os.ReadFile(judgements)
	require.NoError(t, err)
	words := 0
	for row := range strings.Lines(string(stored)) {
		cols := strings.SplitN(strings.TrimSuffix(row, "\n"), "\t", 5)
		if len(cols) < 5 || cols[3] != "$" {
			continue
		}
		text := strings.ReplaceAll(cols[4], "␤", "\n")
		f := e.lines.Parse(text)
		if _, _, ok := grammar.Plain(nil, text, nil); !ok || f == nil {
			continue
		}
		syntax.Walk(f, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok {
				for _, arg := range c.Args {
					words++
					form := wordForm(arg)
					judged := e.lines.Read(nil, workspace.Place{}, &line.Seen{}, nil).Word(arg)
					marked := strings.ContainsFunc(strings.TrimPrefix(form, "\x04~"), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' })
					switch {
					case strings.HasPrefix(form, "\x0b"): // <( )
						require.Equal(t, workspace.Word{Text: "/dev/fd/63"}, judged, "%q", text)
					case !marked:
						require.Equal(t, workspace.Literal, judged.Kind, "%q in %q", form, text)
						require.Equal(t, strings.TrimPrefix(form, "\x04"), judged.Text, "%q", text)
						require.Equal(t, strings.HasPrefix(form, "\x04~"), judged.Tilde, "%q", text)
					case form != "\x04[": // the command
						require.NotEqual(t, workspace.Literal, judged.Kind, "%q in %q", form, text)
					}
				}
			}
			return true
		})
	}
	require.Greater(t, words, 5000)
}

// wordForm is the form of one word.
func wordForm(w *syntax.Word) string {
	one := &syntax.File{Stmts: []*syntax.Stmt{{Cmd: &syntax.CallExpr{Args: []*syntax.Word{w}}}}}
	return strings.TrimSuffix(string(grammar.Parsed(nil, one)), "\x1f\x1e")
}
