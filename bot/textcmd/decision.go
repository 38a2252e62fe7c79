package textcmd

import (
	"slices"
	"strings"
	"unicode"

	"approvalbot/internal/approval"
)

// saysDeny reports whether word is a deny alias, ignoring all characters around
// and between except letters and digits: "Deny!", "❌deny", "de-ny", invisible
// characters. Reading it generously can only refuse.
func saysDeny(word string) bool {
	bare := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, word)
	d, _ := decisionNamed(bare)
	return d == approval.Deny
}

// decisionWord is a word that names a decision, and its place in a line.
type decisionWord struct {
	decision approval.Decision
	colon    bool   // it ends in a colon: the reason follows
	rest     string // the rest of the word, as in "session:trusted" and "deny,no"
}

// cutDecision reads a decision at the front of word. An allow must be the whole
// word or end at a colon; a deny may end at any punctuation.
func cutDecision(word string) (s decisionWord, ok bool) {
	head, rest, colon := strings.Cut(word, ":")
	if d, ok := decisionNamed(head); ok && d.Allows() {
		return decisionWord{d, colon, rest}, true
	}
	if saysDeny(word) {
		return decisionWord{approval.Deny, strings.HasSuffix(word, ":"), ""}, true
	}
	if i := strings.IndexAny(word, ":,;.!?"); i > 0 && saysDeny(word[:i]) {
		return decisionWord{approval.Deny, word[i] == ':', strings.TrimLeft(word[i:], ":,;.!?")}, true
	}
	return decisionWord{}, false
}

// run is a row of decision words at the front of some words.
type run struct {
	decisions []approval.Decision
	colon     bool     // the last of them had a colon
	rest      []string // the words after it
}

// takeRun removes all decision words from the front.
func takeRun(words []string) run {
	r := run{rest: words}
	for r.take() {
	}
	return r
}

// takeHead removes them only up to the end of the decision: a colon and a deny
// end it, and the reason follows.
func takeHead(words []string) run {
	r := run{rest: words}
	for !r.colon && !slices.Contains(r.decisions, approval.Deny) && r.take() {
	}
	return r
}

// take takes one decision word, with its colon, and reports whether there was one.
func (r *run) take() bool {
	if len(r.rest) == 0 {
		return false
	}
	s, ok := cutDecision(r.rest[0])
	if !ok {
		return false
	}
	r.decisions, r.colon, r.rest = append(r.decisions, s.decision), s.colon, prepend(s.rest, r.rest[1:])
	if !s.colon && len(r.rest) > 0 && r.rest[0] == ":" {
		r.colon, r.rest = true, r.rest[1:]
	}
	return true
}

// closed reports whether the row is the line's decision rather than the
// beginning of its reason.
func (r run) closed() bool { return r.decisions != nil && (r.colon || len(r.rest) == 0) }

// narrowest gives the least permissive of some decisions, and allow-once if the
// list is empty.
func narrowest(ds []approval.Decision) approval.Decision {
	for _, d := range []approval.Decision{approval.Deny, approval.AllowOnce, approval.AllowSession, approval.AllowAlways} {
		if slices.Contains(ds, d) {
			return d
		}
	}
	return approval.AllowOnce
}
