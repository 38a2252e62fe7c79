package card

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// blocksOf are the blocks of a call.
func blocksOf(t *testing.T, tool, params string, form approval.Form) []Block {
	t.Helper()
	a, facts := asked(t, tool, params, nil)
	a.Form = form
	return Of(a, facts, reading()).Call
}

// An edit is shown line by line, without quotes: tabs are tabs, and the end of the last line is nothing.
func TestEditsAreADifference(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`{"file_path":"/w/a.go","old_string":"\tif err != nil {\n\t\treturn err\n\t}","new_string":"\tif err != nil {\n\t\treturn nil\n\t}"}`,
			"  \tif err != nil {\n- \t\treturn err\n+ \t\treturn nil\n  \t}"},
		{`{"file_path":"/w/a.go","old_string":"\treturn err\n","new_string":"\treturn nil\n"}`, "- \treturn err\n+ \treturn nil"},
		{`{"file_path":"/w/a.go","old_string":"\treturn err","new_string":"\treturn nil\n"}`,
			"- \treturn err\n+ \treturn nil\n… and a line feed at the end comes"},
		{`{"file_path":"/w/a.go","old_string":"a\n","new_string":"b"}`, "- a\n+ b\n… and the line feed at the end goes"},
		{`{"file_path":"/w/a.go","old_string":"  a\n  b ","new_string":"  a\n  c "}`, "    a\n-   b \n+   c "},
		{`{"file_path":"/w/a.go","old_string":"a\tb","new_string":"\u202ec"}`, "- a\tb\n+ \\u{202E}c"},
		{`{"file_path":"/w/a.go","old_string":"a","new_string":"a  "}`, "- a\n+ a\\u{20}\\u{20}"},
		{`{"file_path":"/w/a.go","old_string":"\ta","new_string":"    a"}`, "- \\u{9}a\n+     a"},
		{`{"file_path":"/w/a.go","old_string":"","new_string":"a\nb"}`, "+ a\n+ b"},
		{`{"file_path":"/w/a.go","old_string":"true","new_string":"\"x\""}`, "- true\n+ \"x\""},
	} {
		blocks := blocksOf(t, "edit", c.params, approval.FormWrite)
		require.Len(t, blocks, 1)
		require.Equal(t, Diff, blocks[0].Kind)
		require.Equal(t, "go", blocks[0].Lang)
		require.Equal(t, c.want, strings.Join(blocks[0].Plain(), "\n"))
	}
}

// Several edits of one call are a difference each; what is no edit of it stays beside them.
func TestManyEditsOfOneCall(t *testing.T) {
	blocks := blocksOf(t, "MultiEdit", `{"file_path":"a.py","edits":[{"old_string":"a","new_string":"b"},
		{"old_string":"c","new_string":"d","replace_all":true}]}`, approval.FormWrite)
	require.Len(t, blocks, 3)
	require.Equal(t, []string{"- a", "+ b"}, blocks[0].Plain())
	require.Equal(t, "change 2", blocks[1].Name)
	require.Equal(t, []string{"- c", "+ d"}, blocks[1].Plain())
	require.Equal(t, []Row{{Name: "edits.1.replace_all", Value: "true"}}, blocks[2].Rows)
	one := blocksOf(t, "MultiEdit", `{"edits":[{"old_string":"a"}],"file_path":"a.py"}`, approval.FormWrite)
	require.Equal(t, []Row{{Name: "edits.0.old_string", Value: "a"}}, one[0].Rows, "half an edit is none")
}

// The words that differ are marked, if the lines have anything in common.
func TestChangedWords(t *testing.T) {
	was, is := changedWords("  timeout: 30", "  timeout: 300", new(maxAllWords))
	require.Equal(t, []Piece{{Text: "  timeout: "}, {Text: "30", Changed: true}}, was)
	require.Equal(t, []Piece{{Text: "  timeout: "}, {Text: "300", Changed: true}}, is)
	was, is = changedWords("return err", "panic(1)", new(maxAllWords))
	require.Equal(t, []Piece{{Text: "return err"}}, was)
	require.Equal(t, []Piece{{Text: "panic(1)"}}, is)
}

// The lines of a difference give both texts back, for any two texts.
func TestADifferenceIsTrue(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "\td", "e f g", ""})
	rapid.Check(t, func(t *rapid.T) {
		was, is := rapid.SliceOfN(line, 1, 40).Draw(t, "was"), rapid.SliceOfN(line, 1, 40).Draw(t, "is")
		steps := compare(was, is)
		var a, b []string
		for _, s := range steps {
			if s.sign != Come {
				a = append(a, was[s.a])
			}
			if s.sign != Gone {
				b = append(b, is[s.b])
			}
		}
		require.Equal(t, was, a)
		require.Equal(t, is, b)
	})
	long := strings.Split(strings.Repeat("x\n", 5*maxSteps), "\n")
	require.Len(t, compare(long, strings.Split(strings.Repeat("y\n", 5*maxSteps), "\n")), len(long)*2-1, "its work is bounded")
}

// Few lines around a change are shown, and how many others there are.
func TestUnchangedLinesFold(t *testing.T) {
	old := strings.Repeat("same\n", 12) + "a\n" + strings.Repeat("same\n", 4) + "z"
	b := Block{Kind: Diff, Lines: difference(display.Leaf{Text: old}, display.Leaf{Text: strings.Replace(old, "a\ns", "b\ns", 1)}, new(maxAllWords))}.Fold(3)
	require.Equal(t, "… 9 unchanged lines|  same|  same|  same|- a|+ b|  same|  same|  same|… 2 unchanged lines", strings.Join(b.Plain(), "|"))
}

// A patch is a difference with the numbers that it gives; no line of it is lost.
func TestPatchesAreADifference(t *testing.T) {
	unified := "--- a/x.go\n+++ b/x.go\n@@ -7,3 +7,4 @@ func f() {\n \tx := 1\n-\ty := 2\n+\ty := 3\n+\tz := 4\n \treturn\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n--- a\n+-- b\n"
	b := Block{Kind: Diff, Lines: patchLines(unified)}
	require.Equal(t, `   --- a/x.go|   +++ b/x.go|   @@ -7,3 +7,4 @@ func f() {| 7   `+"\tx := 1| 8 - \ty := 2| 8 + \ty := 3| 9 + \tz := 4|10   \treturn|"+
		`   --- a/y|   +++ b/y|   @@ -1 +1 @@| 1 - -- a| 1 + -- b`, strings.Join(b.Plain(), "|"))
	codex := patchLines("*** Begin Patch\n*** Update File: a.go\n@@ func main\n-old\n+new\n same\n*** Add File: b\n+x\n*** End Patch")
	require.Equal(t, "*** Begin Patch|*** Update File: a.go|@@ func main|- old|+ new|  same|*** Add File: b|+ x|*** End Patch",
		strings.Join(Block{Kind: Diff, Lines: codex}.Plain(), "|"))
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"+a", "-b", " c", "d", "", "@@ -1,2 +1,2 @@", "--- x", "*** Update File: y", "+++ z", "diff --git a b"})
		lines := rapid.SliceOfN(line, 1, 20).Draw(t, "lines")
		got := patchLines(strings.Join(lines, "\n") + "\n")
		require.Len(t, got, len(lines))
		for i, l := range got {
			raw := map[Sign]string{Gone: "-", Come: "+", Same: " ", Head: ""}[l.Sign] + l.Text()
			require.Equal(t, lines[i], strings.TrimPrefix(raw, map[bool]string{true: " ", false: ""}[lines[i] == ""]))
		}
	})
}

// A value's members are rows of two columns, without quotes, and what does not fit one is a text of its own.
func TestParametersAreATable(t *testing.T) {
	blocks := blocksOf(t, "jira", `{"project":"SHOP","notify":true,"fields":{"assignee":{"id":"5b"},"labels":["checkout","prod"],
		"summary":"Checkout fails","empty":"","end":"a ","none":{},"text":"one\ntwo","odd":["a, b","c"]},"amount":24990,"currency":"eur"}`, "")
	require.Equal(t, Table, blocks[0].Kind)
	require.Equal(t, []Row{
		{Name: "amount", Value: "24990 eur"}, {Name: "notify", Value: "true"}, {Name: "project", Value: "SHOP"}, {Name: "fields.summary", Value: "Checkout fails"},
		{Name: "fields.empty", Value: ""}, {Name: "fields.end", Value: `a\u{20}`}, {Name: "fields.labels", Value: "• checkout • prod"},
		{Name: "fields.none", Value: "{}"}, {Name: "fields.odd", Value: "• a, b • c"},
		{Name: "fields.assignee.id", Value: "5b"},
	}, blocks[0].Rows)
	require.Equal(t, "fields.text", blocks[1].Name)
	require.Equal(t, []string{"one", "two"}, blocks[1].Plain())
}

// A text is its lines. Empty ones push nothing out of sight.
func TestATextIsItsLines(t *testing.T) {
	blocks := blocksOf(t, "write", `{"path":"m.go","content":"package main\n\n\n\n\nfunc main() {\n\tprintln(\"hi\\n\")\n}\n"}`, approval.FormWrite)
	require.Equal(t, "package main|… 4 empty lines|func main() {|\tprintln(\"hi\\n\")|}", strings.Join(blocks[0].Plain(), "|"))
	require.Equal(t, "go", blocks[0].Lang)
	require.Equal(t, 6, blocks[0].Lines[2].No)
}

// A long line is compared from its ends, in time that its length bounds; no character is cut in two.
func TestChangesOfALongLine(t *testing.T) {
	long := strings.Repeat("a b ", 120_000)
	was, is := changedWords(long+"é"+long, long+"è"+long, new(maxAllWords))
	require.Equal(t, "é", was[1].Text)
	require.Equal(t, "è", is[1].Text)
	require.True(t, is[1].Changed)
	was, is = changedWords("a"+long, "b"+strings.ToUpper(long), new(maxAllWords))
	require.Len(t, was, 1)
	require.Len(t, is, 1)
}
