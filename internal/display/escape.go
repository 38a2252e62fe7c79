package display

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"
)

// concealed holds the characters that a reader cannot see, or that change how
// their neighbours look, save the ordinary space.
var concealed = sync.OnceValue(func() *unicode.RangeTable {
	return rangetable.Merge(
		unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Me, // enclosing marks strike or ring the letter before them
		unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, // Hangul fillers, joiners, unused tags
		rangetable.New(
			0x00A0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
			0x2007, 0x2008, 0x2009, 0x200A, 0x202F, 0x205F, 0x3000, // spaces, all but U+0020
			0x2800,                                 // a braille pattern without dots
			0x0334, 0x0335, 0x0336, 0x0337, 0x0338, // overlays
			0x20D2, 0x20D3, 0x20D8, 0x20D9, 0x20DA, 0x20E5, 0x20E6, 0x20EA, 0x20EB,
		),
		&unicode.RangeTable{R32: []unicode.Range32{{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}}}, // tags
	)
})

func isConcealed(r rune) bool {
	if r < 0x7F {
		return r < ' '
	}
	return unicode.Is(concealed(), r)
}

// Escape makes characters visible that a reader would miss or be misled by:
// control, format, bidi, surrogate, tag and variation-selector characters,
// line and paragraph separators, every space but U+0020, Hangul fillers,
// combining overlays and enclosing marks. Each is written \u{HEX}, in capitals
// and without padding, so a line feed is \u{A}; a byte that is not UTF-8 is
// written \x{HH}. Emoji sequences lose their joiners and selectors to this
// too. Everything else stays as it is; in particular a backslash is not
// doubled, so Escape(Escape(s)) == Escape(s).
func Escape(s string) string {
	start := firstConcealed(s)
	if start < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)+32), s[:start]...)
	for i := start; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x{%02X}`, s[i])
		case isConcealed(r):
			out = fmt.Appendf(out, `\u{%X}`, r)
		default:
			out = append(out, s[i:i+size]...)
		}
		i += size
	}
	return string(out)
}

// EscapeBlock is Escape for a text that is shown in a block of its own, in which its lines cannot be taken for
// anyone else's. It keeps line feeds, and up to 20 tabs at the beginning of a line; these are the only control
// characters that it keeps. Line feeds at either end, and those that would put more than one empty line between two
// others, are escaped all the same: text cannot be pushed out of sight, and no line feed is dropped unseen.
func EscapeBlock(s string) string {
	if strings.IndexByte(s, '\n') < 0 {
		return Escape(s)
	}
	lines := strings.Split(s, "\n")
	empty := func(i int) bool { return strings.Trim(lines[i], " ") == "" }
	var out strings.Builder
	for i, line := range lines {
		switch {
		case i == 0:
		case empty(i) && (empty(i-1) || i == len(lines)-1),
			i == 1 && empty(0):
			out.WriteString(lineFeed)
		default:
			out.WriteByte('\n')
		}
		out.WriteString(EscapeLine(line))
	}
	return out.String()
}

// EscapeLine is Escape for a line of a text that is shown in a block of its own: tabs that it begins
// with stay.
func EscapeLine(line string) string {
	text := strings.TrimLeft(line, "\t")
	if tabs := len(line) - len(text); tabs > maxTabs || text == "" {
		text = line
	}
	return line[:len(line)-len(text)] + Escape(text)
}

// EscapeText is Escape for a text that is shown as lines of its own, each marked as part of it: its line feeds and
// tabs stay, except in a line with more tabs in a row than an indent has.
func EscapeText(s string) string {
	if firstConcealed(s) < 0 {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.Contains(line, manyTabs) {
			lines[i] = Escape(line)
			continue
		}
		cells := strings.Split(line, "\t")
		for j, cell := range cells {
			cells[j] = Escape(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// maxTabs is how many tabs indent a line: more would push it out of sight.
const maxTabs = 20

var manyTabs = strings.Repeat("\t", maxTabs+1)

// OneLine makes one line of a result of EscapeBlock, as Escape writes it.
func OneLine(s string) string { return Escape(s) }

// Bar is written before each line of a text of several lines that is not the desk's own.
const Bar = "│ "

// lineFeed is how Escape writes one.
const lineFeed = `\u{A}`

// Concealed gives the first character of s that a reader would miss or be misled by, and its place, counted in
// characters from 1; 0 if there is no such character. A byte that is not UTF-8 is such a character.
func Concealed(s string) (r rune, at int) {
	i := firstConcealed(s)
	if i < 0 {
		return 0, 0
	}
	r, _ = utf8.DecodeRuneInString(s[i:])
	return r, utf8.RuneCountInString(s[:i]) + 1
}

// firstConcealed returns the position at which Escape would first change s, or -1.
func firstConcealed(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7F {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if isConcealed(r) || r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
