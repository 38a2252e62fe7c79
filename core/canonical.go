package core

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What params may not be, each a problem of the field "params".
var (
	errNotObject = errors.New("must be a JSON object")
	errBroken    = errors.New("must be a JSON object without duplicate keys or broken text")
	errDeep      = errors.New("must not nest deeper than 64 levels")
	errNumber    = errors.New("has a number that does not survive canonical form; send it as a string")
)

// canon writes RFC 8785 form in one pass over the text. It decides every call's
// fingerprint, so FuzzCanonicalIsRFC8785 holds it equal to a strict parser and a
// canonicalizer that are not ours.
type canon struct {
	in  []byte
	at  int
	out []byte

	members []member // of the objects that are open, the innermost last
	spare   []byte   // to sort members in
}

var canons = sync.Pool{New: func() any { return &canon{} }}

// maxSpare bounds what is kept for the next call, in bytes.
const maxSpare = 4 << 10

// member is one "name":value in out.
type member struct{ from, value, to int } // value: where the name's text ends

// appendCanonical appends the canonical form of params, a JSON object.
func appendCanonical(out []byte, params json.RawMessage) ([]byte, error) {
	c := canons.Get().(*canon)
	defer func() {
		if cap(c.spare) > maxSpare || cap(c.members) > maxSpare/16 {
			c = &canon{}
		}
		clear(c.spare[:cap(c.spare)]) // it was a call's
		*c = canon{members: c.members[:0], spare: c.spare[:0]}
		canons.Put(c)
	}()
	c.in, c.at, c.out = params, 0, out
	c.space()
	if c.peek() != '{' {
		return out, errNotObject
	}
	if err := c.object(1); err != nil {
		return out, err
	}
	c.space()
	if c.at < len(c.in) {
		return out, errNotObject
	}
	return c.out, nil
}

func (c *canon) space() {
	for c.at < len(c.in) {
		switch c.in[c.at] {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return
		}
	}
}

// peek gives the next byte; 0, which starts nothing in JSON, at the end.
func (c *canon) peek() byte {
	if c.at < len(c.in) {
		return c.in[c.at]
	}
	return 0
}

// next takes the byte b, after white space.
func (c *canon) next(b byte) bool {
	c.space()
	if c.peek() != b {
		return false
	}
	c.at++
	return true
}

func (c *canon) value(depth int) error {
	c.space()
	switch b := c.peek(); {
	case b == '{':
		return c.object(depth)
	case b == '[':
		return c.array(depth)
	case b == '"':
		return c.text()
	case b == '-' || '0' <= b && b <= '9':
		return c.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(c.in[c.at:], []byte(word)) {
			c.at += len(word)
			c.out = append(c.out, word...)
			return nil
		}
	}
	return errBroken
}

func (c *canon) array(depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	c.at++
	c.out = append(c.out, '[')
	for first := true; !c.next(']'); first = false {
		if !first {
			if !c.next(',') {
				return errBroken
			}
			c.out = append(c.out, ',')
		}
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
	c.out = append(c.out, ']')
	return nil
}

func (c *canon) object(depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	c.at++
	c.out = append(c.out, '{')
	mine, begins := len(c.members), len(c.out)
	sorted := true
	for first := true; !c.next('}'); first = false {
		if !first {
			if !c.next(',') {
				return errBroken
			}
			c.out = append(c.out, ',')
		}
		m := member{from: len(c.out)}
		c.space()
		if c.peek() != '"' {
			return errBroken
		}
		if err := c.text(); err != nil {
			return err
		}
		m.value = len(c.out)
		if !c.next(':') {
			return errBroken
		}
		c.out = append(c.out, ':')
		if err := c.value(depth + 1); err != nil {
			return err
		}
		m.to = len(c.out)
		if n := len(c.members); n > mine {
			sorted = sorted && c.compare(c.members[n-1], m) < 0
		}
		c.members = append(c.members, m)
	}
	if !sorted {
		if err := c.sort(c.members[mine:], begins); err != nil {
			return err
		}
	}
	c.members = c.members[:mine]
	c.out = append(c.out, '}')
	return nil
}

// sort puts the members of an object, which begin at that byte, in order.
func (c *canon) sort(list []member, begins int) error {
	slices.SortFunc(list, c.compare)
	text := c.spare[:0]
	for i, m := range list {
		if i > 0 {
			if c.compare(list[i-1], m) == 0 {
				return errBroken
			}
			text = append(text, ',')
		}
		text = append(text, c.out[m.from:m.to]...)
	}
	c.out, c.spare = append(c.out[:begins], text...), text
	return nil
}

// compare orders members as RFC 8785 section 3.2.3 does: by their names as UTF-16.
func (c *canon) compare(a, b member) int {
	x, y := c.out[a.from+1:a.value-1], c.out[b.from+1:b.value-1]
	for len(x) > 0 && len(y) > 0 {
		if x[0] == y[0] && x[0] != '\\' && x[0] < utf8.RuneSelf {
			x, y = x[1:], y[1:]
			continue
		}
		i, nx := place(x)
		j, ny := place(y)
		if i != j {
			return cmp.Compare(i, j)
		}
		x, y = x[nx:], y[ny:]
	}
	return cmp.Compare(len(x), len(y))
}

// place is where the first character of canonical text stands in the order of
// UTF-16, and how many bytes it takes. There surrogate pairs, from D800 on, come
// before U+E000.
func place(s []byte) (at, size int) {
	if s[0] == '\\' {
		switch s[1] {
		case 'u': // canonical text has it for control characters only
			n, _ := strconv.ParseUint(string(s[2:6]), 16, 16)
			return int(n) << 20, 6
		case 'b', 't', 'n', 'f', 'r':
			return strings.IndexByte("        btn fr", s[1]) << 20, 2 // U+0008 is \\b, and so on
		}
		return int(s[1]) << 20, 2
	}
	r, size := utf8.DecodeRune(s)
	if r > 0xFFFF {
		return 0xD800<<20 + int(r-0x10000), size
	}
	return int(r) << 20, size
}

// text copies a string. What has an escape, or is not ASCII, the library reads.
func (c *canon) text() error {
	start := c.at
	for i := start + 1; i < len(c.in); i++ {
		switch b := c.in[i]; {
		case b == '"':
			c.at = i + 1
			c.out = append(c.out, c.in[start:c.at]...)
			return nil
		case b < ' ':
			return errBroken
		case b == '\\' || b >= utf8.RuneSelf:
			return c.rest(start, i)
		}
	}
	return errBroken
}

// rest copies a string that begins at start and is plain up to i.
func (c *canon) rest(start, i int) error {
	for ; i < len(c.in) && c.in[i] != '"'; i++ {
		if c.in[i] == '\\' {
			i++
		}
	}
	if i >= len(c.in) {
		return errBroken
	}
	c.at = i + 1
	text, err := jsontext.AppendUnquote(nil, c.in[start:c.at])
	if err == nil {
		c.out, err = jsontext.AppendQuote(c.out, text)
	}
	if err != nil {
		return errBroken
	}
	return nil
}

// number copies a number if it survives a round through a double.
func (c *canon) number() error {
	start := c.at
	for c.at < len(c.in) && isNumber[c.in[c.at]] {
		c.at++
	}
	num := c.in[start:c.at]
	if short(num) {
		c.out = append(c.out, num...)
		return nil
	}
	v := jsontext.Value(slices.Clone(num))
	if !v.IsValid() {
		return errBroken
	}
	if !survives(string(num)) {
		return errNumber
	}
	if v.Canonicalize() != nil {
		return errBroken
	}
	c.out = append(c.out, v...)
	return nil
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

// survives reports whether the decimal number means the same after a round
// through a double. The length check bounds the work: no honest number is longer.
func survives(num string) bool {
	if len(num) > 64 {
		return false
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return false
	}
	if _, exp, ok := strings.Cut(strings.ToLower(num), "e"); ok {
		if n, err := strconv.Atoi(exp); err != nil || n > 400 || n < -400 {
			return false
		}
	}
	a, okA := new(big.Rat).SetString(num)
	b, okB := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return okA && okB && a.Cmp(b) == 0
}
