package shell

import "strings"

// document reads <<'DELIM' or <<DELIM. The body begins behind this line's newline,
// and is stepped over when that is reached.
func (r *reader) document() {
	delim, filled, ok := r.delimiter()
	switch {
	case !ok:
		r.refuse("a here-document's delimiter that is not a plain name")
	case r.substs > 0:
		r.refuse("a here-document inside $( )")
	case r.here != none:
		r.refuse("two here-documents on one line")
	case !r.delimited():
		r.refuse("%q behind a here-document's delimiter", r.next())
	}
	newline := strings.IndexByte(r.text[r.at:], '\n')
	if newline < 0 {
		r.refuse("a here-document without a body")
	}
	r.here = r.at + newline
	body, end, ok := body(r.text, r.here+1, delim)
	if !ok {
		r.refuse("a here-document that shells may end at different lines")
	}
	r.hereEnd = end
	r.emitDocument(body, r.here+1, filled)
}

// emitDocument writes the body that begins at from; filled says that shells put the values
// of variables into it.
func (r *reader) emitDocument(body string, from int, filled bool) {
	r.emit(markRedirect, '<', '<', markWord)
	if filled {
		r.filled(from, from+len(body))
	} else {
		r.out = append(r.out, body...)
	}
	r.emit(markWord)
}

// filled writes a body in which the names of variables are replaced, and all other text
// means itself.
func (r *reader) filled(from, end int) {
	at, text := r.at, r.text
	r.at, r.text = from, text[:end]
	for r.at < end {
		switch c := r.peek(0); {
		case c == '\\', c == '`', c == '$' && (r.peek(1) == '(' || r.peek(1) == '?'):
			r.refuse("%q in a here-document without '…' around its delimiter", r.next())
		case c == '$':
			r.dollar(true)
			r.behindExpansion()
		default:
			r.emit(c)
			r.at++
		}
	}
	r.at, r.text = at, text
}

// delimiter steps over <<, blanks and a delimiter; filled says that it is not quoted.
func (r *reader) delimiter() (name string, filled, ok bool) {
	r.accept("<<")
	r.blanks()
	quoted := r.accept("'")
	name = r.name()
	r.at += len(name)
	return name, !quoted, name != "" && (!quoted || r.accept("'"))
}

// body gives the text of a here-document that begins at from, and the position at which its
// delimiter's line ends. No other line may begin with the delimiter, not even behind
// blanks: shells differ on what then ends it.
func body(text string, from int, delim string) (body string, end int, ok bool) {
	for at := from; at <= len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		if line == delim {
			return text[from:at], at + len(line), true
		}
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), delim) {
			return "", 0, false
		}
		at += len(line) + 1
	}
	return "", 0, false
}

// textBlock reads the rest of $(cat <<'DELIM' newline body newline DELIM newline), or
// of the same without quotes, in which agents write commit messages.
func (r *reader) textBlock() {
	r.at += len("cat ")
	delim, filled, ok := r.delimiter()
	second := r.substs > 1 || r.here != none
	if second || !ok || r.peek(0) != '\n' {
		r.refuse("a here-document inside $( )")
	}
	from := r.at + 1
	text, end, ok := body(r.text, from, delim)
	if !ok || !strings.HasPrefix(r.text[end:], "\n)") {
		r.refuse("a here-document that shells may end at different lines")
	}
	if !balanced(text, strings.IndexByte(r.text[end:], '\'') < 0) {
		r.refuse("a here-document with quotes or brackets that bash 3.2 reads otherwise")
	}
	r.out = append(append(r.out, "cat"...), markWord)
	r.emitDocument(text, from, filled)
	r.emit(markEnd)
	r.at = end + len("\n)")
}

// balanced reports a body that bash 3.2, which looks for the closing bracket of $( ) by
// counting quotes and brackets also in here-documents, reads to its end. A single quote may
// stay open if no other follows: then that bash runs no command.
func balanced(text string, last bool) bool {
	open := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(':
			open++
		case ')':
			if open--; open < 0 {
				return false
			}
		case '\\':
			if i++; i == len(text) || text[i] == '\n' {
				return false
			}
		case '$':
			if i+1 < len(text) && (text[i+1] == '\'' || text[i+1] == '"') {
				return false
			}
		case '`':
			return false
		case '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				return last && open == 0
			}
			i += end + 1
		case '"':
			end := strings.IndexByte(text[i+1:], '"')
			if end < 0 || expands(text[i+1:i+1+end]) {
				return false
			}
			i += end + 1
		}
	}
	return open == 0
}

// expands reports text that means more than itself in double quotes.
func expands(text string) bool {
	return strings.ContainsAny(text, "\\`") || strings.Contains(text, "$(") || strings.Contains(text, "${")
}
