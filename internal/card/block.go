package card

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"approvalbot/internal/display"
)

// Kind says what a block is.
type Kind int

// The kinds.
const (
	Code  Kind = iota // a text: its lines
	Diff              // lines that go and come, and those around them
	Table             // values by their names
)

// Sign is the role of a line in a change: kept, removed, added, folded, or a head.
type Sign int

// The signs. Of the last two the desk says Folded, and Head is a line of a patch about what follows it.
const (
	Same Sign = iota
	Gone
	Come
	Folded
	Head
)

// Block is a part of a call as people see it. Its texts are redacted and escaped, as display.EscapeText does: a line
// has no line feed in it, and may have tabs.
type Block struct {
	Kind  Kind
	Name  string // of the parameter; empty for the call's main text, and for the table of all small ones
	Lang  string // "sh", "go", "json", "sql", …; empty: plain
	Lines []Line // Code, Diff
	Rows  []Row  // Table
	Own   bool   // the desk's own words
	Cut   string // what is left out and which surface shows it; empty if all is shown

	param string // the parameter that Code belongs to, even if Name is empty
}

// Line is a line of a text.
type Line struct {
	No     int // in the text that it is of, from 1; of a change in the file, if the call tells; 0 if not known
	Sign   Sign
	Pieces []Piece

	rank int    // of the worst reason that comes from it, counted from 1; 0 if no reason does
	code string // of that
}

// Piece is a stretch of a line.
type Piece struct {
	Text    string
	Changed bool // of a line that goes or comes: the other one has other words here
	Marked  bool // a reason comes from it
}

// Row is a value by its name; names of nested values are joined by dots.
type Row struct {
	Name, Value string
	Marked      bool // a reason comes from it
}

// Text is the line without any difference between its pieces.
func (l Line) Text() string {
	if len(l.Pieces) == 1 {
		return l.Pieces[0].Text
	}
	var out strings.Builder
	for _, p := range l.Pieces {
		out.WriteString(p.Text)
	}
	return out.String()
}

// Signed is the line with its sign before it, as a difference is written.
func (l Line) Signed() string {
	switch l.Sign {
	case Gone:
		return "- " + l.Text()
	case Come:
		return "+ " + l.Text()
	case Same:
		return "  " + l.Text()
	}
	return l.Text()
}

// Plain are the lines of the block as text alone: signs before those of a difference, numbers before lines that do not
// begin with the first, a row on a line of its own with the values below each other.
func (b Block) Plain() []string {
	if b.Kind == Table {
		return b.rowLines()
	}
	numbers := b.Numbers()
	out := make([]string, len(b.Lines))
	for i, l := range b.Lines {
		if out[i] = l.Text(); b.Kind == Diff {
			out[i] = l.Signed()
		}
		if numbers != nil {
			out[i] = strings.TrimRight(numbers[i]+" "+out[i], " ")
		}
	}
	return out
}

// Numbers gives the text before each line: its number, padded to the widest. It gives nil if no number
// is known, or if the lines count from 1 anyway.
func (b Block) Numbers() []string {
	most, first := 0, 0
	for _, l := range b.Lines {
		if most = max(most, l.No); first == 0 {
			first = l.No
		}
	}
	if most == 0 || b.Kind == Code && first == 1 {
		return nil
	}
	width := len(strconv.Itoa(most))
	out := make([]string, len(b.Lines))
	for i, l := range b.Lines {
		if out[i] = strings.Repeat(" ", width); l.No > 0 {
			out[i] = fmt.Sprintf("%*d", width, l.No)
		}
	}
	return out
}

// Within gives the lines of Plain for a chat on a phone. A phone wraps a long line so that the rest looks like a line
// of its own: an added line would go on as one that was there before, a value as a further row. So a line of a
// difference is cut into as many columns as a phone has, and so is a row if its rest could pass for one; the rest
// follows an arrow, which no line of a difference and no row begins with. All other lines stay as they are, since
// people copy them and search for them.
func (b Block) Within() []string {
	lines := b.Plain()
	if b.Kind == Code {
		return lines
	}
	before := ""
	if numbers := b.Numbers(); numbers != nil {
		before = strings.Repeat(" ", len(numbers[0])+1)
	}
	out := make([]string, 0, len(lines))
	for i, line := range lines {
		head, rest := column(line, phoneColumns)
		on := "  ↳"
		switch {
		case b.Kind == Diff:
			on = before + cmp.Or(map[Sign]string{Gone: "-", Come: "+"}[b.Lines[i].Sign], " ") + "↳"
		case !strings.Contains(rest, "  "): // what is between a name and its value
			head, rest = line, ""
		}
		for out = append(out, head); rest != ""; out = append(out, on+head) {
			head, rest = column(rest, phoneColumns-CharCount(on))
		}
	}
	return out
}

// column cuts a text after at most so many columns, behind a blank if one is near, or else a dot, slash or comma.
func column(s string, columns int) (head, rest string) {
	wide, blank, soft := 0, 0, 0
	for i, r := range s {
		if wide++; r == '\t' || isWide(r) { // as chats have tabs
			wide++
		}
		if wide > columns && i > 0 {
			if blank > i/2 {
				i = blank
			} else if soft > i/2 {
				i = soft
			} else if escape := strings.LastIndex(s[:i], `\u{`); escape > 0 && !strings.Contains(s[escape:i], "}") {
				i = escape
			}
			return s[:i], s[i:]
		}
		switch r {
		case ' ':
			blank = i + 1
		case '.', '/', ',':
			soft = i + 1
		}
	}
	return s, ""
}

// isWide reports a letter or sign of two columns: Hangul, Han and its neighbours, full-width forms, emoji.
func isWide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0x1F300)
}

// maxNameColumn is how wide a table pads the names of its rows, so that their values align.
const maxNameColumn = 14

// phoneColumns is how many characters of code a phone has on a line.
const phoneColumns = 31

func (b Block) rowLines() []string {
	width := 0
	for _, r := range b.Rows {
		if n := CharCount(r.Name); n <= maxNameColumn {
			width = max(width, n)
		}
	}
	out := make([]string, len(b.Rows))
	for i, r := range b.Rows {
		value := r.Value
		if value == "" {
			value = "(empty)"
		}
		pad := max(width-CharCount(r.Name), 0)
		if short := CharCount(r.Name) + 2 + CharCount(value); short <= phoneColumns && short+pad > phoneColumns {
			pad = 0 // rather on one line than below the others
		}
		out[i] = r.Name + strings.Repeat(" ", pad) + "  " + value
	}
	return out
}

// codeOf makes a block of a text, the parameter of that name.
func codeOf(param, lang, text string) Block {
	b := Block{Kind: Code, Lang: lang, param: param}
	lines, empty := splitText(text), 0
	fold := func() {
		if empty > maxEmpty {
			kept := len(b.Lines) - empty
			b.Lines = append(b.Lines[:kept], Line{Sign: Folded, Pieces: said("… %d empty lines", empty)})
		}
		empty = 0
	}
	for i, s := range lines {
		if s != "" {
			fold()
		} else {
			empty++
		}
		b.Lines = append(b.Lines, Line{No: i + 1, Pieces: []Piece{{Text: unlike(s, "…")}}})
	}
	fold()
	return b
}

// unlike is a line of the asker's that does not begin as those of the desk: its first sign is escaped if it begins so,
// behind blanks or not.
func unlike(s string, heads ...string) string {
	text := strings.TrimLeft(s, " \t")
	for _, head := range heads {
		if r, size := utf8.DecodeRuneInString(head); strings.HasPrefix(text, head) {
			return fmt.Sprintf(`%s\u{%X}%s`, s[:len(s)-len(text)], r, text[size:])
		}
	}
	return s
}

// maxEmpty is how many empty lines in a row are drawn: more would push what is below them out of sight.
const maxEmpty = 2

// said is a line of the desk's own words.
func said(form string, args ...any) []Piece { return []Piece{{Text: fmt.Sprintf(form, args...)}} }

// splitText gives the lines of a text. A line feed at the end starts no further line; an empty text has no lines.
func splitText(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// leaves are what the value of a fact consists of.
func (f Fact) leaves() []display.Leaf {
	if f.parts != nil {
		if leaves := f.parts(); len(leaves) > 0 {
			return leaves
		}
	}
	return []display.Leaf{{Text: f.Value}}
}

// text is the value of a fact as lines; of one that has members it is compact JSON.
func (f Fact) text() string {
	if s, ok := f.plain(""); ok {
		return s
	}
	return f.Value
}

// single reports whether the value has no members.
func (f Fact) single() bool { _, ok := f.plain(""); return ok }

// plain is the value of a fact without members. If between is given, plain also joins a list of such values with it;
// no value may contain it then.
func (f Fact) plain(between string) (string, bool) {
	leaves := f.leaves()
	if len(leaves) == 1 && len(leaves[0].Path) == 0 {
		text := leaves[0].Text
		return text, between == "" || !strings.Contains(text, between)
	}
	items := make([]string, len(leaves))
	for i, l := range leaves {
		one := l.Item && len(l.Path) == 1 && l.Text != ""
		if between == "" || !one || strings.Contains(l.Text, between) || strings.Contains(l.Text, "\n") {
			return "", false
		}
		items[i] = l.Text
	}
	return strings.Join(items, between), true
}

// Blocks makes blocks of facts: one for each main fact of a call, a table of the asker's other facts, and one of the
// desk's own. A fact that is too long for a row is a block by itself.
func Blocks(facts []Fact) (out []Block) {
	var asked, own []Fact
	for _, f := range facts {
		switch {
		case f.Own:
			own = append(own, f)
		case f.Block:
			out = append(out, codeOf(f.Name, "", f.text()))
		default:
			asked = append(asked, f)
		}
	}
	for i, part := range [][]Fact{asked, own} {
		rows, texts := table(part)
		if rows.Own = i == 1; len(rows.Rows) > 0 {
			out = append(out, rows)
		}
		for _, b := range texts {
			b.Own = rows.Own
			out = append(out, b)
		}
	}
	return out
}

// table makes rows of facts, and a block of its own of each value that does not fit one.
func table(facts []Fact) (rows Block, blocks []Block) {
	rows = Block{Kind: Table}
	add := func(name, value string) {
		if value != "" && !fitsRow(value) {
			b := codeOf(name, langOf(value), value)
			b.Name = name
			blocks = append(blocks, b)
			return
		}
		rows.Rows = append(rows.Rows, Row{Name: name, Value: atEnds(value)})
	}
	for _, f := range facts {
		leaves := f.leaves()
		for i := 0; i < len(leaves); i++ {
			name := paramName(f)
			if path := leaves[i].Path; len(path) > 0 {
				name += "." + strings.Join(path, ".")
			}
			if items := list(leaves[i:]); len(items) > 0 {
				name = name[:strings.LastIndexByte(name, '.')]
				add(name, display.Bullet+strings.Join(items, " "+display.Bullet))
				i += len(items) - 1
				continue
			}
			add(name, leaves[i].InRow())
		}
	}
	rows.Rows = withCurrency(rows.Rows)
	slices.SortStableFunc(rows.Rows, func(a, b Row) int { return cmp.Compare(tells(a.Name), tells(b.Name)) })
	return rows, blocks
}

// tellingNames are names of nested values that say most of what a call is about; those of numbers and codes say least.
var (
	tellingNames = []string{"question", "summary", "title", "subject", "name", "amount", "price", "total"}
	codeNames    = []string{"id", "accountid", "uuid", "key"}
)

// tells orders rows: those of the call itself, then the nested ones that say most.
func tells(name string) int {
	in, last := splitName(name)
	switch {
	case in == "":
		return 0
	case slices.Contains(tellingNames, last):
		return 1
	case strings.Count(in, ".") > 0 && slices.Contains(codeNames, last):
		return 3
	}
	return 2
}

// paramName is a fact's name in a table: one of the asker's cannot be read as of nested values, or as the desk's own for a
// change.
func paramName(f Fact) string {
	rest, change := strings.CutPrefix(f.Name, changeName)
	switch {
	case f.Own:
		return f.Name
	case change && strings.Trim(rest, " 0123456789") == "":
		return `"` + f.Name + `"`
	}
	return display.NamePart(f.Name)
}

// list gives the items of an array that the leaves begin with, if all of them are short and no bullet is in one.
func list(leaves []display.Leaf) (items []string) {
	for i, l := range leaves {
		n := len(l.Path)
		if !l.Item || l.Path[n-1] != strconv.Itoa(i) || i > 0 && !slices.Equal(l.Path[:n-1], leaves[0].Path[:len(leaves[0].Path)-1]) {
			break
		}
		if !fits(l.Text, maxPlace) || strings.Contains(l.Text, display.Bullet[:len(display.Bullet)-1]) {
			return nil
		}
		items = append(items, l.InRow())
	}
	return items
}

// fitsRow reports whether a value reads well beside its name.
func fitsRow(s string) bool { return !strings.ContainsAny(s, "\n\t") && CharCount(s) <= maxRow }

// maxRow is how long a value beside its name may be.
const maxRow = 120

// atEnds makes the blanks at the ends of a value visible.
func atEnds(s string) string {
	body := strings.Trim(s, " ")
	if len(body) == len(s) {
		return s
	}
	begin := strings.Index(s, body)
	return strings.Repeat(blank, begin) + body + strings.Repeat(blank, len(s)-begin-len(body))
}

// blank is an ordinary one as display escapes what is not seen.
const blank = `\u{20}`

// langOf says in what language a value is, as far as its beginning tells.
func langOf(text string) string {
	switch {
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return "json"
	case strings.HasPrefix(text, "#!/bin/sh"), strings.HasPrefix(text, "#!/bin/bash"), strings.HasPrefix(text, "#!/usr/bin/env bash"):
		return "sh"
	}
	return ""
}

// langOfPath says by a file's name in what language it is.
func langOfPath(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch ext := name[strings.LastIndexByte(name, '.')+1:]; ext {
	case "go", "json", "yaml", "toml", "sql", "css", "html", "java", "c", "rust", "php", "swift", "kotlin", "lua", "xml", "ini":
		return ext
	case "yml":
		return "yaml"
	case "sh", "bash":
		return "sh"
	case "py":
		return "python"
	case "js", "mjs", "jsx":
		return "javascript"
	case "ts", "tsx":
		return "typescript"
	case "rb":
		return "ruby"
	case "rs":
		return "rust"
	case "kt":
		return "kotlin"
	case "md":
		return "markdown"
	case "h":
		return "c"
	case "cc", "cpp", "hpp":
		return "cpp"
	}
	return ""
}

// withCurrency puts an amount of money and its currency on one row if both are members of one object.
func withCurrency(rows []Row) []Row {
	for i, r := range rows {
		at, last := splitName(r.Name)
		if last != "amount" && last != "total" && last != "price" || !isAmount(r.Value) {
			continue
		}
		j := slices.IndexFunc(rows, func(o Row) bool {
			in, name := splitName(o.Name)
			return in == at && name == "currency" && isCurrency(o.Value)
		})
		if j < 0 {
			continue
		}
		out := slices.Clone(rows)
		out[i].Value = strings.Trim(r.Value, `"`) + " " + rows[j].Value
		return slices.Delete(out, j, j+1)
	}
	return rows
}

func splitName(name string) (at, last string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], foldName(name[i+1:])
}

func isAmount(s string) bool {
	s = strings.Trim(s, `"`) // of a number that is a text
	return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789.,-") == "" && strings.ContainsAny(s, "0123456789")
}

// isMoney reports an amount, with its currency or without one.
func isMoney(s string) bool {
	before, after, two := strings.Cut(s, " ")
	return isAmount(before) && (!two || isCurrency(after)) || two && isCurrency(before) && isAmount(after) ||
		isAmount(strings.TrimLeft(s, "$€£¥"))
}

func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(strings.ToUpper(s), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// flat gives blocks as facts, for those who show no blocks.
func flat(blocks []Block) (out []Fact) {
	for i, b := range blocks {
		if b.Kind == Table {
			for _, r := range b.Rows {
				out = append(out, Fact{Name: r.Name, Value: r.Value, Own: b.Own})
			}
			continue
		}
		name := b.Name
		if name == "" {
			name = b.param
		}
		value := strings.Join(b.Plain(), "\n")
		if b.Cut != "" {
			value += " " + "(" + strings.TrimPrefix(b.Cut, "… ") + ")"
		}
		out = append(out, Fact{Name: name, Value: value, Own: b.Own, Block: b.Name == "" && i == 0})
	}
	return out
}
