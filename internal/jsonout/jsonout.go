// Package jsonout writes JSON objects member by member, without reflection: every
// call that is asked has one in the store, one in the log and one in its answer.
// Who writes with it holds the outcome equal to what a library writes.
package jsonout

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is an object that is being written: its brace, then its members.
type Object struct{ B []byte }

// Begin begins an object behind b. Its end is the writer's to append.
func Begin(b []byte) Object { return Object{append(b, '{')} }

// Name begins a member; its value is to follow in B. Names are not escaped.
func (o *Object) Name(name string) {
	if o.B[len(o.B)-1] != '{' {
		o.B = append(o.B, ',')
	}
	o.B = append(append(append(o.B, '"'), name...), '"', ':')
}

// Text writes a text; bytes that are no UTF-8 become U+FFFD.
func (o *Object) Text(name, s string) {
	o.Name(name)
	o.B = AppendText(o.B, s)
}

// Some is Text, left out when empty.
func (o *Object) Some(name, s string) {
	if s != "" {
		o.Text(name, s)
	}
}

// Number writes a number.
func (o *Object) Number(name string, n int64) {
	o.Name(name)
	o.B = strconv.AppendInt(o.B, n, 10)
}

// Nonzero is Number, left out when 0.
func (o *Object) Nonzero(name string, n int64) {
	if n != 0 {
		o.Number(name, n)
	}
}

// Flag writes true or false.
func (o *Object) Flag(name string, is bool) {
	o.Name(name)
	o.B = strconv.AppendBool(o.B, is)
}

// Texts writes a list of texts; nil is the empty list.
func Texts[S ~string](o *Object, name string, all []S) {
	o.Name(name)
	o.B = append(o.B, '[')
	for i, s := range all {
		if i > 0 {
			o.B = append(o.B, ',')
		}
		o.B = AppendText(o.B, string(s))
	}
	o.B = append(o.B, ']')
}

// AppendText appends a text as JSON, in its canonical form (RFC 8785, section
// 3.2.2.2); bytes that are no UTF-8 become U+FFFD. What is not plain ASCII, the
// library writes.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		if odd[s[i]] {
			b, _ = jsontext.AppendQuote(b, s)
			return b
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// odd are the bytes that do not stand for themselves in JSON, or are not ASCII.
var odd = func() (is [256]bool) {
	for c := range is {
		is[c] = c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	}
	return is
}()
