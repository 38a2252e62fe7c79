package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/lazy"
)

// maxOnPage is how many bytes of a call stand on a page. Of a longer one each part has
// headOnPage characters there, with the whole as a file.
const (
	maxOnPage  = 60_000
	headOnPage = 1500
)

// part is one fact of a call as a page shows it.
type part struct {
	Name  string
	Own   bool // the desk's own word
	Block bool // it stands without its name
	Lines []line
	Tree  *node // of a value that is JSON with something in it
	Cut   int   // so many characters are not on the page
}

// line is one line of a text: what sets it off as a whole, and its pieces.
type line struct {
	Class  string // "add", "del", "head" of a change; empty: none
	Pieces []piece
}

// piece is a stretch of text of one kind. The kinds are names of the stylesheet.
type piece struct{ Class, Text string }

// parts are the facts of a call for the page: whole, or where they are too long for it the
// beginning of each.
func parts(a approval.Approval, facts []card.Fact) (out []part, cut bool) {
	total := 0
	for _, f := range facts {
		total += len(f.Name) + len(f.Value)
	}
	room := maxOnPage
	if cut = total > maxOnPage; cut {
		room = headOnPage
	}
	for _, f := range facts {
		text, less := display.Clip(f.Value, room)
		p := part{Name: f.Label(a.ToolName), Own: f.Own, Block: f.Block, Lines: lines(kindOf(a, f), text)}
		if p.Name, _ = display.Clip(p.Name, room); less {
			p.Cut = utf8.RuneCountInString(f.Value) - utf8.RuneCountInString(text)
		} else {
			p.Tree = tree(text)
		}
		out = append(out, p)
	}
	return out, cut
}

// kindOf says how the text of a fact is coloured.
func kindOf(a approval.Approval, f card.Fact) string {
	switch {
	case f.Block && (a.Form == approval.FormPatch || f.Name == "change"):
		return "diff"
	case f.Block && (a.ToolName == "exec" || a.Form == approval.FormCommand), a.ToolName == "exec" && f.Name == "command":
		return "shell"
	}
	return ""
}

// lines colours a text. Whatever the colours, the pieces together are the text.
func lines(kind, text string) (out []line) {
	shell := shellReader{start: true}
	for s := range strings.SplitSeq(text, "\n") {
		l := line{}
		switch {
		case kind == "diff":
			l.Class, l.Pieces = diffClass(s), marked("", s)
		case kind == "shell":
			l.Pieces = shell.read(s)
		default:
			l.Pieces = marked("", s)
		}
		out = append(out, l)
	}
	return out
}

func diffClass(s string) string {
	switch {
	case strings.HasPrefix(s, "+++"), strings.HasPrefix(s, "---"), strings.HasPrefix(s, "@@"), strings.HasPrefix(s, "***"):
		return "head"
	case strings.HasPrefix(s, "+"):
		return "add"
	case strings.HasPrefix(s, "-"):
		return "del"
	}
	return ""
}

// escapes are characters that would not be seen, as display writes them.
var escapes = lazy.Pattern(`\\u\{[0-9A-Fa-f]+\}`)

// marked sets what display escaped off from the text around it.
func marked(class, s string) (out []piece) {
	at := 0
	for _, m := range escapes.FindAllStringIndex(s, -1) {
		if m[0] > at {
			out = append(out, piece{class, s[at:m[0]]})
		}
		out, at = append(out, piece{"hidden", s[m[0]:m[1]]}), m[1]
	}
	if at < len(s) || len(out) == 0 {
		out = append(out, piece{class, s[at:]})
	}
	return out
}

// shellReader tells the words of a command line apart, for their colours alone: what a
// line does is policy's to say.
type shellReader struct {
	start bool // a program's name comes next
	quote byte // that is open
}

var shellWords = lazy.Pattern(`\s+|&&|\|\||[|;&<>()]+|[^\s|;&<>()]+`)

func (r *shellReader) read(s string) (out []piece) {
	if r.quote == 0 {
		r.start = true
	}
	for _, w := range shellWords.FindAllString(s, -1) {
		class := r.class(w)
		out = append(out, marked(class, w)...)
	}
	return out
}

func (r *shellReader) class(w string) string {
	quoted := r.quote != 0
	for i := range len(w) {
		switch c := w[i]; {
		case r.quote == 0 && (c == '\'' || c == '"') && (i == 0 || w[i-1] != '\\'):
			r.quote, quoted = c, true
		case c == r.quote:
			r.quote = 0
		}
	}
	blank, operator := strings.TrimSpace(w) == "", strings.IndexByte("|;&<>()", w[0]) >= 0
	switch {
	case quoted:
		r.start = false
		return "text"
	case blank:
		return ""
	case operator:
		r.start = w[0] != '<' && w[0] != '>'
		return "op"
	case strings.Contains(w, "$"):
		return "var"
	case r.start && !strings.Contains(w, "="):
		r.start = false
		return "program"
	case w[0] == '-':
		return "option"
	}
	return ""
}

// Limits of a tree of JSON; what is beyond them is shown as text alone.
const (
	maxDepth = 40
	maxNodes = 2000
)

// node is one value of JSON.
type node struct {
	Name  string
	Text  []piece // of a value without members
	Nodes []node
	Open  string // "{…}" or "[…]", with how many members; empty: it has none
}

var errTooMuch = errors.New("too deep or too long")

// tree reads a value that is a JSON object or array; nil: it is none, or it is too much.
func tree(text string) *node {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	left := maxNodes
	n, err := readNode(d, "", 0, &left)
	if _, more := d.Token(); err != nil || !errors.Is(more, io.EOF) || len(n.Nodes) == 0 {
		return nil
	}
	return &n
}

func readNode(d *json.Decoder, name string, depth int, left *int) (n node, err error) {
	if *left--; *left < 0 || depth > maxDepth {
		return n, errTooMuch
	}
	n.Name = name
	t, err := d.Token()
	if err != nil {
		return n, err
	}
	open, isOpen := t.(json.Delim)
	if !isOpen {
		text, err := json.Marshal(t)
		if s, isText := t.(string); isText {
			text = []byte(`"` + s + `"`)
		}
		n.Text = marked("value", display.Safe(string(text)))
		return n, err
	}
	for d.More() {
		key := ""
		if open == '{' {
			k, err := d.Token()
			if err != nil {
				return n, err
			}
			key, _ = k.(string)
			key = display.Safe(key)
		}
		kid, err := readNode(d, key, depth+1, left)
		if err != nil {
			return n, err
		}
		n.Nodes = append(n.Nodes, kid)
	}
	n.Open = string(open)
	_, err = d.Token()
	return n, err
}
