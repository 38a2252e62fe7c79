package card

import (
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// mark marks in a call what its reasons come from. Points are in the order of their weight, the worst first.
func mark(blocks []Block, points []approval.Point, tool string) {
	for rank, p := range points {
		param := p.Param
		if param == "" && tool == "exec" {
			param = "command"
		}
		for i := range blocks {
			b := &blocks[i]
			switch {
			case b.Own:
			case b.Kind == Table:
				b.markRow(param, p.Text)
			case b.param == param || b.param == changeName:
				b.markLine(p, rank+1)
			}
		}
	}
}

func (b *Block) markRow(param, text string) {
	param = paramName(Fact{Name: param})
	for i, r := range b.Rows {
		if in := r.Name == param || strings.HasPrefix(r.Name, param+"."); in && strings.Contains(r.Value, withoutEnd(text)) {
			b.Rows[i].Marked = true
		}
	}
}

// markLine marks the text in the line of that number, or, without a number, in the first line that has the text. A
// number without a text marks the whole line. Removed lines of a change are skipped, since they do not run.
func (b *Block) markLine(p approval.Point, rank int) {
	text, _, _ := strings.Cut(withoutEnd(p.Text), "\n")
	numbered := b.Kind == Code && p.Line > 0
	for i, l := range b.Lines {
		has := text != "" && strings.Contains(l.Text(), text)
		if l.Sign == Gone || l.Sign == Folded || numbered && l.No != p.Line || !numbered && !has {
			continue
		}
		if !has {
			text = l.Text()
		}
		b.Lines[i].Pieces = marked(l.Pieces, text)
		if l.rank == 0 {
			b.Lines[i].rank, b.Lines[i].code = rank, p.Code
		}
		return
	}
}

// withoutEnd is a text that was cut, without the sign of that.
func withoutEnd(text string) string { return strings.TrimSuffix(text, "…") }

// marked marks the text in a line's pieces, which must contain it.
func marked(pieces []Piece, text string) (out []Piece) {
	whole := Line{Pieces: pieces}.Text()
	from := strings.Index(whole, text)
	to, at := from+len(text), 0
	for _, p := range pieces {
		begin, end := max(from-at, 0), min(to-at, len(p.Text))
		at += len(p.Text)
		if begin >= end {
			out = append(out, p)
			continue
		}
		before, in, after := p, p, p
		before.Text, in.Text, after.Text, in.Marked = p.Text[:begin], p.Text[begin:end], p.Text[end:], true
		for _, x := range []Piece{before, in, after} {
			if x.Text != "" {
				out = append(out, x)
			}
		}
	}
	return out
}

// does names the part of this very call that a reason comes from. It is nil if no such part is known, or if the words
// before already name it.
func does(code string, points []approval.Point, before Words) (said Words) {
	more, left := 0, 0
	for _, p := range points {
		if p.Code == code {
			left = p.More
		}
		switch {
		case p.Code != code || p.Does == "" || strings.Count(p.Does, "%s") != len(p.Of) || saysAll(before, p.Of), longEcho(p, before):
		case said != nil:
			more++
		default:
			said = filled(p.Does, p.Of)
		}
	}
	if more += left; said != nil && more > 0 {
		said = append(said, Word{Text: fmt.Sprintf(", and %d more like that", more)})
	}
	return said
}

// filled puts the asker's words into the desk's sentence.
func filled(sentence string, of []string) (out Words) {
	for i, own := range strings.Split(sentence, "%s") {
		if own != "" {
			out = append(out, Word{Text: own})
		}
		if i < len(of) {
			out = append(out, theirs(of[i]))
		}
	}
	return out
}

// maxEcho is how long a reason may be that names what a short call right above it shows anyway.
const maxEcho = 48

func longEcho(p approval.Point, before Words) bool {
	seen := before.String()
	unseen := func(s string) bool { return !strings.Contains(seen, s) }
	return CharCount(filled(p.Does, p.Of).String()) > maxEcho && !slices.ContainsFunc(p.Of, unseen)
}

// inSight is what a card shows above the reasons of a call: its headline, which names the tool, and all of a call of a
// few lines. For an R4 call the reasons still say what it does.
func inSight(c Card, tool string) Words {
	const few = 3
	named := slices.Clone(c.Headline)
	if tool != "exec" { // there in people's words
		named = append(named, theirs(tool))
	}
	seen, lines := slices.Clone(named), 0
	for _, b := range c.Call {
		lines += phoneLines(b)
		seen = append(seen, Word{Text: "\n" + strings.Join(b.Plain(), "\n")})
	}
	if lines > few || c.Risk >= approval.R4 {
		return named
	}
	return seen
}

// saysAll reports whether words of the asker in a line are all of those.
func saysAll(line Words, of []string) bool {
	return len(of) > 0 && !slices.ContainsFunc(of, func(s string) bool { return !slices.Contains(line, theirs(s)) })
}
