package program

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// judged is what a row says of a command, however it is spelled.
type judged struct {
	codes   finding.Set
	effects []command.Effect
}

func judgeWords(e *entry, words ...string) judged {
	x := &command.Call{Place: &workspace.Place{Roots: []string{"/w"}, Dirs: []string{"/w"}}}
	args := make([]workspace.Word, len(words))
	for i, w := range words {
		args[i] = workspace.Word{Text: w}
	}
	e.judge(x, "x", args)
	slices.SortFunc(x.Effects, func(a, b command.Effect) int { return strings.Compare(a.Word.Text, b.Word.Text) })
	return judged{x.Found, x.Effects}
}

// eachRow calls fn for every row that judges words itself, by the words that lead to it.
func eachRow(path []string, e *entry, fn func(path []string, e *entry)) {
	if e.verbs == nil && e.globs == nil {
		if e.rule == nil {
			fn(path, e)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(e.verbs)) {
		eachRow(append(slices.Clone(path), name), e.verbs[name], fn)
	}
}

// How a command is spelled says nothing of what it does: --a=b is --a b, -ab is
// -a -b, -nx is -n x, and options stand in any order.
func TestSpellingDoesNotMatter(t *testing.T) {
	all := entries()
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		root := all[name]
		eachRow([]string{name}, root, func(path []string, e *entry) {
			same := func(a, b []string) {
				compared++
				verb := path[1:]
				one, other := judgeWords(root, append(slices.Clone(verb), a...)...), judgeWords(root, append(slices.Clone(verb), b...)...)
				require.Equal(t, one, other, "%v: %v and %v", path, a, b)
			}
			for long, takes := range e.spec.Long {
				if takes && !root.onedash {
					same([]string{"--" + long + "=8"}, []string{"--" + long, "8"})
				}
			}
			if root.onedash || e.spec.All || e.spelled != nil { // of a program with spellings of its own
				return
			}
			for _, v := range e.spec.Values {
				if !strings.ContainsRune(e.spec.Maybe, v) {
					same([]string{"-" + string(v) + "8"}, []string{"-" + string(v), "8"})
				}
			}
			for i := 1; i < len(e.spec.Flags); i++ {
				a, b := e.spec.Flags[i-1:i], e.spec.Flags[i:i+1]
				same([]string{"-" + a + b}, []string{"-" + a, "-" + b})
				same([]string{"-" + a, "-" + b}, []string{"-" + b, "-" + a})
			}
		})
	}
	require.Greater(t, compared, 500)
}
