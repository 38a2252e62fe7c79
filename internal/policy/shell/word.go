package shell

import "strings"

// position says in which part of a command a word is.
type position uint8

const (
	inWord  position = iota // among the words of a command
	inValue                 // behind NAME=
	inPlace                 // behind a redirection's operator
)

// piece is what the last part of a word was.
type piece uint8

const (
	nothing   piece = iota
	bare            // an unquoted character that means itself
	quoted          // quotes
	expansion       // $NAME, ${NAME}, $?, $( )
	glob            // * ? [ ]
	braces          // {a,b}
)

// word = pieces of bare · '…' · "…" · $NAME ${NAME} $? · * ? [!a-z] · "**" as a whole name · $( );
// or of bare · * ? [!a-z] and one {a,b}
func (r *reader) word(pos position) {
	start, last := r.at, nothing
	r.place = pos == inPlace
	had := 0 // a bit for each kind of piece
	if pos == inPlace && strings.IndexByte("!#&", r.peek(0)) >= 0 {
		r.refuse("%q before a place", r.text[r.at:r.at+min(1, len(r.text)-r.at)])
	}
	for !r.delimited() && r.peek(0) != '<' && r.peek(0) != '>' {
		if last == expansion {
			r.behindExpansion()
		}
		last = r.piece(pos, start, last)
		had |= 1 << last
	}
	mixed := had&(1<<quoted|1<<expansion) != 0 || pos != inWord
	if had&(1<<braces) != 0 && (mixed || strings.Count(r.text[start:r.at], "{") > 1) {
		r.refuse("a brace list beside something other than plain text")
	}
	if r.at == start || !r.delimited() && !r.redirectAhead(r.text[start:r.at]) {
		r.refuse("%q", r.next())
	}
	r.place = false
	r.emit(markWord)
}

// piece reads one part of a word that began at start; last is the part before.
func (r *reader) piece(pos position, start int, last piece) piece {
	c := r.peek(0)
	switch {
	case c == '\'':
		r.single()
		return quoted
	case c == '"':
		r.double()
		return quoted
	case c == '$':
		if pos == inPlace {
			r.refuse("an unquoted variable in a place")
		}
		r.dollar(false)
		return expansion
	case c == '\\':
		r.escaped()
		return quoted
	case c == '*' || c == '?' || c == '[':
		if pos == inPlace {
			r.refuse("a pattern in a place")
		}
		r.pattern(start, last)
		return glob
	case c == '{':
		return r.brace(start)
	}
	r.bare(c, pos, start, last)
	return bare
}

// bareBytes mean themselves in every position.
var bareBytes = bytesOf(alphanumerics + "_./-+@,%^!")

// bare reads one character, if it means itself there in every shell, or several of
// bareBytes.
func (r *reader) bare(c byte, pos position, start int, last piece) {
	if bareBytes[c] {
		from := r.at
		for r.at < len(r.text) && bareBytes[r.text[r.at]] {
			r.at++
		}
		r.out = append(r.out, r.text[from:r.at]...)
		return
	}
	first := r.at == start
	switch {
	case c == ':' && !(pos == inValue && strings.IndexByte("=~", r.peek(1)) >= 0):
	case c == '=' && last == bare,
		c == '=' && first && r.lone(pos):
	case c == '#' && last == bare:
	case c == ']' && first && r.lone(pos):
	case c == '~' && first && r.homeAhead():
		r.emit(markPattern)
	case c == '~' && last == bare && tildeBehind(r.text[r.at-1]):
	default:
		r.refuse("%q", r.next())
	}
	r.emit(c)
	r.at++
}

// lone reports the end of a word behind its first character, such as of "=".
func (r *reader) lone(pos position) bool { return pos == inWord && r.endsAfter(1) }

// homeAhead reports "~" alone or before a slash.
func (r *reader) homeAhead() bool { return r.peek(1) == '/' || r.endsAfter(1) }

func tildeBehind(c byte) bool { return alphanumeric(c) || c == '^' || c == '~' }

// bracketBytes are allowed in a bracket expression.
var bracketBytes = bytesOf(alphanumerics + "_.,-")

// pattern reads *, ? or a bracket expression.
func (r *reader) pattern(start int, last piece) {
	c, before := r.peek(0), byte(0)
	if r.at > start {
		before = r.out[len(r.out)-1]
	}
	// .* and .? match .. in some shells; a.* cannot.
	named := last == bare && r.at >= start+2 && alphanumeric(r.text[r.at-2])
	hidden := before == '.' && !named
	switch {
	case r.treeAhead(start):
		r.emit(markPattern, '*')
		r.at++
	case c == '*' && (before == '*' || r.peek(1) == '*'):
		r.refuse(`"**" that is not a whole name`)
	case hidden:
		r.refuse("a pattern that some shells match with .. too")
	case last == braces:
		r.refuse("a pattern behind a brace list")
	case c == '?' && before == '%':
		r.refuse(`"%?"`)
	}
	r.emit(markPattern, c)
	if r.at++; c != '[' {
		return
	}
	from := r.at
	if r.peek(0) == '!' {
		r.at++
	}
	inside := r.at
	for bracketBytes[r.peek(0)] {
		r.at++
	}
	if r.at == inside || r.peek(0) != ']' {
		r.refuse("a bracket that is not a simple pattern")
	}
	r.at++
	r.out = append(r.out, r.text[from:r.at]...)
}

// treeAhead reports "**" as a whole name of a path: any number of directories to
// zsh, and what "*" is to all others. A word has one.
func (r *reader) treeAhead(start int) bool {
	first := r.at == start || r.text[r.at-1] == '/' && !strings.Contains(r.text[start:r.at], "**")
	whole := r.peek(2) == '/' || r.endsAfter(2)
	return first && whole && strings.HasPrefix(r.text[r.at:], "**")
}

// braceBytes are allowed in braces.
var braceBytes = bytesOf(alphanumerics + "_./+@,-%")

// brace reads {}, @{…}, ^{…} and a brace list. Every other brace is several words
// to some shell.
func (r *reader) brace(start int) piece {
	end := r.at + 1
	for end < len(r.text) && braceBytes[r.text[end]] {
		end++
	}
	inside, before := r.text[r.at+1:end], r.text[start:r.at]
	kind := bare
	switch git := strings.HasSuffix(before, "@") || strings.HasSuffix(before, "^"); {
	case end == len(r.text) || r.text[end] != '}':
		r.refuse("a brace")
	case inside == "", git && !strings.ContainsAny(inside, "_./+@,%"):
	case git || r.files > 0 || !listed(before, inside): // bash 3.2 makes two <( ) of <(a {b,c})
		r.refuse("a brace")
	default:
		r.emit(markPattern)
		kind = braces
	}
	r.out = append(r.out, r.text[r.at:end+1]...)
	r.at = end + 1
	return kind
}

// maxList is how many words a brace list may be.
const maxList = 32

// listed reports text between braces that is a list of several words to bash, zsh and mksh,
// and plain text to dash and busybox. No word of it begins otherwise than a name does
// because of the braces: with a dash, a plus, ~.
func listed(before, inside string) bool {
	words := strings.Split(inside, ",")
	for _, w := range words {
		plain := w != "" && (alphanumeric(w[0]) || strings.IndexByte("_./", w[0]) >= 0)
		if before == "" && !plain {
			return false
		}
	}
	option := strings.HasPrefix(before, "-") && !strings.Contains(before, "=")
	several := len(words) > 1 && len(words) <= maxList
	return several && !option && !strings.Contains(inside, "..")
}

// single reads '…'.
func (r *reader) single() {
	end := strings.IndexByte(r.text[r.at+1:], '\'')
	if end < 0 {
		r.refuse("a quote that does not end")
	}
	text := r.text[r.at+1 : r.at+1+end]
	r.quotedText(text)
	r.out = append(r.out, text...)
	r.at += end + 2
}

// quotedText refuses newlines in quotes if they are not allowed there.
func (r *reader) quotedText(text string) {
	if strings.IndexByte(text, '\n') < 0 {
		return
	}
	if r.substs > 0 {
		r.refuse("a newline inside $( )")
	} else if r.here != none {
		r.refuse("a newline in quotes before a here-document")
	}
}

// double reads "…".
func (r *reader) double() {
	r.at++
	for {
		c := r.peek(0)
		switch {
		case r.at >= len(r.text):
			r.refuse("a quote that does not end")
		case c == '"':
			r.at++
			return
		case c == '`':
			r.refuse("a backtick")
		case c == '\\':
			r.escapedInQuotes()
		case c == '$' && strings.IndexByte("\" \t|)/", r.peek(1)) >= 0 && r.peek(1) != 0:
			r.emit(c)
			r.at++
		case c == '$':
			if r.dollar(true); r.peek(0) != '"' {
				r.behindExpansion()
			}
		default:
			if c == '\n' {
				r.quotedText("\n")
			}
			r.emit(c)
			r.at++
		}
	}
}

// escapedInQuotes reads a backslash in "…". Behind a byte that is not ASCII it
// belongs to that character in some locales.
func (r *reader) escapedInQuotes() {
	c := r.peek(1)
	switch {
	case r.text[r.at-1] >= 0x80:
		r.refuse("a backslash behind a character that is not ASCII")
	case c < ' ' || c > '~' || c == '`':
		r.refuse("a backslash before %q", r.text[r.at+1:min(len(r.text), r.at+2)])
	case c != '"' && c != '\\' && c != '$':
		r.emit('\\')
	}
	r.emit(c)
	r.at += 2
}

// escaped reads a backslash outside of quotes before punctuation or a blank: it makes that
// character mean itself.
func (r *reader) escaped() {
	c := r.peek(1)
	sign := c >= ' ' && c <= '~' && !alphanumeric(c)
	if !sign || c == '`' {
		r.refuse("a backslash")
	}
	r.emit(c)
	r.at += 2
}

// dollar reads $NAME, ${NAME}, ${PIPESTATUS[0]}, $? and $( ).
func (r *reader) dollar(inQuotes bool) {
	if r.peek(1) == '(' {
		r.subst(inQuotes)
		return
	}
	r.at++
	braces := r.accept("{")
	name := r.name()
	if !braces && name == "" && r.peek(0) == '?' {
		name = "?"
	}
	r.at += len(name)
	stage := r.stage(braces, name)
	name += stage
	switch {
	case name == "":
		r.refuse("this use of \"$\"")
	case braces && !r.accept("}"):
		r.refuse("an operator in ${ }")
	case stage == "" && !readable(name):
		r.refuse("the variable %q", name)
	}
	for _, p := range r.prefix {
		if p == name {
			r.refuse("a variable that is set in the same prefix")
		}
	}
	mark := byte(markName)
	if inQuotes {
		mark = markQuotedName
	}
	r.emit(mark)
	r.out = append(append(r.out, name...), markNameEnd)
}

// stage steps over the index of ${PIPESTATUS[0]} and ${pipestatus[1]}: the status of a part
// of the last pipeline. If there is no index, it gives "". dash and busybox stop there.
func (r *reader) stage(braces bool, name string) string {
	index := r.peek(0) == '[' && digit(r.peek(1)) && r.peek(2) == ']'
	statuses := name == "PIPESTATUS" || name == "pipestatus"
	if !braces || !index || !statuses {
		return ""
	}
	r.at += len("[0]")
	return r.text[r.at-len("[0]") : r.at]
}

// behindExpansion refuses what zsh and mksh take for a part of the expansion.
func (r *reader) behindExpansion() {
	c, d := r.peek(0), r.peek(1)
	modifies := c == ':' && (d == '&' || letter(d))
	if modifies || c >= 0x80 || strings.IndexByte("[#", c) >= 0 {
		r.refuse("%q behind a variable", r.next())
	}
}

// subst reads $( list ) or $(cat <<'DELIM' …).
func (r *reader) subst(inQuotes bool) {
	mark := byte(markSubst)
	if inQuotes {
		mark = markQuoted
	}
	r.emit(mark)
	if r.place {
		r.refuse("$( ) in a place")
	}
	if r.enter(); strings.HasPrefix(r.text[r.at:], "cat <<") {
		r.textBlock()
	} else {
		r.inner()
	}
	r.substs--
	r.emit(markSubstEnd)
}

// enter steps over $( or <(.
func (r *reader) enter() {
	if r.at += 2; r.peek(0) == '(' {
		r.refuse("%q", r.text[r.at-2:r.at+1])
	}
	if r.substs++; r.substs > maxDepth {
		r.refuse("$( ) nested deeper than three")
	}
}

// inner reads the rest of $( list ) or <( list ).
func (r *reader) inner() {
	r.list()
	if !r.accept(")") {
		r.refuse(`no ")"`)
	}
}

// process reads the word <( list ): the path of a pipe to bash, zsh and busybox. dash
// and mksh refuse the text from this line on.
func (r *reader) process() {
	moves := r.moves
	r.emit(markFile)
	r.files++
	r.enter()
	r.inner()
	r.substs--
	r.files--
	r.moves = moves
	if !r.delimited() {
		r.refuse("%q behind <( )", r.next())
	}
	r.emit(markSubstEnd, markWord)
}
