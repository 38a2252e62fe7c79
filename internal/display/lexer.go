package display

import "strings"

// lexer walks through a text the way a POSIX shell divides it into words.
type lexer struct {
	i     int
	word  int  // start of the present word, or -1
	quote byte // the quotation mark that is open, or 0
	open  int  // its position
}

// advance walks on to position end.
func (l *lexer) advance(s string, end int) {
	for ; l.i < end; l.i++ {
		c := s[l.i]
		switch {
		case l.quote == '\'':
			if c == '\'' {
				l.quote = 0
			}
		case c == '\\':
			l.escape(s)
		case l.quote == '"':
			if c == '"' {
				l.quote = 0
			}
		case strings.IndexByte(" \t\n;&|<>(", c) >= 0:
			l.word = -1
		default:
			l.start()
			if c == '"' || c == '\'' {
				l.quote, l.open = c, l.i
			}
		}
	}
}

func (l *lexer) start() {
	if l.word < 0 {
		l.word = l.i
	}
}

// escape steps over a backslash; the next character loses its special meaning,
// and a line feed is dropped.
func (l *lexer) escape(s string) {
	if l.quote == 0 && !strings.HasPrefix(s[l.i:], "\\\n") {
		l.start()
	}
	l.i++
}

// runsApart reports whether a shell might run the word at value as a command,
// although it is written as the value of the name: A=--token B assigns A and
// runs B. It is so if the name is the tail of an assignment or of a
// substitution, and the value is another word. Text in quotes is read once more
// by itself, since it may be a script.
func (f *finder) runsApart(name, value int) bool {
	f.words.advance(f.text, name)
	return f.apart(f.words, f.text, name, value)
}

func (f *finder) apart(at lexer, s string, name, value int) bool {
	if at.word < 0 {
		at.word = name
	}
	end := at
	end.advance(s, value)
	if at.quote != 0 && end.quote == at.quote && end.open == at.open {
		return f.apartInside(s[at.open:value], at.quote, name-at.open)
	}
	if end.word == at.word {
		return false
	}
	before := strings.TrimLeft(s[at.word:max(at.word, name)], `\"'`)
	return !strings.HasPrefix(before, "-") && strings.ContainsAny(before, "=)`}")
}

// apartInside judges the inside of a quotation; quoted is the text from its
// opening mark up to the value.
func (f *finder) apartInside(quoted string, mark byte, name int) bool {
	if f.budget -= len(quoted); f.budget < 0 {
		return true // too deep to tell: showing the text does no harm
	}
	before, after := quoted[1:name], quoted[name:]
	if mark == '"' {
		before, after = unescape(before), unescape(after)
	}
	inner := lexer{word: -1}
	inner.advance(before+after, len(before))
	return f.apart(inner, before+after, len(before), len(before)+len(after))
}

func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
