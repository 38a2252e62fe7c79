package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/lazy"
)

// maxOnPage is how many bytes of a call a page shows. Of a longer call the page shows
// headOnPage characters of each part, and offers the whole as a file.
const (
	maxOnPage  = 60_000
	headOnPage = 1500
)

// part is a block of a call as a page shows it.
type part struct {
	Name      string // empty: it is what the call is about, or a table of small values
	Lang      string
	Own       bool // the desk's own word
	Stretches []stretch
	Rows      []tableRow
	Numbered  bool   // its lines have numbers that are worth showing
	Cut       int    // so many characters are not on the page
	Left      string // what else is missing on this page, in words; empty if nothing is
}

// stretch is a number of lines that follow each other.
type stretch struct {
	Folded string // the number of unchanged lines that the page folds, in words; empty if they are open
	Lines  []line
}

// line is one line of a text: its class, its number, and its pieces.
type line struct {
	Class  string // "add", "del", "head" of a change; else empty
	No     string
	Pieces []piece
}

// piece is a stretch of text of one kind. The kinds are names of the stylesheet.
type piece struct {
	Class, Text string
	Marked      bool // a reason comes from it
	Changed     bool // of a line that goes or comes: the other one has other words here
}

// tableRow is a value by its name.
type tableRow struct {
	Name   string
	Value  []piece
	Marked bool // a reason comes from it
}

// parts are the blocks of a call for a page: whole, or if they have more than mostBytes (0: however many) the beginning of each.
func parts(a approval.Approval, blocks []card.Block, mostBytes int) (out []part, cut bool) {
	room := math.MaxInt
	if cut = mostBytes > 0 && sizeOf(blocks) > mostBytes; cut {
		room = headOnPage
	}
	for i, b := range blocks {
		plain := b.Kind == card.Code && len(b.Lines) == 1 && !slices.ContainsFunc(b.Lines[0].Pieces, func(p card.Piece) bool { return !p.Marked })
		p := part{Lang: b.Lang, Own: b.Own, Left: strings.ReplaceAll(b.Cut, ", open it for the rest", ""), Numbered: b.Numbers() != nil || b.Kind == card.Code && len(b.Lines) > shortLines}
		if b.Name != "" {
			own := b.Own || b.Kind == card.Diff // a change is named by the desk
			p.Name, _ = display.Clip(card.Fact{Name: b.Name, Own: own}.Label(a.ToolName), room)
		}
		left := room
		for _, r := range b.Rows {
			if left <= 0 {
				p.Cut += utf8.RuneCountInString(r.Name + r.Value)
				continue
			}
			p.Rows = append(p.Rows, tableRow{Name: p.take(r.Name, &left), Value: marked("", p.take(r.Value, &left)), Marked: r.Marked})
		}
		command := i == 0 && b.Name == "" && (a.ToolName == "exec" || a.Form == approval.FormCommand)
		p.Stretches = p.stretches(b, &left, command || b.Lang == "sh", a.Form != approval.FormPatch)
		if plain && len(blocks) == 1 { // a mark on the whole text tells no more than no mark
			p.unmark()
		}
		out = append(out, p)
	}
	return out, cut
}

func (p *part) unmark() {
	for _, s := range p.Stretches {
		for _, l := range s.Lines {
			for i := range l.Pieces {
				l.Pieces[i].Marked = false
			}
		}
	}
}

// take gives as much of a text as there is room for, and counts the rest.
func (p *part) take(text string, left *int) string {
	n := utf8.RuneCountInString(text)
	if n <= *left {
		*left -= n
		return text
	}
	short, _ := display.Clip(text, max(*left, 1))
	p.Cut += n - utf8.RuneCountInString(short)
	*left = 0
	return short
}

func sizeOf(blocks []card.Block) (n int) {
	for _, b := range blocks {
		n += len(b.Name)
		for _, r := range b.Rows {
			n += len(r.Name) + len(r.Value)
		}
		for _, l := range b.Lines {
			n += len(l.Text()) + 1
		}
	}
	return n
}

// Unchanged lines that are further than nearChange from a change are folded, if there are at least mostFolded of them.
// Folded lines count as shown, so only lines that the desk itself compared are folded: that a patch leaves lines
// unchanged is only its asker's claim.
const (
	nearChange = 3
	mostFolded = 3
)

// stretches are the lines of a block: coloured, and as far as there is room for them.
func (p *part) stretches(b card.Block, left *int, command, compared bool) (out []stretch) {
	shell := shellReader{start: true}
	far := make([]bool, len(b.Lines))
	if compared && b.Kind == card.Diff {
		far = farFromChange(b)
	}
	for i, l := range b.Lines {
		if *left <= 0 {
			p.Cut += utf8.RuneCountInString(l.Text()) + 1
			continue
		}
		begins := i == 0 || far[i] != far[i-1]
		if begins {
			out = append(out, stretch{})
		}
		one := line{Class: classes()[l.Sign], Pieces: p.pieces(l, left, &shell, command)}
		if l.No > 0 {
			one.No = strconv.Itoa(l.No)
		}
		last := &out[len(out)-1]
		if last.Lines = append(last.Lines, one); far[i] {
			last.Folded = fmt.Sprintf("%d unchanged lines", len(last.Lines))
		}
	}
	return out
}

// farFromChange says of each line of a change whether it is to be folded. A line is not folded if it changes, if a
// reason comes from it, or if it is the desk's own words.
func farFromChange(b card.Block) []bool {
	far := make([]bool, len(b.Lines))
	for i := range far {
		far[i] = true
	}
	for i, l := range b.Lines {
		if l.Sign != card.Same || telling(l) {
			for j := max(0, i-nearChange); j <= min(len(far)-1, i+nearChange); j++ {
				far[j] = false
			}
		}
	}
	for i := 0; i < len(far); i++ {
		end := i
		for end < len(far) && far[end] {
			end++
		}
		if end-i < mostFolded {
			for j := i; j < end; j++ {
				far[j] = false
			}
		}
		i = max(i, end-1)
	}
	return far
}

// pieces are those of a line, with its sign before them, coloured if it is a command line.
func (p *part) pieces(l card.Line, left *int, shell *shellReader, command bool) (out []piece) {
	if sign := signs()[l.Sign]; sign != "" {
		out = append(out, piece{Text: sign})
	}
	if !command || len(l.Pieces) == 0 {
		for _, x := range l.Pieces {
			out = append(out, like(marked("", p.take(x.Text, left)), x)...)
		}
		return out
	}
	coloured := shell.read(p.take(l.Text(), left))
	for _, x := range l.Pieces { // a colour and a mark need not begin and end at the same place
		rest := len(x.Text)
		for rest > 0 && len(coloured) > 0 {
			c := coloured[0]
			n := min(rest, len(c.Text))
			out = append(out, like([]piece{{Class: c.Class, Text: c.Text[:n]}}, x)...)
			if rest -= n; n == len(c.Text) {
				coloured = coloured[1:]
			} else {
				coloured[0].Text = c.Text[n:]
			}
		}
	}
	return append(out, coloured...)
}

// like marks pieces as that one of the card is.
func like(all []piece, as card.Piece) []piece {
	for i := range all {
		all[i].Marked, all[i].Changed = as.Marked, as.Changed
	}
	return all
}

var (
	signs = sync.OnceValue(func() map[card.Sign]string {
		return map[card.Sign]string{card.Gone: "- ", card.Come: "+ "}
	})
	classes = sync.OnceValue(func() map[card.Sign]string {
		return map[card.Sign]string{card.Gone: "del", card.Come: "add", card.Head: "head", card.Folded: "said"}
	})
)

// escapes are characters that would not be seen, as display writes them.
var escapes = lazy.Pattern(`\\u\{[0-9A-Fa-f]+\}`)

// marked sets what display escaped off from the text around it.
func marked(class, s string) (out []piece) {
	at := 0
	for _, m := range escapes.FindAllStringIndex(s, -1) {
		if m[0] > at {
			out = append(out, piece{Class: class, Text: s[at:m[0]]})
		}
		out, at = append(out, piece{Class: "hidden", Text: s[m[0]:m[1]]}), m[1]
	}
	if at < len(s) || len(out) == 0 {
		out = append(out, piece{Class: class, Text: s[at:]})
	}
	return out
}

// shellReader tells the words of a command line apart, only to colour them: policy
// decides what a line does.
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
