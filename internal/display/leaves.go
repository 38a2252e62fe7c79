package display

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Leaf is a value without members, as people read it on lines of its own: redacted, and escaped by [EscapeText],
// without quotes.
type Leaf struct {
	Path []string // the names and numbers that lead to it; empty: it is the whole value
	Item bool     // the last of Path counts the items of an array
	Text string
}

// maxLeaves is how many leaves a value may have, and how many names lead to one: of a larger value the whole is one
// leaf, as compact JSON.
const (
	maxLeaves = 1000
	maxPath   = 30
)

// leafAt is where in a compact text a leaf is.
type leafAt struct {
	Leaf
	span
}

// Leaves shows a member of params as what it consists of, in the order of the text, with the secrets hidden that
// [Params] hides of it. None: the field is not one that [Params] made.
func (f Field) Leaves() []Leaf {
	d := json.NewDecoder(bytes.NewReader(f.sent.json))
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return nil
	}
	k := kindOfParam(f.sent.name)
	if s, ok := token.(string); ok {
		return []Leaf{{Text: EscapeText(redactAs(k, s))}}
	}
	at := []leafAt{}
	w := compact{leaves: &at}
	if w.value(d, token, k) != nil {
		return nil
	}
	text := w.out.String()
	if len(at) > maxLeaves || slices.ContainsFunc(at, func(l leafAt) bool { return len(l.Path) > maxPath }) {
		return []Leaf{{Text: Safe(text)}}
	}
	hidden := secrets(text)
	out := make([]Leaf, len(at))
	for i, l := range at {
		l.Text = EscapeText(unquoteJSON(withoutSecrets(text, l.span, hidden)))
		out[i] = l.Leaf
	}
	return out
}

// withoutSecrets is a stretch of the text in which those other stretches are hidden, as far as they are in it.
func withoutSecrets(text string, of span, hidden []span) string {
	var out strings.Builder
	at := of.from
	i, _ := slices.BinarySearchFunc(hidden, of.from, func(s span, from int) int {
		if s.to <= from {
			return -1
		}
		return 1
	})
	for _, s := range hidden[i:] {
		if s.from >= of.to {
			break
		}
		out.WriteString(text[at:max(at, s.from)])
		out.WriteString(redacted)
		at = min(s.to, of.to)
	}
	out.WriteString(text[at:of.to])
	return out.String()
}

// leaf notes what was written since begin.
func (w *compact) leaf(begin int) {
	if w.leaves != nil && len(*w.leaves) <= maxLeaves {
		*w.leaves = append(*w.leaves, leafAt{Leaf{Path: w.path, Item: w.item && len(w.path) > 0}, span{begin, w.out.Len()}})
	}
}

var jsonUnescapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t")

// unquoteJSON is a string that [quoteJSON] quoted; anything else stays.
func unquoteJSON(s string) string {
	if len(s) < 2 || s[0] != '"' {
		return s
	}
	return jsonUnescapes.Replace(s[1 : len(s)-1])
}
