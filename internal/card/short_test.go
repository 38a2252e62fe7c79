package card

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// pointed is the drawing of a call of exec whose reasons come from those points.
func pointed(t *testing.T, command string, points ...approval.Point) *Card {
	t.Helper()
	params, err := json.Marshal(map[string]string{"command": command})
	require.NoError(t, err)
	a, facts := asked(t, "exec", string(params), nil)
	a.Points = points
	return Draw(a, approval.Delivery{Kind: approval.CardDelivery, Attached: true}, facts, reading()).Card
}

// plainOf are the lines of a card's blocks, and what they leave out.
func plainOf(c *Card) (out []string) {
	for _, b := range c.Call {
		out = append(out, strings.Join(b.Plain(), "|"))
		if b.Cut != "" {
			out = append(out, b.Cut)
		}
	}
	return out
}

// Of a long script the line comes first that its worst reason comes from, with its number; then one of each other
// reason, then the head, and the count of all that is left out.
func TestALongScriptShowsWhatDecides(t *testing.T) {
	script := "set -e\n" + strings.Repeat("aws s3 cp a b\n", 60) + "rm -rf /var/lib/releases\n"
	remove := approval.Point{Code: "recursive-delete", Line: 62, Text: "rm -rf /var/lib/releases"}
	c := pointed(t, script, remove, approval.Point{Code: "remote-system", Line: 2, Text: "aws s3 cp a b"},
		approval.Point{Code: "remote-system", Line: 3, Text: "aws s3 cp a b"})
	require.Equal(t, []string{"62 rm -rf /var/lib/releases", "set -e|aws s3 cp a b|aws s3 cp a b", "… 58 more lines, whole in the file above"}, plainOf(c))
	require.True(t, c.Call[0].Lines[0].Pieces[0].Marked)

	older := pointed(t, script)
	require.Equal(t, []string{"set -e|aws s3 cp a b|aws s3 cp a b|aws s3 cp a b", "… 58 more lines, whole in the file above"}, plainOf(older), "no points: the head")

	long := strings.Repeat("a=b ", 200) + "rm -rf / " + strings.Repeat("x", 200)
	c = pointed(t, long, approval.Point{Code: "recursive-delete", Line: 1, Text: "rm -rf /"})
	require.Contains(t, plainOf(c)[0], "rm -rf /", "of a long line what is around it")
	require.True(t, strings.HasPrefix(plainOf(c)[0], "…"))
	require.Regexp(t, `^… \d+ more characters, whole in the file above$`, plainOf(c)[1])
}

// A row that a reason comes from is among those that are shown.
func TestRowsThatReasonsComeFromAreShown(t *testing.T) {
	members := map[string]string{}
	for i := range 30 {
		members[fmt.Sprintf("k%02d", i)] = "v"
	}
	members["z"] = "/etc/passwd"
	params, err := json.Marshal(members)
	require.NoError(t, err)
	a, facts := asked(t, "frob", string(params), nil)
	a.Points = []approval.Point{{Code: "writes-system", Param: "z", Text: "/etc/passwd"}}
	c := Draw(a, approval.Delivery{Kind: approval.CardDelivery}, facts, reading()).Card
	require.Equal(t, Row{Name: "z", Value: "/etc/passwd", Marked: true}, c.Call[0].Rows[0])
	require.Equal(t, "… 27 more values, whole in the file above", c.Call[0].Cut)
}

// The middle of a long path goes, its last two parts stay whole, and the file has all of it.
func TestALongPathLosesItsMiddle(t *testing.T) {
	path := "/workspace/shop" + strings.Repeat("/services", 10) + "/order-confirmation/layout.html"
	a, facts := asked(t, "write", `{"path":"`+path+`","content":"x\n"}`, nil)
	a.Form = approval.FormWrite
	d := Draw(a, approval.Delivery{Kind: approval.CardDelivery}, facts, reading())
	require.Equal(t, "main-agent asks to write /workspace/shop/services/…/order-confirmation/layout.html (1 line)", d.Card.Headline.String())
	require.Equal(t, "Shortened here, whole in the file above", d.Card.Cut)
	require.Empty(t, d.Card.Offers, "not before the file is there")
	require.Contains(t, d.File.Text, path)
	require.Contains(t, Of(a, facts, reading()).Headline.String(), path, "a page has room")
}

// A reason says what it comes from in this very call, unless the line above says that.
func TestReasonsNameWhatTheyComeFrom(t *testing.T) {
	a, facts := asked(t, "exec", `{"command":"kubectl delete namespace staging"}`, nil)
	a.Assessment = approval.Assessment{RiskClass: approval.R4, ReasonCodes: []string{"destroys-infrastructure", "remote-system"}}
	a.Why = []string{"It changes what runs.", "It uses credentials."}
	a.Points = []approval.Point{
		{Code: "destroys-infrastructure", Text: "kubectl delete namespace staging", Does: "deletes namespace %s", Of: []string{"staging"}},
		{Code: "destroys-infrastructure", Text: "x", Does: "deletes namespace %s", Of: []string{"b"}},
		{Code: "remote-system", Text: "y", Does: "two %s of %s", Of: []string{"b"}},
	}
	c := Of(a, facts, reading())
	require.Equal(t, "R4 high impact: deletes namespace staging, and 1 more like that", c.Why)
	require.Equal(t, Words{{Text: "R4 high impact"}, {Text: ": "}, {Text: "deletes namespace "}, theirs("staging"), {Text: ", and 1 more like that"}}, c.RiskLine())
	c.State.Flags = []string{"hidden characters"}
	require.Equal(t, "R4 high impact · ⚠️ hidden characters: deletes namespace staging, and 1 more like that", c.RiskLine().String())

	w, facts := asked(t, "write", `{"path":"/etc/hosts","content":"x"}`, nil)
	w.Form, w.Why = approval.FormWrite, []string{"It changes a system file."}
	w.Assessment.ReasonCodes, w.Points = []string{"writes-system"}, []approval.Point{{Code: "writes-system", Param: "path", Does: "changes %s", Of: []string{"/etc/hosts"}}}
	require.Equal(t, "R0 read only: changes a system file", Of(w, facts, reading()).RiskLine().String())
}

// For any call, an allow without a file means that each line and each value of it is on the card; and the file of any
// other has them.
func TestAdversary_S1_NothingIsAllowedUnseen(t *testing.T) {
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", " a ", "\ta", "a\n", "a\n\n\n\nb", "{\"x\":1}", "true", "EUR", "249.90", "a\\nb", "1,2", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
			"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y", "/" + strings.Repeat("abc/", 40) + "d"}),
		rapid.StringMatching(`[a-z \n\t]{0,60}`), rapid.Map(rapid.StringMatching(`[a-z]{1,9}\n`), func(s string) string { return strings.Repeat(s, 30) }))
	name := rapid.SampledFrom([]string{"path", "file_path", "content", "old_string", "new_string", "edits", "input", "amount", "currency", "to", "url", "command", "x", "labels"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.Just[any](1.5), rapid.Just[any](true), rapid.Just[any](nil))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf, leaf,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(name, value(depth-1), 0, 4), func(m map[string]any) any { return m }))
	}
	squeeze := strings.NewReplacer(" ", "", "\t", "", blank, "", `\u{9}`, "")
	rapid.Check(t, func(rt *rapid.T) {
		params, err := json.Marshal(rapid.MapOfN(name, value(2), 0, 6).Draw(rt, "params"))
		require.NoError(t, err)
		dir := "/srv" + strings.Repeat("/x", rapid.SampledFrom([]int{0, 3, 60, 700}).Draw(rt, "deep"))
		a, facts := asked(t, "frob", string(params), &approval.Bind{Workdir: &dir})
		a.Form = rapid.SampledFrom([]approval.Form{"", approval.FormWrite, approval.FormPatch, approval.FormPayment, approval.FormMessage,
			approval.FormFetch, approval.FormCommand, approval.FormRead, approval.FormDatabase, approval.FormPlan}).Draw(rt, "form")
		d := Draw(a, approval.Delivery{Kind: approval.CardDelivery, Attached: true}, facts, reading())
		seen := d.Card.Headline.String() + "\n" + d.Card.Place.String() + "\n" + Spelled(d.Card.Call, "frob")
		if d.File != nil {
			seen = d.File.Text
		}
		seen = squeeze.Replace(seen)
		require.Contains(t, seen, dir, "where it runs is part of what runs")
		fields, err := display.Params(params)
		require.NoError(t, err)
		for _, f := range fields {
			for _, l := range f.Leaves() {
				for line := range strings.SplitSeq(l.Text, "\n") {
					if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
						line = line[1:] // the sign of a difference
					}
					require.Contains(t, seen, squeeze.Replace(line), "%s of %s", f.Name, params)
				}
			}
		}
	})
}

// A card that does not show a whole script counts the commands on lines that it lacks or cuts, with their worst class;
// if its lines have other numbers than the call's, as if a secret of several is hidden, it shows no command for sure.
func TestACutScriptSaysWhatCommandsItLacks(t *testing.T) {
	said := func(command string, spread approval.Spread) string {
		params, err := json.Marshal(map[string]string{"command": command})
		require.NoError(t, err)
		a, facts := asked(t, "exec", string(params), nil)
		a.Assessment.RiskClass = approval.R4
		a.Points = []approval.Point{{Code: "recursive-delete", Line: spread.Lines, Text: "rm -rf /srv"}}[:min(spread.Lines, 1)]
		r := reading()
		r.Spread = func() approval.Spread { return spread }
		cuts := ""
		for _, b := range Draw(a, approval.Delivery{Kind: approval.CardDelivery, Attached: true}, facts, r).Card.Call {
			cuts += b.Cut
		}
		return cuts
	}
	lines := func(n int, worst approval.RiskClass) (s approval.Spread) {
		s.Lines = n
		for i := range n {
			s.Parts = append(s.Parts, approval.Part{From: i + 1, To: i + 1, Class: worst, Command: true})
		}
		s.Parts[n-1].Class = approval.R4
		return s
	}
	require.Equal(t, "… 57 more lines, whole in the file above: 57 more commands, none above R1",
		said(strings.Repeat("touch a\n", 60)+"rm -rf /srv\n", lines(61, approval.R1)))
	require.Equal(t, "… 57 more lines, whole in the file above: 80 more commands, up to R4",
		said(strings.Repeat("touch a\n", 60)+"rm -rf /srv\n", lines(80, approval.R1)))
	require.Empty(t, said("touch a\nrm -rf /srv\n", lines(2, approval.R1)), "all of it is shown")
	require.Equal(t, "… 57 more lines, whole in the file above", said(strings.Repeat("touch a\n", 60)+"rm -rf /srv\n", approval.Spread{Lines: 0, Parts: nil}))
}

// Two tools whose names differ at their ends alone are told apart on their cards.
func TestALongToolNameIsThereWhole(t *testing.T) {
	of := func(tool string) (text string) {
		a, facts := asked(t, tool, `{"id":1}`, nil)
		for _, b := range Of(a, facts, reading()).Call {
			text += strings.Join(b.Plain(), "\n")
		}
		return text
	}
	long := "mcp__" + strings.Repeat("internal-knowledge-base-", 3)
	require.Contains(t, of(long+"__get_page"), long+"__get_page")
	require.NotContains(t, of("mcp__jira__get_page"), "get_page", "the headline names it")
}
