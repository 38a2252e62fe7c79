package shell

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"approvalbot/internal/policy/budget"
)

// Refusal says at which byte a line leaves the grammar, and at what text.
type Refusal struct {
	At   int    // bytes before the place
	What string // names it for people: "a backtick", "\"export\""
}

// String says it in words, "" if there is no refusal: "at byte 12: a backtick".
func (r Refusal) String() string {
	if r.What == "" {
		return ""
	}
	return fmt.Sprintf("at byte %d: %s", r.At+1, r.What)
}

// none is no position in a text.
const none = -1

// reader reads one line from the left.
type reader struct {
	text string
	at   int
	out  []byte

	depth  int      // groups, loops and conditions that are open
	substs int      // $( ) and <( ) that are open
	files  int      // <( ) that are open
	prefix []string // variables assigned so far before the command that is read
	moves  int      // times a cd was read outside of ( )
	place  bool     // a redirection's place is read

	here    int // the position of the newline behind which a here-document begins, or `none`
	hereEnd int // the position of the newline that ends the document, or the text's end

	steps *budget.Budget
}

// refuse ends the reading here: it panics with a Refusal, which Plain catches.
func (r *reader) refuse(what string, args ...string) {
	for _, a := range args {
		what = strings.Replace(what, "%q", `"`+a+`"`, 1)
	}
	panic(Refusal{At: min(r.at, len(r.text)), What: what})
}

// check looks at the text as a whole.
func (r *reader) check() {
	switch {
	case len(r.text) > maxText:
		r.refuse("its length")
	case strings.HasPrefix(r.text, "-"), strings.HasPrefix(r.text, "+"), strings.HasPrefix(r.text, "#!"):
		r.refuse("its beginning")
	case !utf8.ValidString(r.text):
		r.refuse("broken text")
	}
	for i := range len(r.text) {
		if control(r.text[i]) {
			r.at = i
			r.refuse("a control character")
		}
	}
}

// control reports a character that is no text, and neither a newline nor a tab.
func control(c byte) bool {
	if c == '\n' || c == '\t' {
		return false
	}
	return c < ' ' || c == 0x7f
}

// peek gives the byte n places ahead, 0 behind the end. Every loop of the reader looks
// ahead, so each look is a step.
func (r *reader) peek(n int) byte {
	r.steps.Step()
	if i := r.at + n; i < len(r.text) {
		return r.text[i]
	}
	return 0
}

// accept steps over the given text if it comes next.
func (r *reader) accept(s string) bool {
	if strings.HasPrefix(r.text[r.at:], s) {
		r.at += len(s)
		return true
	}
	return false
}

func (r *reader) emit(marks ...byte) { r.out = append(r.out, marks...) }

func blank(c byte) bool { return c == ' ' || c == '\t' }

// blanks steps over blanks, and over a newline that is escaped between two of them.
func (r *reader) blanks() {
	for blank(r.peek(0)) {
		r.at++
		if r.peek(0) == '\\' && r.peek(1) == '\n' {
			if !blank(r.peek(2)) {
				r.refuse("a line that is continued without a blank")
			}
			r.at++
			r.newline()
		}
	}
}

// newline steps over a newline, and over the here-document behind it.
func (r *reader) newline() {
	switch {
	case r.substs > 0:
		r.refuse("a newline inside $( )")
	case r.here != none && r.text[r.at-1] == '\\':
		r.refuse("a continued line before a here-document")
	case r.at == r.here:
		if r.at = r.hereEnd; r.at < len(r.text) {
			r.at++
		}
		r.here = none
	default:
		r.at++
	}
}

// gap steps over everything that is allowed between two pipelines.
func (r *reader) gap() {
	for {
		r.blanks()
		switch r.peek(0) {
		case '\n':
			r.newline()
		case '#':
			r.comment()
		default:
			return
		}
	}
}

// comment steps over a comment, up to its newline.
func (r *reader) comment() {
	switch {
	case r.substs > 0:
		r.refuse("a comment inside $( )")
	case r.here != none:
		r.refuse("a comment before a here-document")
	}
	end := strings.IndexByte(r.text[r.at:], '\n')
	if end < 0 {
		end = len(r.text) - r.at
	}
	r.at += end
	if r.text[r.at-1] == '\\' {
		r.refuse("a comment that ends in a backslash")
	}
}

// literal gives the text of a word of a form if no part of the word is computed or a
// pattern.
func literal(word []byte) (string, bool) {
	if bytes.IndexFunc(word, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' }) >= 0 {
		return "", false
	}
	return string(word), true
}

// delimited reports the end of a word, and so perhaps of a command.
func (r *reader) delimited() bool { return r.endsAfter(0) }

const alphanumerics = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// nameBytes are the bytes of names of variables.
var nameBytes = bytesOf(alphanumerics + "_")

// delimiters are the bytes that end a word.
var delimiters = bytesOf(" \t\n;&|)")

// bytesOf makes a table of the bytes of a text.
func bytesOf(text string) (table [256]bool) {
	for i := range len(text) {
		table[text[i]] = true
	}
	return table
}

// name gives the name of a variable that comes next.
func (r *reader) name() string {
	if digit(r.peek(0)) {
		return ""
	}
	i := r.at
	for i < len(r.text) && nameBytes[r.text[i]] {
		i++
	}
	return r.text[r.at:i]
}

// next gives the character that comes next, for a refusal.
func (r *reader) next() string {
	for i := range r.text[r.at:] {
		if i > 0 {
			return r.text[r.at : r.at+i]
		}
	}
	if r.at >= len(r.text) {
		return "the end"
	}
	return r.text[r.at:]
}

// endsAfter reports whether the word ends n bytes ahead.
func (r *reader) endsAfter(n int) bool {
	return r.at+n >= len(r.text) || delimiters[r.text[r.at+n]]
}

func letter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

func alphanumeric(c byte) bool { return letter(c) || digit(c) }

// Limits of the grammar.
const (
	maxText  = 32 << 10 // bytes
	maxDepth = 3        // groups, loops and conditions inside each other; the same for $( )
)
