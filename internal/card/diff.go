package card

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"approvalbot/internal/display"
)

// maxSteps bounds the work of one comparison: so many lines or words may differ. If the texts differ more, the whole
// old text is shown as removed and the whole new one as added, which is correct too, but long.
const maxSteps = 300

// step is one line or word of two lists that are compared: in both, gone from the first, or come with the second.
type step struct {
	sign Sign
	a, b int // its place in each; of one that it is not in, the place of the next
}

// compare gives the shortest way from a to b (Myers, "An O(ND) Difference Algorithm"), within maxSteps.
func compare(a, b []string) []step {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []step
	for i := range head {
		out = append(out, step{Same, i, i})
	}
	for _, s := range between(a[head:len(a)-tail], b[head:len(b)-tail]) {
		out = append(out, step{s.sign, head + s.a, head + s.b})
	}
	for i := range tail {
		out = append(out, step{Same, len(a) - tail + i, len(b) - tail + i})
	}
	return out
}

// between compares lists that neither begin nor end alike.
func between(a, b []string) []step {
	x, y := numbered(a, b)
	most := min(len(x)+len(y), maxSteps)
	best := make([]int, 2*most+2) // by diagonal: how far into x the furthest way came
	var ways [][]int              // best as it was before each step
	for d := 0; d <= most; d++ {
		ways = append(ways, slices.Clone(best[most-d:most+d+2]))
		for k := -d; k <= d; k += 2 {
			i := 0
			if k == -d || k != d && best[most+k-1] < best[most+k+1] {
				i = best[most+k+1]
			} else {
				i = best[most+k-1] + 1
			}
			for i < len(x) && i-k < len(y) && x[i] == y[i-k] {
				i++
			}
			if best[most+k] = i; i >= len(x) && i-k >= len(y) {
				return back(ways, len(x), len(y))
			}
		}
	}
	var out []step
	for i := range a {
		out = append(out, step{Gone, i, 0})
	}
	for j := range b {
		out = append(out, step{Come, len(a), j})
	}
	return out
}

// back walks the ways from the end to the beginning.
func back(ways [][]int, i, j int) (out []step) {
	for d := len(ways) - 1; d >= 0; d-- {
		best, k := ways[d], i-j
		at := func(k int) int { // best was kept from the diagonal -d
			if n := k + d; n >= 0 && n < len(best) {
				return best[n]
			}
			return 0
		}
		from := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			from = k + 1
		}
		fi := at(from)
		fj := fi - from
		if d == 0 {
			fi, fj = 0, 0
		}
		for i > fi && j > fj {
			i, j = i-1, j-1
			out = append(out, step{Same, i, j})
		}
		switch {
		case d == 0:
		case i > fi:
			i--
			out = append(out, step{Gone, i, j})
		default:
			j--
			out = append(out, step{Come, i, j})
		}
	}
	slices.Reverse(out)
	return out
}

// numbered gives each text a number, since those compare faster.
func numbered(a, b []string) (x, y []int) {
	numbers := map[string]int{}
	of := func(list []string) []int {
		out := make([]int, len(list))
		for i, s := range list {
			n, ok := numbers[s]
			if !ok {
				n = len(numbers)
				numbers[s] = n
			}
			out[i] = n
		}
		return out
	}
	return of(a), of(b)
}

// difference gives the lines of an old text and a new one: removed lines before added ones, with the differing words
// marked. A difference that cannot be seen is described in words. left is how many bytes may be compared word by word.
func difference(old, fresh display.Leaf, left *int) []Line {
	was, is, written := sides(old, fresh)
	var out []Line
	var gone, come []string
	flush := func() {
		out = append(out, change(gone, come, left)...)
		if slices.ContainsFunc(gone, func(s string) bool { return display.Conceals(s) && slices.Contains(come, s) }) {
			out = append(out, Line{Sign: Folded, Pieces: []Piece{{Text: written}}})
		}
		for i := range min(len(gone), len(come)) {
			if gone[i] != come[i] && display.SameLetters(gone[i], come[i]) {
				out = append(out, Line{Sign: Folded, Pieces: said("… the same letters, encoded otherwise")})
				break
			}
		}
		gone, come = nil, nil
	}
	for _, s := range compare(was.keys, is.keys) {
		switch s.sign {
		case Gone:
			gone = append(gone, was.lines[s.a])
		case Come:
			come = append(come, is.lines[s.b])
		default:
			flush()
			out = append(out, Line{Pieces: []Piece{{Text: was.lines[s.a]}}})
		}
	}
	flush()
	ends := func(l display.Leaf) bool { return strings.HasSuffix(l.Text, "\n") }
	switch {
	case len(out) == 0:
		out = append(out, Line{Sign: Folded, Pieces: said("… no change")})
	case old.Text == "" || fresh.Text == "" || ends(old) == ends(fresh):
	case ends(fresh):
		out = append(out, Line{Sign: Folded, Pieces: said("… and a line feed at the end comes")})
	default:
		out = append(out, Line{Sign: Folded, Pieces: said("… and the line feed at the end goes")})
	}
	return out
}

// side is one of two texts that are compared: its lines, by keys.
type side struct{ lines, keys []string }

// sides are the two texts. Lines that look alike are the same only if they were written alike; if that is not known, a
// line with a hidden or escaped part counts as different. written is the sentence about such lines.
func sides(old, fresh display.Leaf) (was, is side, written string) {
	was.lines, was.keys = old.Lines()
	is.lines, is.keys = fresh.Lines()
	if was.keys != nil && is.keys != nil || len(was.lines) == 0 || len(is.lines) == 0 {
		if was.keys == nil {
			was.keys = was.lines
		}
		if is.keys == nil {
			is.keys = is.lines
		}
		return was, is, "… they differ in what is hidden or escaped here"
	}
	keys := func(lines []string, name string) []string {
		out := slices.Clone(lines)
		for i, s := range lines {
			if display.Conceals(s) {
				out[i] = name + s
			}
		}
		return out
	}
	was.keys, is.keys = keys(was.lines, "old\x00"), keys(is.lines, "new\x00")
	return was, is, "… they may differ in what is hidden or escaped here"
}

// change are lines that go and those that come in their place.
func change(gone, come []string, left *int) []Line {
	lines := func(sign Sign, texts []string) []Line {
		out := make([]Line, len(texts))
		for i, s := range texts {
			out[i] = Line{Sign: sign, Pieces: []Piece{{Text: s}}}
		}
		return out
	}
	before, after := lines(Gone, gone), lines(Come, come)
	for i := range min(len(gone), len(come)) {
		before[i].Pieces, after[i].Pieces = changedWords(gone[i], come[i], left)
	}
	return append(before, after...)
}

// changedWords marks the words in which two lines differ, if they are the same line at all. If only blanks differ, it
// makes tabs visible, and the blanks at the end, which a reader would miss.
func changedWords(old, fresh string, left *int) (was, is []Piece) {
	if old == fresh {
		return []Piece{{Text: old, Changed: true}}, []Piece{{Text: fresh, Changed: true}}
	}
	if unblanked.Replace(old) == unblanked.Replace(fresh) {
		return spelledBlanks(old), spelledBlanks(fresh)
	}
	if both := len(old) + len(fresh); both > min(maxWords, *left) {
		return changedMiddle(old, fresh)
	} else {
		*left -= both
	}
	x, y := words(old), words(fresh)
	same := 0
	steps := compare(x, y)
	for _, s := range steps {
		if s.sign == Same {
			was, is = piece(was, x[s.a], false), piece(is, x[s.a], false)
			if strings.Trim(x[s.a], " \t") != "" {
				same += len(x[s.a])
			}
			continue
		}
		if s.sign == Gone {
			was = piece(was, x[s.a], true)
		} else {
			is = piece(is, y[s.b], true)
		}
	}
	if same*3 < min(len(old), len(fresh)) {
		return []Piece{{Text: old}}, []Piece{{Text: fresh}}
	}
	return was, is
}

// What may be compared word by word, in bytes: two lines together, and all lines of a call.
const (
	maxWords    = 4000
	maxAllWords = 64 << 10
)

// changedMiddle marks what is between the words with which two lines begin and end alike.
func changedMiddle(old, fresh string) (was, is []Piece) {
	head, tail := 0, 0
	for head < min(len(old), len(fresh)) && old[head] == fresh[head] {
		head++
	}
	for tail < min(len(old), len(fresh))-head && old[len(old)-1-tail] == fresh[len(fresh)-1-tail] {
		tail++
	}
	if (head+tail)*3 < min(len(old), len(fresh)) {
		return []Piece{{Text: old}}, []Piece{{Text: fresh}}
	}
	inRune := func(s string) bool { return head < len(s) && !utf8.RuneStart(s[head]) }
	for inRune(old) || inRune(fresh) {
		head--
	}
	for tail > 0 && !utf8.RuneStart(old[len(old)-tail]) {
		tail--
	}
	cut := func(s string) (out []Piece) {
		out = piece(out, s[:head], false)
		out = piece(out, s[head:len(s)-tail], true)
		return piece(out, s[len(s)-tail:], false)
	}
	return cut(old), cut(fresh)
}

var (
	unblanked = strings.NewReplacer(" ", "", "\t", "")
	tabs      = strings.NewReplacer("\t", `\u{9}`)
	spaces    = strings.NewReplacer(" ", blank, "\t", `\u{9}`)
)

func spelledBlanks(s string) []Piece {
	body := strings.TrimRight(s, " \t")
	return []Piece{{Text: tabs.Replace(body) + spaces.Replace(s[len(body):]), Changed: true}}
}

func piece(all []Piece, text string, changed bool) []Piece {
	if n := len(all); n > 0 && all[n-1].Changed == changed {
		all[n-1].Text += text
		return all
	}
	return append(all, Piece{Text: text, Changed: changed})
}

// words cuts a line into words, blanks and single signs.
func words(s string) (out []string) {
	class := func(r rune) int {
		switch {
		case r == ' ' || r == '\t':
			return 1
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return 2
		}
		return 0
	}
	for len(s) > 0 {
		r, end := utf8.DecodeRuneInString(s)
		for first := class(r); first != 0 && end < len(s); {
			next, size := utf8.DecodeRuneInString(s[end:])
			if class(next) != first {
				break
			}
			end += size
		}
		out, s = append(out, s[:end]), s[end:]
	}
	return out
}

// Fold keeps the unchanged lines that are at most so many lines from a change, and the first two of several empty ones;
// it says how many lines it left out.
func (b Block) Fold(context int) Block {
	if b.Kind != Diff {
		return b
	}
	near := make([]bool, len(b.Lines))
	for i, l := range b.Lines {
		if l.Sign != Same {
			for j := max(0, i-context); j <= min(len(near)-1, i+context); j++ {
				near[j] = true
			}
		}
	}
	var out []Line
	for i := 0; i < len(b.Lines); i++ {
		end := i
		for end < len(near) && !near[end] {
			end++
		}
		if end-i < 2 {
			if n := b.empty(i); n > maxEmpty {
				out = append(out, b.Lines[i:i+maxEmpty]...)
				out = append(out, Line{Sign: Folded, Pieces: said("… %d empty lines that %s", n-maxEmpty, signWords[b.Lines[i].Sign])})
				i += n - 1
				continue
			}
			out = append(out, b.Lines[i])
			continue
		}
		out = append(out, Line{Sign: Folded, Pieces: said("… %d unchanged lines", end-i)})
		i = end - 1
	}
	b.Lines = out
	return b
}

var signWords = map[Sign]string{Gone: "go", Come: "come"}

// empty is how many empty lines in a row go or come from that one on.
func (b Block) empty(from int) (n int) {
	sign := b.Lines[from].Sign
	if signWords[sign] == "" {
		return 0
	}
	for _, l := range b.Lines[from:] {
		if l.Sign != sign || strings.Trim(l.Text(), " \t") != "" {
			break
		}
		n++
	}
	return n
}
