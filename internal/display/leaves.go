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
	Path []string // the names and numbers that lead to it; empty for the whole value
	Item bool     // the last of Path counts the items of an array
	Text string

	sent string // a string or number as it was sent; never shown
}

// Lines gives the lines of the text, and for each a key that lines of two leaves share only if they were sent alike,
// even if much of them is hidden. keys is nil if the shown lines are not the sent ones, as with a private key of
// several lines. The line feed at the end of a text ends its last line; an empty text has no lines. The keys are never
// shown.
func (l Leaf) Lines() (lines, keys []string) {
	lines, keys = splitLines(l.Text), splitLines(l.sent)
	if len(lines) != len(keys) {
		return lines, nil
	}
	return lines, keys
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// Conceals reports whether a shown text may differ from what was sent, because a part of it is hidden or escaped.
func Conceals(shown string) bool {
	return strings.Contains(shown, redacted) || strings.Contains(shown, `\u{`)
}

// maxLeaves is how many leaves a value may have, and how many names lead to one: of a larger value the whole is one
// leaf, as compact JSON.
const (
	maxLeaves = 1000
	maxPath   = 30
)

// leafAt is the position of a leaf in a compact text.
type leafAt struct {
	Leaf
	span
}

// Leaves shows the parts of a member of params, in the order of the text, with the secrets hidden that [Params]
// hides. It gives nil if [Params] did not make the field.
func (f Field) Leaves() []Leaf {
	d := json.NewDecoder(bytes.NewReader(f.sent.json))
	d.UseNumber()
	token, err := d.Token()
	if err != nil {
		return nil
	}
	k := kindOfParam(f.sent.name)
	if s, ok := token.(string); ok {
		return []Leaf{{Text: EscapeText(redactAs(k, s)), sent: s}}
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

// leaf records the text written since begin.
func (w *compact) leaf(begin int, token json.Token) {
	if w.leaves != nil && len(*w.leaves) <= maxLeaves {
		sent, _ := token.(string)
		*w.leaves = append(*w.leaves, leafAt{Leaf{Path: w.path, Item: w.item && len(w.path) > 0, sent: sent}, span{begin, w.out.Len()}})
	}
}

// InRow is the text as it is shown beside other values. A text is quoted if it could be read as another kind of value,
// such as a number, or as the way an empty text or a list is written.
func (l Leaf) InRow() string {
	switch {
	case l.sent == "" || l.Text == "":
	case otherValues[l.Text], l.Text[0] == '"', strings.HasPrefix(l.Text, Bullet), isNumber(l.Text):
		return `"` + l.Text + `"`
	}
	return l.Text
}

// Bullet is before each item of a list in a row.
const Bullet = "• "

var otherValues = map[string]bool{"null": true, "true": true, "false": true, "[]": true, "{}": true, "(empty)": true}

func isNumber(s string) bool {
	return (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// NamePart is one of the names that lead to a value, which dots join and two blanks or a colon end: in quotes if it
// could be read as several names, as no name, or as the number of an item.
func NamePart(name string) string {
	number := strings.Trim(name, "0123456789") == ""
	odd := strings.ContainsAny(name, `."`) || strings.Contains(name, "  ") || strings.Contains(name, ": ")
	if !number && !odd && strings.Trim(name, " ") == name {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

var jsonUnescapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t")

// unquoteJSON is a string that [quoteJSON] quoted; anything else stays.
func unquoteJSON(s string) string {
	if len(s) < 2 || s[0] != '"' {
		return s
	}
	return jsonUnescapes.Replace(s[1 : len(s)-1])
}
