package shell

import (
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/budget"
)

// Plain appends the form of a line to dst. If ok is false, the line is outside the grammar,
// the refusal says at which byte it leaves it, and the appended bytes have no meaning.
// Plain keeps no reference to the line. It panics with budget.Spent if the budget is not
// enough for the line.
func Plain(dst []byte, line string, steps *budget.Budget) (form []byte, why Refusal, ok bool) {
	r := reader{text: line, out: dst, here: none, steps: steps}
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

// keyword gives the word of small letters that comes next, without stepping over it, and ""
// if there is no such word.
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

// list = pipeline {sep pipeline} [sep]. It ends before ")" and "}", before a word that
// ends a part of a compound command, and at the end of the text.
func (r *reader) list() {
	for count := 0; ; count++ {
		r.gap()
		if r.ends() {
			if count == 0 {
				r.refuse("a missing command")
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
		case r.at == len(r.text), c == ')', c == '\n', c == '#':
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
	switch r.peek(0) {
	case ')', '}':
		return true
	}
	return r.at >= len(r.text) || enders.Has(r.keyword())
}

var enders = lazy.Words("then do done fi else elif")

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
		r.refuse("a missing command")
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
		if word := r.keyword(); word == "time" || r.compound(word) || r.assignment() != "" {
			r.refuse("time before something other than a command")
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

var compounds = lazy.Words("for if while until")

// bracket gives what opens a group, if a group begins here: "(", or "{" before a blank.
func (r *reader) bracket() byte {
	switch c, next := r.peek(0), r.peek(1); {
	case c == '(', c == '{' && (blank(next) || next == '\n'):
		return c
	}
	return 0
}

// compound reports whether a group begins here, or a loop or condition with that word.
func (r *reader) compound(word string) bool { return compounds.Has(word) || r.bracket() != 0 }

// item = simple | "(" list ")" | "{" list "}" | for … | if … | while … | until …
func (r *reader) item() item {
	word, group := r.keyword(), r.bracket()
	if !r.compound(word) {
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
	case group == '(':
		r.group(')')
		r.moves = moves
	case group == '{':
		r.group('}')
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
		r.refuse("something other than %q", word)
	}
	r.at += len(word)
	if word != "fi" && word != "done" {
		r.emit(markPart)
	}
}

// group reads ( list ), but never "((", or { list; }.
func (r *reader) group(end byte) {
	r.emit(markOpen, r.peek(0))
	if r.at++; end == ')' && r.peek(0) == '(' {
		r.refuse(`"(("`)
	}
	r.list()
	if !r.accept(string(end)) {
		r.refuse("no %q", string(end))
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
		r.refuse("a loop without words")
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
