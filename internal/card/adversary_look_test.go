package card

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

func drawn(t *testing.T, tool string, form approval.Form, params map[string]any) Card {
	t.Helper()
	p, err := json.Marshal(params)
	require.NoError(t, err)
	facts, err := PayloadFacts(approval.Call{ToolName: tool, Params: p})
	require.NoError(t, err)
	return Of(approval.Approval{Asked: approval.Asked{ToolName: tool, Form: form, Fingerprint: strings.Repeat("a", 64)},
		Ended: approval.Ended{Status: approval.Pending}}, facts, Reader{Zone: time.UTC, People: &people.Directory{}})
}

// A line that changes is never drawn as one that stays, also if both look alike once secrets and odd signs are replaced.
func TestAdversary_L3_AChangeOfWhatIsHiddenIsAChange(t *testing.T) {
	for _, c := range [][2]string{
		{"password=hunter2correct\n", "password=attackerChosen9\n"},
		{"url: https://u:pa55w0rdX@db/x\n", "url: https://u:0therS3cret@db/x\n"},
		{"x = 'a\\u{202E}b'\n", "x = 'a\u202Eb'\n"},
		{"-----BEGIN PRIVATE KEY-----\nMIIB\nMIIC\n-----END PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nMIIX\nMIIY\n-----END PRIVATE KEY-----\n"},
	} {
		same := strings.Repeat("same\n", 20)
		old, fresh := same+c[0]+same, same+c[1]+same
		for name, params := range map[string]map[string]any{
			"one":  {"file_path": "/w/a", "old_string": old, "new_string": fresh},
			"many": {"file_path": "/w/a", "edits": []any{map[string]any{"old_string": old, "new_string": fresh}}},
		} {
			text := strings.Join(drawn(t, "Edit", approval.FormWrite, params).Call[0].Fold(3).Plain(), "\n")
			require.Contains(t, text, "\n- ", "%s: %q", name, c)
			require.Contains(t, text, "\n+ ", "%s: %q", name, c)
			require.Contains(t, text, "differ in what is hidden or escaped here", "%s: %q", name, c)
		}
		text := drawn(t, "Edit", approval.FormWrite, map[string]any{"file_path": "/w/a", "old_string": old, "new_string": old + "x\n"}).Call[0]
		if !strings.HasPrefix(c[0], "-----") {
			require.NotContains(t, strings.Join(text.Plain(), "\n"), "differ in what", "it does not change")
		}
	}
}

// A change of nothing, and a patch of nothing, have a card and a title.
func TestAdversary_L4_AnEmptyChange(t *testing.T) {
	for tool, params := range map[string]map[string]any{
		"Edit": {"file_path": "/etc/x", "old_string": "", "new_string": ""}, "apply_patch": {"input": ""}, "Write": {"file_path": "/etc/x", "content": ""},
	} {
		form := map[string]approval.Form{"Edit": approval.FormWrite, "apply_patch": approval.FormPatch, "Write": approval.FormWrite}[tool]
		c := drawn(t, tool, form, params)
		require.NotEmpty(t, c.Title())
		if tool != "Write" {
			require.Contains(t, c.Title(), "no change")
		}
	}
}

// A change with two spellings of its new text is drawn as what was sent: which of both counts, only the tool knows.
func TestAdversary_L5_TwoSpellingsOfATextAreNoDifference(t *testing.T) {
	for name, params := range map[string]map[string]any{
		"one":  {"file_path": "/w/a", "old_string": "a", "newString": "harmless", "new_string": "evil"},
		"many": {"file_path": "/w/a", "edits": []any{map[string]any{"old_string": "a", "newString": "harmless", "new_string": "evil"}}},
	} {
		for _, b := range drawn(t, "Edit", approval.FormWrite, params).Call {
			require.NotEqual(t, Diff, b.Kind, name)
		}
	}
}

// A text that reads like another value is in quotes; one of lines has no fold that hides blanks.
func TestAdversary_L6_OtherCallsHaveOtherDrawings(t *testing.T) {
	for _, c := range [][2]string{
		{`{"a":null}`, `{"a":"null"}`}, {`{"a":true}`, `{"a":"true"}`}, {`{"a":[]}`, `{"a":"[]"}`}, {`{"o":{"a":{}}}`, `{"o":{"a":"{}"}}`},
		{`{"c":"a\n\n\n\n \t\nb"}`, `{"c":"a\n\n\n\n\nb"}`},
	} {
		var drawn [2]string
		for i, p := range c {
			facts, err := PayloadFacts(approval.Call{ToolName: "frob", Params: []byte(p)})
			require.NoError(t, err)
			drawn[i] = Spelled(Blocks(facts), "frob")
		}
		require.NotEqual(t, drawn[0], drawn[1], "%s and %s", c[0], c[1])
	}
}

// The count of lines that a shortened change lacks is right, also if lines come first that reasons come from.
func TestAdversary_L7_CountsOfAShortenedChange(t *testing.T) {
	var old, fresh strings.Builder
	for i := range 40 {
		fmt.Fprintf(&old, "a%s\n%s", strings.Repeat("x", i), strings.Repeat("same\n", 4))
		fmt.Fprintf(&fresh, "b%s\n%s", strings.Repeat("y", i), strings.Repeat("same\n", 4))
	}
	b := Block{Kind: Diff, Lines: difference(display.Leaf{Text: old.String()}, display.Leaf{Text: fresh.String()}, new(maxAllWords)), param: changeName}
	for i := range b.Lines {
		if b.Lines[i].Sign == Come && i > 150 {
			b.Lines[i].rank = i
		}
	}
	own := func(l Line) bool { return l.Sign != Folded }
	out := (&shortener{where: "w"}).diff(b, 9)
	require.Contains(t, out.Cut, plural(count(b.Fold(0).Lines, own)-count(out.Lines, own), "more line"))
}

// Only so much of a call is compared word by word; of the rest the middle is marked.
func TestAdversary_L8_WordsAreComparedWithinABound(t *testing.T) {
	line := strings.Repeat("a.b", 100)
	old, fresh := strings.Repeat(line+"1\n", 800), strings.Repeat(line+"2\n", 800)
	left := maxAllWords
	lines := difference(display.Leaf{Text: old}, display.Leaf{Text: fresh}, &left)
	require.Len(t, lines, 1600)
	require.Less(t, left, 2*(len(line)+1))
	require.GreaterOrEqual(t, left, 0)
}
