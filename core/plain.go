package core

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Plain reads JSON piece by piece, without reflection and without a copy of each
// text. What it gives up on may be JSON all the same, since it knows few members,
// little depth and whole numbers only: then a parser that knows all has the word,
// on the mistakes too. What it takes to its end is JSON to a strict parser too,
// and means the same: no name twice in an object, no broken UTF-8. FuzzPlain
// holds it to that.
//
// After it has given up, everything it reads is empty and every loop ends.
type Plain struct {
	text  string
	at    int
	depth int
	odd   bool
}

// Limits of what Plain takes.
const (
	plainDepth   = 16
	plainMembers = 16
)

// ReadPlain begins to read one value. The texts that are read are parts of one
// copy of it.
func ReadPlain(value []byte) Plain { return Plain{text: string(value)} }

// Refuse gives up.
func (p *Plain) Refuse() { p.odd, p.at = true, len(p.text) }

// Done reports whether the value was read to its end, and nothing follows it.
func (p *Plain) Done() bool {
	return p.Kind() == 0 && p.at == len(p.text) && p.depth == 0 && !p.odd
}

// Kind gives the first byte of the next piece; 0, which starts nothing, at the end.
func (p *Plain) Kind() byte {
	for ; p.at < len(p.text); p.at++ {
		switch b := p.text[p.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

// Object is where the reading of an object stands; the zero value before it.
type Object struct {
	Name  string // of the member whose value is next
	list  List
	names [plainMembers]string
	n     int
}

// List is where the reading of a list stands; the zero value before it.
type List struct{ begun bool }

// Member goes on to the value of an object's next member. False: the object ends.
func (p *Plain) Member(o *Object) bool {
	if !p.item(&o.list, '{', '}') {
		return false
	}
	o.Name = p.Text()
	twice := o.n == len(o.names)
	for _, name := range o.names[:o.n] {
		twice = twice || name == o.Name
	}
	if twice || !p.next(':') {
		p.Refuse()
		return false
	}
	o.names[o.n] = o.Name
	o.n++
	return true
}

// Element goes on to a list's next value. False: the list ends.
func (p *Plain) Element(l *List) bool { return p.item(l, '[', ']') }

func (p *Plain) item(l *List, open, end byte) bool {
	switch {
	case !l.begun:
		l.begun = true
		if p.depth++; p.depth > plainDepth || !p.next(open) {
			p.Refuse()
		}
		if !p.next(end) {
			return !p.odd
		}
	case p.next(','):
		return true
	case !p.next(end):
		p.Refuse()
	}
	p.depth--
	return false
}

func (p *Plain) next(b byte) bool {
	if p.Kind() != b {
		return false
	}
	p.at++
	return true
}

// Text reads a string.
func (p *Plain) Text() string {
	if p.Kind() != '"' {
		p.Refuse()
		return ""
	}
	from := p.at + 1
	for i := from; i < len(p.text); i++ {
		switch b := p.text[i]; {
		case b == '"':
			p.at = i + 1
			return p.text[from:i]
		case b < ' ':
			p.Refuse()
			return ""
		case b == '\\' || b >= utf8.RuneSelf:
			return p.unquote(i)
		}
	}
	p.Refuse()
	return ""
}

// unquote reads a string that is plain up to i; the library knows the rest.
func (p *Plain) unquote(i int) string {
	for ; i < len(p.text) && p.text[i] != '"'; i++ {
		if p.text[i] == '\\' {
			i++
		}
	}
	if i >= len(p.text) {
		p.Refuse()
		return ""
	}
	var buf [128]byte
	text, err := jsontext.AppendUnquote(buf[:0], p.text[p.at:i+1])
	if err != nil {
		p.Refuse()
		return ""
	}
	p.at = i + 1
	return string(text)
}

// Scalar reads a string, a whole number, true, false or null: a string's text,
// and of the others their JSON.
func (p *Plain) Scalar() (text string, isText bool) {
	b := p.Kind()
	if b == '"' {
		return p.Text(), true
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if b == word[0] && strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			return word, false
		}
	}
	from := p.at
	for p.at < len(p.text) && isNumber[p.text[p.at]] {
		p.at++
	}
	num := p.text[from:p.at]
	if !short(num) {
		p.Refuse()
		return "", false
	}
	return num, false
}

// Whole reads a whole number.
func (p *Plain) Whole() int64 {
	text, isText := p.Scalar()
	n, err := strconv.ParseInt(text, 10, 64)
	if isText || err != nil {
		p.Refuse()
	}
	return n
}

// Raw reads any value and gives its JSON as it stands.
func (p *Plain) Raw() string {
	p.Kind()
	from := p.at
	p.skip()
	return p.text[from:p.at]
}

func (p *Plain) skip() {
	switch p.Kind() {
	case '{':
		for o := (Object{}); p.Member(&o); {
			p.skip()
		}
	case '[':
		for l := (List{}); p.Element(&l); {
			p.skip()
		}
	default:
		p.Scalar()
	}
}

var isNumber = func() (is [256]bool) {
	for _, b := range "+-.0123456789eE" {
		is[b] = true
	}
	return is
}()

// short reports whether a number is a whole one that every double holds, written
// as RFC 8785 does.
func short[Bytes string | []byte](num Bytes) bool {
	digits := num
	if len(num) > 0 && num[0] == '-' {
		digits = num[1:]
	}
	if len(digits) == 0 || len(digits) > 15 || digits[0] == '0' && len(num) > 1 {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}
