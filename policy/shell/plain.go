package shell

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of the grammar.
const (
	maxText  = 32 << 10 // bytes
	maxDepth = 3        // groups, loops and conditions inside each other; the same for $( )
)

// Refusal says where a line leaves the grammar, and at what.
type Refusal struct {
	At   int    // bytes before the place
	What string // names it for people: "a backtick", "\"export\""
}

// String says it in words, "" for none: "at byte 12: a backtick".
func (r Refusal) String() string {
	if r.What == "" {
		return ""
	}
	return fmt.Sprintf("at byte %d: %s", r.At+1, r.What)
}

// Plain appends the form of a line to dst. Where ok is false the line is outside
// the grammar, the refusal says where it leaves it, and what was appended means
// nothing. Plain keeps no reference to the line.
func Plain(dst []byte, line string) (form []byte, why Refusal, ok bool) {
	r := reader{text: line, out: dst, here: none}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		refusal, refused := p.(Refusal)
		if !refused {
			panic(p)
		}
		form, why, ok = r.out, refusal, false
	}()
	r.check()
	r.list()
	if r.at < len(r.text) {
		r.refuse("%q", r.next())
	}
	return r.out, Refusal{}, true
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

	here    int // where the newline stands behind which a here-document begins, or none
	hereEnd int // where the newline stands that ends the document, or the text's end
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
		if c := r.text[i]; c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			r.at = i
			r.refuse("a control character")
		}
	}
}

// peek gives the byte n places ahead, 0 behind the end.
func (r *reader) peek(n int) byte {
	if i := r.at + n; i < len(r.text) {
		return r.text[i]
	}
	return 0
}

// accept steps over the given text where it comes next.
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

// gap steps over everything that may stand between two pipelines.
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

// keyword gives the word of small letters that comes next, without stepping over
// it, and "" where there is none.
func (r *reader) keyword() string {
	i := r.at
	for i < len(r.text) && r.text[i] >= 'a' && r.text[i] <= 'z' {
		i++
	}
	if i == len(r.text) || strings.IndexByte(" \t\n;)", r.text[i]) >= 0 {
		return r.text[r.at:i]
	}
	return ""
}

// list = pipeline {sep pipeline} [sep]. It ends before ")", before a word that
// ends a part of a compound command, and at the end of the text.
func (r *reader) list() {
	for count := 0; ; count++ {
		r.gap()
		if r.ends() {
			if count == 0 {
				r.refuse("nothing where a command belongs")
			}
			return
		}
		r.pipeline()
		for r.joined() {
			r.pipeline()
		}
		r.emit(markEnd)
		r.blanks()
		switch c := r.peek(0); {
		case r.at == len(r.text) || c == ')' || c == '\n' || c == '#':
		case c == ';':
			if r.at++; r.peek(0) == ';' {
				r.refuse(`";;"`)
			}
		default:
			r.refuse("%q", string(c))
		}
	}
}

// ends reports whether a list ends here.
func (r *reader) ends() bool {
	return r.at >= len(r.text) || r.peek(0) == ')' || enders[r.keyword()]
}

var enders = set("then do done fi else elif")

// joined steps over "&&" or "||" and the newlines behind.
func (r *reader) joined() bool {
	r.blanks()
	switch {
	case r.accept("&&"):
		r.emit(markAnd)
	case r.accept("||"):
		r.emit(markOr)
	default:
		return false
	}
	r.newlines()
	return true
}

// newlines steps over newlines and blanks, behind which something must follow.
func (r *reader) newlines() {
	for r.blanks(); r.peek(0) == '\n'; r.blanks() {
		r.newline()
	}
	if r.ends() {
		r.refuse("nothing where a command belongs")
	}
}

// pipeline = ["! "] ["time "] item {"|" newlines? item}
func (r *reader) pipeline() {
	if r.peek(0) == '!' && blank(r.peek(1)) {
		r.at++
		r.emit(markNot)
		r.blanks()
	}
	if r.keyword() == "time" && blank(r.peek(4)) {
		r.at += 4
		r.emit(markTime)
		r.blanks()
		if r.keyword() == "time" || compounds[r.keyword()] || r.peek(0) == '(' || r.assignment() != "" {
			r.refuse("time before something else than a command")
		}
	}
	moves := r.moves
	first := r.item()
	if r.blanks(); r.peek(0) != '|' || r.peek(1) == '|' {
		return
	}
	last := first
	for r.peek(0) == '|' && r.peek(1) != '|' {
		if r.at++; r.peek(0) == '&' {
			r.refuse(`"|&"`)
		}
		r.emit(markPipe)
		if last.output {
			r.refuse("output that goes to a file and into a pipe")
		}
		r.newlines()
		last = r.item()
		if last.input {
			r.refuse("input from a file and out of a pipe")
		}
		if first.alone || last.alone || r.moves > moves {
			r.refuse("an assignment, cd or read in a pipe")
		}
		r.blanks()
	}
}

// item tells of one part of a pipeline what matters to its neighbours.
type item struct {
	alone  bool // it changes the shell that runs it: an assignment, cd, read
	input  bool // its standard input is redirected
	output bool // its standard output is
}

var compounds = set("for if while until")

// item = simple | "(" list ")" | for … | if … | while … | until …
func (r *reader) item() item {
	word := r.keyword()
	group := r.peek(0) == '('
	if !group && !compounds[word] {
		return r.simple()
	}
	if r.depth++; r.depth > maxDepth {
		r.refuse("commands nested deeper than %q", "((( )))")
	}
	if r.substs > 0 {
		r.refuse("a group or a loop inside $( )")
	}
	moves := r.moves
	r.at += len(word)
	switch {
	case group:
		r.group()
		r.moves = moves
	case word == "for":
		r.loop()
	case word == "if":
		r.condition()
	default:
		r.emit(markOpen, word[0])
		r.list()
		r.expect("do")
		r.list()
		r.expect("done")
	}
	r.emit(markClose)
	r.depth--
	return r.redirects(word != "if")
}

// expect steps over the word that must come next.
func (r *reader) expect(word string) {
	if r.keyword() != word {
		r.refuse("something else than %q", word)
	}
	r.at += len(word)
	if word != "fi" && word != "done" {
		r.emit(markPart)
	}
}

// group reads ( list ), but never "((".
func (r *reader) group() {
	r.emit(markOpen, '(')
	if r.at++; r.peek(0) == '(' {
		r.refuse(`"(("`)
	}
	r.list()
	if !r.accept(")") {
		r.refuse(`no ")"`)
	}
}

// loop reads the rest of: for NAME in word+ (";"|newline) do list sep done
func (r *reader) loop() {
	r.emit(markOpen, 'f')
	r.blanks()
	name := r.name()
	if !assignable(name) {
		r.refuse("the variable %q", name)
	}
	r.at += len(name)
	r.out = append(append(r.out, name...), markWord)
	if r.blanks(); r.keyword() != "in" {
		r.refuse(`no "in"`)
	}
	r.at += 2
	words := 0
	for r.blanks(); r.peek(0) != ';' && r.peek(0) != '\n'; r.blanks() {
		r.word(inWord)
		words++
	}
	if words == 0 {
		r.refuse("a loop over nothing")
	}
	if r.peek(0) == ';' {
		r.at++
	} else {
		r.newline()
	}
	r.gap()
	r.expect("do")
	r.list()
	r.expect("done")
}

// condition reads the rest of: if list sep then list sep {elif …} [else …] fi
func (r *reader) condition() {
	r.emit(markOpen, 'i')
	r.list()
	r.expect("then")
	r.list()
	for r.keyword() == "elif" {
		r.expect("elif")
		r.list()
		r.expect("then")
		r.list()
	}
	if r.keyword() == "else" {
		r.expect("else")
		r.list()
	}
	r.expect("fi")
}

// set makes a set of the words of a text.
func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// literal gives what a word of a form says where nothing in it is computed or a
// pattern.
func literal(word []byte) (string, bool) {
	if bytes.IndexFunc(word, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' }) >= 0 {
		return "", false
	}
	return string(word), true
}
