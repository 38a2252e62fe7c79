package card

import (
	"cmp"
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// Limits of a call that goes into a file: how much of it is on the card.
const (
	maxMarked  = 2 // lines that reasons come from
	headLines  = 4 // of a text
	diffLines  = 9 // of a change
	maxRows    = 4
	moreLines  = 2 // of each text but the first
	wideLine   = 2 * lineWidth
	maxOnLine  = 80 // characters of a path within a line
	beforeMark = 16 // characters of a long line before what is marked in it
)

// shortener leaves out of a call what does not fit a card, and counts it.
type shortener struct {
	where string
	cut   bool
}

// shorten gives the telling part of the blocks. whole reports that it leaves nothing out.
func shorten(blocks []Block, where string) (out []Block, missing int, whole bool) {
	s := shortener{where: where}
	texts := 0
	for _, b := range blocks {
		switch {
		case b.Own && b.Kind == Table: // the place that the call is bound to
			out = append(out, s.rows(b, len(b.Rows))...)
		case b.Own:
			out = append(out, s.code(b, moreLines)...)
		case b.Kind == Table:
			out = append(out, s.rows(b, maxRows)...)
		case texts >= maxInPart:
			missing++
			s.cut = true
		case b.Kind == Diff:
			out = append(out, s.diff(b, min(diffLines, diffLines/(texts+1)+1)))
			texts++
		default:
			room := headLines
			if texts > 0 {
				room = moreLines
			}
			out = append(out, s.code(b, room)...)
			texts++
		}
	}
	return out, missing, !s.cut
}

// left says how much is left out.
func (s *shortener) left(lines, characters int) string {
	var parts []string
	if lines > 0 {
		parts = append(parts, plural(lines, "more line"))
	}
	if characters > 0 {
		parts = append(parts, plural(characters, "more character"))
	}
	if len(parts) == 0 {
		return ""
	}
	s.cut = true
	return "… " + strings.Join(parts, " and ") + ", " + s.where
}

// code is the part of a text that reasons come from, and its beginning.
func (s *shortener) code(b Block, room int) []Block {
	if phoneLines(b) <= room && !slices.ContainsFunc(b.Lines, func(l Line) bool { return CharCount(l.Text()) > room*lineWidth }) {
		return []Block{b}
	}
	telling := Clip(slices.DeleteFunc(byWeight(b.Lines), func(l Line) bool {
		return l.rank == 0 || l.No > 0 && l.No <= room && CharCount(l.Text()) <= wideLine
	}), maxMarked)
	width := wideLine
	if len(telling) > 0 {
		room, width = max(room-len(telling), 1), lineWidth*3/2
	}
	if len(b.Lines) < room {
		width = room * lineWidth / max(len(b.Lines), 1)
	}
	lost, shown := 0, map[int]bool{}
	clip := func(lines []Line) []Line {
		out := make([]Line, len(lines))
		for i, l := range lines {
			var less int
			out[i], less = l.clipped(width)
			if !shown[l.No] { // of a line that is there twice the better part counts
				lost += less
			}
			shown[l.No] = true
		}
		return out
	}
	var out []Block
	head := Clip(b.Lines, room)
	if len(telling) > 0 {
		first := b
		first.Lines = clip(telling)
		out = append(out, first)
		head = slices.DeleteFunc(slices.Clone(head), func(l Line) bool { return l.No > 0 && shown[l.No] })
	}
	missing := len(b.Lines) - len(telling) - len(head)
	if b.Lines = clip(head); len(head) > 0 {
		out = append(out, b)
	}
	out[len(out)-1].Cut = s.left(missing, lost)
	return out
}

// sayLeft adds to the end of a command that is cut which commands are not shown whole.
func sayLeft(all, short []Block, risk approval.RiskClass, spread func() approval.Spread) {
	cut := -1
	for i, b := range short {
		if b.Kind == Code && b.Lang == "sh" && b.Name == "" && b.Cut != "" {
			cut = i
		}
	}
	if cut < 0 {
		return
	}
	param := short[cut].param
	whole, lines := map[int]string{}, 0
	for _, b := range all {
		for _, l := range b.Lines {
			if b.Kind == Code && b.param == param && l.No > 0 {
				whole[l.No], lines = l.Text(), max(lines, l.No)
			}
		}
	}
	shown := map[int]bool{}
	for _, b := range short {
		for _, l := range b.Lines {
			if text, is := whole[l.No]; is && b.Kind == Code && b.param == param && text == l.Text() {
				shown[l.No] = true
			}
		}
	}
	s := spread()
	// Hiding a secret of several lines changes the line numbers.
	same := s.Lines == lines
	if left := s.Left(risk, func(n int) bool { return same && shown[n] }).Left(); left != "" {
		short[cut].Cut += ": " + left
	}
}

// diff is a change with few of the lines around it, and its beginning if that is too long still.
func (s *shortener) diff(b Block, room int) Block {
	for context := 3; context >= 0; context-- {
		folded := b.Fold(context)
		if s.cut = s.cut || len(folded.Lines) < len(b.Lines); phoneLines(folded) <= room || context == 0 {
			b = folded
			break
		}
	}
	if phoneLines(b) <= room {
		return b
	}
	s.cut = true
	lost, kept := 0, 0
	var out []Line
	for _, l := range byWeight(b.Lines) {
		short, less := l.clipped(wideLine)
		if kept += 1 + (CharCount(short.Text())-1)/lineWidth; kept > room && len(out) > 0 {
			break
		}
		lost += less
		out = append(out, short)
	}
	own := func(l Line) bool { return l.Sign != Folded }
	missing := count(b.Lines, own) - count(out, own)
	b.Lines, b.Cut = out, s.left(missing, lost)
	return b
}

// byWeight puts lines first that reasons come from, the worst first: of each reason one, then the others of it.
func byWeight(lines []Line) []Line {
	var heavy, rest []Line
	for _, l := range lines {
		if l.rank > 0 {
			heavy = append(heavy, l)
		} else {
			rest = append(rest, l)
		}
	}
	slices.SortStableFunc(heavy, func(a, b Line) int { return cmp.Compare(a.rank, b.rank) })
	seen, again := map[string]int{}, map[int]int{} // by rank: how many lines of the same reason are heavier
	for _, l := range heavy {
		again[l.rank] = seen[l.code]
		seen[l.code]++
	}
	slices.SortStableFunc(heavy, func(a, b Line) int { return cmp.Compare(again[a.rank], again[b.rank]) })
	return append(heavy, rest...)
}

// rows are as many rows of a table, those that reasons come from first.
func (s *shortener) rows(b Block, most int) []Block {
	rows := slices.Clone(b.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		switch {
		case a.Marked == b.Marked:
			return 0
		case a.Marked:
			return -1
		}
		return 1
	})
	lost := 0
	for i, r := range Clip(rows, most) {
		name, value := Clipped(r.Name, maxField), elided(r.Value, maxField)
		lost += max(CharCount(r.Name)-CharCount(name), 0) + max(CharCount(r.Value)-CharCount(value), 0)
		rows[i].Name, rows[i].Value = name, value
	}
	var parts []string
	if n := len(rows) - most; n > 0 {
		parts = append(parts, plural(n, "more value"))
	}
	if lost > 0 {
		parts = append(parts, plural(lost, "more character"))
	}
	if b.Rows = Clip(rows, most); len(parts) > 0 {
		s.cut = true
		b.Cut = "… " + strings.Join(parts, " and ") + ", " + s.where
	}
	return []Block{b}
}

// clipped is the line with at most so many characters, those around what is marked or changed, and how many it lacks.
func (l Line) clipped(n int) (short Line, lost int) {
	text := l.Text()
	if all := CharCount(text); all > n {
		lost = all
	} else {
		return l, 0
	}
	at, found := 0, false
	for _, telling := range []func(Piece) bool{func(p Piece) bool { return p.Marked }, func(p Piece) bool { return p.Changed }} {
		if at = 0; found {
			break
		}
		for _, p := range l.Pieces {
			if found = telling(p); found {
				break
			}
			at += CharCount(p.Text)
		}
		if found {
			break
		}
	}
	begin := 0
	if found {
		begin = max(0, min(at-beforeMark, CharCount(text)-n))
	}
	short = Line{No: l.No, Sign: l.Sign, rank: l.rank, code: l.code}
	pos := 0
	if begin > 0 {
		short.Pieces = append(short.Pieces, Piece{Text: "…"})
	}
	for _, p := range l.Pieces {
		runes := []rune(p.Text)
		from, to := max(begin-pos, 0), min(begin+n-pos, len(runes))
		if pos += len(runes); from < to {
			p.Text = string(runes[from:to])
			short.Pieces = append(short.Pieces, p)
			lost -= to - from
		}
	}
	if begin+n < CharCount(text) {
		short.Pieces = append(short.Pieces, Piece{Text: "…"})
	}
	return short, lost
}

// elided is a text of at most about so many characters: of a path the middle goes, and the last two parts stay whole.
func elided(s string, n int) string {
	if CharCount(s) <= n {
		return s
	}
	sign := "/"
	if !strings.Contains(s, sign) {
		sign = `\`
	}
	parts := strings.Split(s, sign)
	if len(parts) < 4 || strings.ContainsAny(s, " ") {
		return Clipped(s, n)
	}
	last := strings.Join(parts[len(parts)-2:], sign)
	if CharCount(last) > maxRow {
		return Clipped(s, n)
	}
	first := 2 // the root has an empty name before it
	for first < len(parts)-3 && CharCount(strings.Join(parts[:first+1], sign))+CharCount(last)+3 <= n {
		first++
	}
	return strings.Join(parts[:first], sign) + sign + "…" + sign + last
}

// elide takes the middle out of what a line says whole, and reports whether it did.
func elide(w Words) (short Words, less bool) {
	short = slices.Clone(w)
	for i, x := range short {
		if x.Theirs && CharCount(x.Text) > maxOnLine {
			short[i].Text = elided(x.Text, maxField)
			less = less || short[i].Text != x.Text
		}
	}
	return short, less
}

// phoneLines is how many lines of a phone the block takes, about.
func phoneLines(b Block) (n int) {
	for _, s := range b.Within() {
		if n++; b.Kind != Diff { // whose lines are as long as a phone has them
			n += max(CharCount(s)-1, 0) / lineWidth
		}
	}
	return n
}

// lengthOf is how many characters blocks have.
func lengthOf(blocks []Block) (n int) {
	for _, b := range blocks {
		n += CharCount(b.Name)
		for _, s := range b.Plain() {
			n += CharCount(s) + 1
		}
	}
	return n
}
