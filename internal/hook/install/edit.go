package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// appendItem puts an item (a JSON text on one or several lines, indented by two) at
// the end of the array that path names, which is created if it is missing. Every
// other byte of the text is kept.
func appendItem(text string, path []string, item string) (string, error) {
	root, err := scan(text)
	if err != nil {
		return "", err
	}
	if root == nil { // empty, or comments
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + nest(path, item, "", "\n") + "\n", nil
	}
	style := newline(text)
	at, depth := root, 0
	for ; depth < len(path); depth++ {
		if at.kind != '{' {
			return "", fmt.Errorf("%s is not an object there", place(path[:depth]))
		}
		next := at.get(path[depth])
		if next == nil {
			break
		}
		at = next
	}
	if depth == len(path) && at.kind != '[' {
		return "", fmt.Errorf("%s is not a list there", place(path))
	}
	inner := indentAt(text, at.start) + "  "
	var added string
	if depth == len(path) {
		added = indent(item, inner, style)
	} else {
		below := nest(path[depth+1:], item, inner, style)
		if depth == len(path)-1 {
			below = "[" + style + indent(item, inner+"  ", style) + style + inner + "]"
		}
		added = inner + quote(path[depth]) + ": " + below
	}
	return insertLast(text, at, added, style), nil
}

// place names a path for people.
func place(path []string) string {
	if len(path) == 0 {
		return "the whole file"
	}
	return strings.Join(path, ".")
}

// nest is the value that has item in the list at path, whose closing brackets are
// indented by margin.
func nest(path []string, item, margin, style string) string {
	inner := margin + "  "
	if len(path) == 0 {
		return "[" + style + indent(item, inner, style) + style + margin + "]"
	}
	return "{" + style + inner + quote(path[0]) + ": " + nest(path[1:], item, inner, style) + style + margin + "}"
}

// insertLast puts added, which is indented, after the last item or member of v.
func insertLast(text string, v *value, added, style string) string {
	end, others := lastEnd(v)
	if !others {
		closing := text[v.end-1:]
		between := text[v.start+1 : v.end-1]
		if strings.TrimSpace(between) == "" { // {} and { } become lines
			between = ""
		}
		return text[:v.start+1] + strings.TrimRight(between, " \t\r\n") + style + added + style +
			indentAt(text, v.start) + closing
	}
	comma := ","
	if at := commaAfter(text, end); at >= 0 { // one follows the last already
		comma, end, added = "", at+1, added+","
	}
	line := remarkEnd(text, end)
	return text[:end] + comma + text[end:line] + style + added + text[line:]
}

// remarkEnd is the end of a comment that follows on the same line with no other text
// after it; else the place itself.
func remarkEnd(text string, at int) int {
	s := &scanner{text: text, pos: at}
	line := at + strings.IndexByte(text[at:]+"\n", '\n')
	if strings.TrimSpace(text[at:line]) == "" || s.space() != nil || s.pos <= line {
		return at
	}
	end := at + len(strings.TrimRight(text[at:line], "\r"))
	if open := (&scanner{text: text[:end], pos: at}); open.space() != nil {
		return at // the comment goes on below
	}
	return end
}

// lastEnd is the end of the last item or member of v.
func lastEnd(v *value) (end int, ok bool) {
	switch {
	case len(v.members) > 0:
		return v.members[len(v.members)-1].value.end, true
	case len(v.items) > 0:
		return v.items[len(v.items)-1].end, true
	}
	return 0, false
}

// commaAfter is the position of the comma that follows a value; -1 if there is no
// comma.
func commaAfter(text string, end int) int {
	s := &scanner{text: text, pos: end}
	if s.space() == nil && s.peek() == ',' {
		return s.pos
	}
	return -1
}

// removeItems removes the items that ours reports from the list at path, then the
// list and the objects around it if they are empty. Every other byte is kept.
func removeItems(text string, path []string, ours func(item string) bool) (string, bool, error) {
	root, err := scan(text)
	if err != nil {
		return "", false, err
	}
	chain := []*value{root}
	for _, name := range path {
		chain = append(chain, chain[len(chain)-1].get(name))
	}
	at := chain[len(chain)-1]
	if at == nil || at.kind != '[' {
		return text, false, nil
	}
	mine := slices.IndexFunc(at.items, func(v *value) bool { return ours(text[v.start:v.end]) })
	if mine < 0 {
		return text, false, nil
	}
	starts := make([]int, len(at.items))
	ends := make([]int, len(at.items))
	for i, v := range at.items {
		starts[i], ends[i] = v.start, v.end
	}
	for depth := len(path); ; depth-- {
		if len(starts) > 1 || depth == 0 {
			text = cutOne(text, chain[depth], starts, ends, mine)
			break
		}
		parent := chain[depth-1]
		starts, ends, mine = nil, nil, 0
		for i, m := range parent.members {
			starts, ends = append(starts, m.start), append(ends, m.value.end)
			if m.name == path[depth-1] {
				mine = i
			}
		}
	}
	rest, _, err := removeItems(text, path, ours)
	return rest, true, err
}

// cutOne takes the item number i of v away with one of the commas beside it.
func cutOne(text string, v *value, starts, ends []int, i int) string {
	blank := func(from, to int) bool { return strings.TrimSpace(text[from:to]) == "" }
	switch {
	case i > 0:
		before := commaAfter(text, ends[i-1])
		kept := strings.TrimRight(text[before+1:starts[i]], " \t\r\n") // a comment
		if after := commaAfter(text, ends[i]); after >= 0 {
			return text[:before+1] + kept + text[after+1:]
		}
		return text[:before] + kept + text[ends[i]:]
	case len(starts) > 1:
		comma := commaAfter(text, ends[0])
		if blank(comma+1, starts[1]) { // up to the start of the one behind
			return text[:starts[0]] + text[starts[1]:]
		}
		return text[:starts[0]] + strings.TrimLeft(text[comma+1:], " \t\r\n")
	}
	end := ends[0]
	if comma := commaAfter(text, end); comma >= 0 {
		end = comma + 1
	}
	inside := strings.TrimSpace(text[v.start+1:starts[0]]) + strings.TrimSpace(text[end:v.end-1])
	if inside == "" {
		return text[:v.start+1] + text[v.end-1:]
	}
	return text[:starts[0]] + text[end:] // comments stay
}

// newline is how the text ends its lines.
func newline(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// indentAt is the blanks at the beginning of the line on which a place is.
func indentAt(text string, at int) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// indent puts the margin before each line.
func indent(text, margin, style string) string {
	return margin + strings.ReplaceAll(text, "\n", style+margin)
}

// quote writes a JSON string.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always written
	return strings.TrimSuffix(b.String(), "\n")
}

// errUnsure says that an edit would change more than intended; the file is not
// written then.
var errUnsure = errors.New("the edit would change something else in this file; add the lines by hand (--print " +
	"shows them)")

// checkAppended checks an edit: the new text must decode to the old value with the
// item at the end of the list.
func checkAppended(before, after string, path []string, item string) error {
	was, err := scan(before)
	if err != nil {
		return err
	}
	is, err := scan(after)
	if err != nil {
		return errUnsure
	}
	added, err := scan(item)
	if err != nil {
		return err
	}
	expected, _ := was.plain(before).(map[string]any)
	if expected == nil {
		expected = map[string]any{}
	}
	at := expected
	for _, name := range path[:len(path)-1] {
		next, _ := at[name].(map[string]any)
		if next == nil {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	last := path[len(path)-1]
	items, _ := at[last].([]any)
	at[last] = append(items, added.plain(item))
	if !reflect.DeepEqual(is.plain(after), any(expected)) {
		return errUnsure
	}
	return nil
}
