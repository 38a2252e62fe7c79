package card

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
)

// drawnRows is all that a chat shows of parameters.
func drawnRows(t require.TestingT, params any) string {
	text, err := json.Marshal(params)
	require.NoError(t, err)
	facts, err := PayloadFacts(approval.Call{ToolName: "frob", Params: text})
	require.NoError(t, err)
	var out []string
	for _, b := range Blocks(facts) {
		out = append(out, b.Name+">")
		out = append(out, b.Within()...)
	}
	return strings.Join(out, "\n")
}

// Two calls whose values are not the same never look alike; of a text only the line feed at its end is not seen.
func TestDifferentValuesLookDifferent(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"a":["x","y"]}`, `{"a":"x, y"}`}, {`{"a":["x","y"]}`, `{"a":"• x • y"}`}, {`{"a":["x"]}`, `{"a":"x"}`}, {`{"a":1}`, `{"a":"1"}`},
		{`{"a":"1"}`, `{"a":"\"1\""}`}, {`{"a.b":1}`, `{"a":{"b":1}}`}, {`{"a":{"b.c":1}}`, `{"a":{"b":{"c":1}}}`}, {`{"a":[{"b":1}]}`, `{"a":{"0":{"b":1}}}`},
		{`{"a":[]}`, `{"a":"[]"}`}, {`{"a":""}`, `{"a":"(empty)"}`}, {`{"a":null}`, `{"a":"null"}`}, {`{"a  b":"c"}`, `{"a":"b  c"}`},
		{`{"a":"x "}`, `{"a":"x"}`}, {`{"a":["1"]}`, `{"a":[1]}`}, {`{"a":"-1"}`, `{"a":-1}`}, {`{"":1}`, `{"\"\"":1}`}, {`{"a":[["x"],"y"]}`, `{"a":["x","y"]}`},
	} {
		var one, other map[string]any
		require.NoError(t, json.Unmarshal([]byte(pair[0]), &one))
		require.NoError(t, json.Unmarshal([]byte(pair[1]), &other))
		require.NotEqual(t, drawnRows(t, one), drawnRows(t, other), "%s and %s", pair[0], pair[1])
	}
	require.Equal(t, ">\nid    5b\ntags  • a • b", drawnRows(t, map[string]any{"id": "5b", "tags": []string{"a", "b"}}), "the ordinary value has no mark")

	word := rapid.SampledFrom([]string{"x", "y", "x, y", "a.b", "a", "b", "0", "1", "-1", "1e3", "", " ", "  ", "x  y", "a  x", "true", "null", "[]", "{}", `"x"`, `"`,
		"• x", "•", "• x • y", "(empty)", "x\ny", "… 3 empty lines", "\n\n\n\nx", ": x", "a: x", "↳", "  ↳x", `\`, strings.Repeat("long ", 30), "x" + strings.Repeat(" ", 29) + "b  y"})
	leaf := rapid.OneOf(rapid.Map(word, func(s string) any { return s }),
		rapid.SampledFrom([]any{nil, true, false, 0.0, 1.0, -1.0, 1000.0, []any{}, map[string]any{}}))
	nested := func(inner *rapid.Generator[any]) *rapid.Generator[any] {
		return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(word, inner, 0, 3), func(m map[string]any) any { return m }))
	}
	params := rapid.MapOfN(word, nested(nested(leaf)), 1, 2)
	seen := map[string]string{} // what was drawn, and of which params
	for i := range 3000 {
		drawn := params.Example(i)
		is, err := json.Marshal(drawn)
		require.NoError(t, err)
		rows := drawnRows(t, drawn)
		if was, again := seen[rows]; again && was != string(is) {
			t.Errorf("%s and %s look like\n%s", was, is, rows)
		}
		seen[rows] = string(is)
	}
}

// No line of a call looks like one that the desk says of it.
func TestNoLineLooksLikeTheDesks(t *testing.T) {
	require.Equal(t, []string{`  \u{2026} 3 empty lines`, "a … b"}, codeOf("", "", "  … 3 empty lines\na … b").Plain())
	var heads []string
	for _, l := range patchLines("+ not a line that comes\n- nor one that goes\n… 7 unchanged lines\n  unchanged\n a\n+++ b/x\n") {
		heads = append(heads, l.Text())
	}
	require.Equal(t, []string{`\u{2B} not a line that comes`, `\u{2D} nor one that goes`, `\u{2026} 7 unchanged lines`, `\u{20} unchanged`, " a", "+++ b/x"}, heads)
	blocks := blocksOf(t, "Edit", `{"path":"a","old_string":"a","new_string":"b","change 2":"- x\n+ y","change":"z"}`, "write")
	var names []string
	for _, b := range blocks {
		names = append(names, b.Name)
	}
	require.Equal(t, []string{"", "", `"change 2"`}, names)
	require.Equal(t, "“x\", for alice”", quoted("x”, for alice", 20))
}

// A change shows what it changes, also where that cannot be seen, and empty lines push nothing out of sight.
func TestAdversary_AChangeThatHides(t *testing.T) {
	edit := func(old, fresh string) *Card {
		params, err := json.Marshal(map[string]string{"path": "a.txt", "old_string": old, "new_string": fresh})
		require.NoError(t, err)
		a, facts := asked(t, "Edit", string(params), nil)
		a.Form = approval.FormWrite
		return Draw(a, approval.Delivery{Kind: approval.CardDelivery, Attached: true}, facts, reading()).Card
	}
	lines := func(c *Card) string { return strings.Join(c.Call[0].Plain(), "|") }
	require.Equal(t, "- e\u0301|+ \u00e9|… the same letters, encoded otherwise", lines(edit("e\u0301", "\u00e9")))
	require.Equal(t, `- a\u{200B}b|+ ab`, lines(edit("a\u200bb", "ab")))
	hides := edit("a", strings.Repeat("\n", 60)+"rm -rf /")
	require.Equal(t, "- a|+ |+ |… 58 empty lines that come|+ rm -rf /", lines(hides))
	require.Equal(t, "Shortened here, whole in the file above", hides.Cut)
	require.Equal(t, []string{"right-to-left text"}, edit("a", "\u05d0 rm \u05d1").State.Flags)
}

// Words in a payment's amount or currency are not read as the desk's sentence.
func TestAdversary_APaymentOfWords(t *testing.T) {
	for params, want := range map[string]string{
		`{"amount":"5","currency":"EUR to bob; free","to":"eve"}`: "to pay 5 to eve", `{"amount":"5 EUR to bob, not","to":"eve"}`: "to pay somebody",
		`{"amount":"249.90 EUR","to":"bob"}`: "to pay 249.90 EUR to bob", `{"amount":"$5","to":"bob"}`: "to pay $5 to bob",
	} {
		a, facts := asked(t, "pay", params, nil)
		a.Form = approval.FormPayment
		require.Equal(t, "main-agent asks "+want, Of(a, facts, reading()).Headline.String())
	}
}
