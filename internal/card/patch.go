package card

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// hunkHead matches the line of a unified difference that gives the position of the lines after it.
var hunkHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)
})

// patchLines reads a patch for people, whose every line stays: of a unified difference, or as apply_patch takes it.
// Lines that go and come are those that begin so below a head; anything else that is no line around them is a head.
func patchLines(text string) []Line {
	var out []Line
	was, is := 0, 0         // numbers of the next line, 0: not known
	wasLeft, isLeft := 0, 0 // of a hunk that counts its lines
	inHunk := false
	for _, s := range splitText(text) {
		counted := wasLeft > 0 || isLeft > 0
		if m := hunkHead().FindStringSubmatch(s); m != nil && !counted {
			was, is, inHunk = number(m[1], 0), number(m[3], 0), true
			wasLeft, isLeft = number(m[2], 1), number(m[4], 1)
			out = append(out, Line{Sign: Head, Pieces: []Piece{{Text: s}}})
			continue
		}
		l := patchLine(s, inHunk, counted)
		switch l.Sign {
		case Gone:
			l.No, was, wasLeft = was, next(was), wasLeft-1
		case Come:
			l.No, is, isLeft = is, next(is), isLeft-1
		case Same:
			l.No, was, is, wasLeft, isLeft = is, next(was), next(is), wasLeft-1, isLeft-1
		default:
			was, is, wasLeft, isLeft = 0, 0, 0, 0
			inHunk = strings.HasPrefix(s, "@@") || strings.HasPrefix(s, "*** ") || inHunk && !strings.HasPrefix(s, "diff ")
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return []Line{{Sign: Folded, Pieces: said("… no change")}}
	}
	return markWords(out)
}

// patchLine reads one line. Within a hunk that counts its lines a line is what its first sign says, also one that looks
// like a head.
func patchLine(s string, inHunk, counted bool) Line {
	of := func(sign Sign, text string) Line {
		if sign == Head { // it has no sign before it, and could look like a line that has one
			text = unlike(text, "…", "↳", "+ ", "- ", "+↳", "-↳")
			if strings.HasPrefix(text, "  ") {
				text = blank + text[1:]
			}
		}
		return Line{Sign: sign, Pieces: []Piece{{Text: text}}}
	}
	head := !inHunk || !counted && slices.ContainsFunc([]string{"--- ", "+++ ", "*** ", "@@", "diff "},
		func(p string) bool { return strings.HasPrefix(s, p) })
	switch {
	case head:
		return of(Head, s)
	case s == "":
		return of(Same, s)
	case s[0] == '-':
		return of(Gone, s[1:])
	case s[0] == '+':
		return of(Come, s[1:])
	case s[0] == ' ':
		return of(Same, s[1:])
	}
	return of(Head, s)
}

func next(no int) int {
	if no == 0 {
		return 0
	}
	return no + 1
}

func number(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return otherwise
	}
	return n
}

// markWords marks the words that differ, if as many lines are removed as are added.
func markWords(lines []Line) []Line {
	left := maxAllWords
	for i := 0; i < len(lines); i++ {
		gone := i
		for gone < len(lines) && lines[gone].Sign == Gone {
			gone++
		}
		come := gone
		for come < len(lines) && lines[come].Sign == Come {
			come++
		}
		for j := range min(gone-i, come-gone) {
			lines[i+j].Pieces, lines[gone+j].Pieces = changedWords(lines[i+j].Text(), lines[gone+j].Text(), &left)
		}
		i = max(i, come-1)
	}
	return lines
}
