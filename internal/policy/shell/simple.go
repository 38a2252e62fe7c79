package shell

import "strings"

// simple = {NAME "=" value} cmd {word | redirect} | {NAME "=" value}+
func (r *reader) simple() (it item) {
	outer := len(r.prefix)
	if r.readsWhole() {
		r.at += len("IFS=")
		r.emit(markAssign)
		r.out = append(append(r.out, "IFS="...), markWord)
		r.blanks()
	}
	for name := r.assignment(); name != ""; name = r.assignment() {
		r.assign(name)
		r.blanks()
	}
	assigned := len(r.prefix) - outer
	r.prefix = r.prefix[:outer]
	if assigned > 0 && r.delimited() {
		return item{alone: true}
	}
	start := len(r.out)
	name := r.command()
	switch rule, builtin := builtins()[name]; {
	case reserved.Has(name):
		r.refuse("%q", name)
	case builtin && rule == nil:
		r.refuse("the builtin %q", name)
	case builtin && assigned > 0:
		r.refuse("an assignment before the builtin %q", name)
	}
	it, redirects := r.words(comparers.Has(name))
	if rule := builtins()[name]; rule != nil && !rule(split(r.out[start:])[1:]) {
		r.refuse("these words of %q", name)
	}
	r.out = append(r.out, redirects...)
	if name == "cd" {
		r.moves++
	}
	it.alone = name == "cd" || name == "read"
	return it
}

// readsWhole reports "IFS= read", which leaves a line's blanks as they are. It sets no
// variable for later commands, because read is no special builtin of any shell.
func (r *reader) readsWhole() bool {
	rest, ok := strings.CutPrefix(r.text[r.at:], "IFS=")
	word := strings.TrimLeft(rest, " \t")
	return ok && len(word) < len(rest) && strings.HasPrefix(word, "read ")
}

// assignment gives the name if NAME= comes next.
func (r *reader) assignment() string {
	if name := r.name(); name != "" && r.peek(len(name)) == '=' {
		return name
	}
	return ""
}

// assign reads NAME=value.
func (r *reader) assign(name string) {
	if !assignable(name) {
		r.refuse("setting the variable %q", name)
	}
	r.at += len(name) + 1
	r.emit(markAssign)
	r.out = append(append(r.out, name...), '=')
	start := len(r.out)
	if r.delimited() {
		r.emit(markWord)
	} else {
		r.word(inValue)
	}
	if value, ok := literal(r.out[start:max(start, len(r.out)-1)]); locales.Has(name) && !(ok && locale(value)) {
		r.refuse("a value of %q", name)
	}
	r.prefix = append(r.prefix, name)
}

// command reads the name of a command.
func (r *reader) command() string {
	start := r.at
	if r.accept("[") {
		r.emit(markPattern, '[')
	} else {
		if r.accept("~/") {
			r.emit(markPattern, '~', '/')
		}
		from := r.at
		for r.at < len(r.text) && commandByte(r.text[r.at]) {
			r.at++
		}
		r.out = append(r.out, r.text[from:r.at]...)
	}
	name := r.text[start:r.at]
	switch {
	case name == "":
		r.refuse("something other than a command's name")
	case name[0] == '-' || name[0] == '+':
		r.refuse("a command's name that begins with %q", name[:1])
	case !r.delimited() && !r.redirectAhead(name):
		r.refuse("%q in a command's name", r.text[r.at:r.at+1])
	}
	r.emit(markWord)
	return name
}

// descriptor reports what begins a number of a file to some shell, or "-".
func descriptor(c byte) bool { return c == '-' || digit(c) }

func commandByte(c byte) bool {
	return letter(c) || digit(c) || strings.IndexByte("_./+@,:-", c) >= 0
}

// redirectAhead reports a redirection directly behind a word. A number before it
// would belong to it.
func (r *reader) redirectAhead(word string) bool {
	if word == "" || digit(word[len(word)-1]) {
		return false
	}
	c := r.peek(0)
	return c == '<' || c == '>'
}

// words reads the words and redirections behind a command's name. The form of the
// redirections is given back, as it follows all words. If compares is true, a word may be
// <( ).
func (r *reader) words(compares bool) (it item, redirects []byte) {
	var seen uint
	for {
		before := r.at
		r.blanks()
		c := r.peek(0)
		switch {
		case r.at >= len(r.text), c == '\n', c == ';', c == '|', c == ')', c == '&' && r.peek(1) == '&':
			return it, redirects
		case c == '#' && r.at > before:
			return it, redirects
		case c == '&':
			r.refuse(`"&"`)
		case compares && r.at > before && strings.HasPrefix(r.text[r.at:], "<("):
			r.process()
		case r.redirectNext():
			start := len(r.out)
			seen = r.redirect(seen, &it)
			redirects = append(redirects, r.out[start:]...)
			r.out = r.out[:start]
		case r.at == before:
			r.refuse("%q", string(c))
		default:
			r.word(inWord)
		}
	}
}

// redirects reads what may follow a compound command: redirections if some is true, and no
// other text.
func (r *reader) redirects(some bool) (it item) {
	var seen uint
	for !r.ends() {
		if !r.delimited() && !r.redirectNext() {
			r.refuse("%q behind a group", r.text[r.at:r.at+1])
		}
		if r.blanks(); !some || !r.redirectNext() {
			break
		}
		seen = r.redirect(seen, &it)
	}
	return it
}

// redirectNext reports whether a redirection comes next.
func (r *reader) redirectNext() bool {
	c := r.peek(0)
	if c == '<' || c == '>' {
		return true
	}
	rest := r.text[min(r.at, len(r.text)):]
	return strings.HasPrefix(rest, "2>") || strings.HasPrefix(rest, "1>&")
}

// operators of redirections: longer ones first. If place is true, a place follows, else the
// end of a word.
var operators = []struct {
	text  string
	fd    uint
	place bool
}{
	{"2>&1", 2, false}, {"1>&2", 1, false}, {">&2", 1, false},
	{"2>>", 2, true}, {"2>", 2, true}, {">>", 1, true}, {">", 1, true}, {"<", 0, true},
}

// redirect reads one redirection, and refuses what only begins like one. seen holds a
// bit for each descriptor that this command has redirected already.
func (r *reader) redirect(seen uint, it *item) uint {
	if strings.HasPrefix(r.text[r.at:], "<<") {
		it.input = true
		if seen&1 != 0 {
			r.refuse("a descriptor that is redirected twice")
		}
		r.document()
		return seen | 1
	}
	for _, o := range operators {
		if !r.accept(o.text) {
			continue
		}
		if seen&(1<<o.fd) != 0 {
			r.refuse("a descriptor that is redirected twice")
		}
		it.input = it.input || o.fd == 0
		it.output = it.output || o.fd == 1
		r.emit(markRedirect)
		r.out = append(append(r.out, o.text...), markWord)
		switch c := r.peek(0); {
		case !o.place && (!r.delimited() || c == '&'):
			r.refuse("%q without a blank behind", o.text)
		case o.place && o.fd == 0 && descriptor(c):
			r.refuse("%q before %q", o.text, string(c))
		case o.place:
			r.blanks()
			r.word(inPlace)
		}
		return seen | 1<<o.fd
	}
	r.refuse("%q", r.next())
	return seen
}
