package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// value is a JSON value and its position in its text. The text may have comments
// and a comma after the last member, as several runtimes allow in their files.
type value struct {
	kind       byte // one of { [ " and, for numbers, true, false and null, 0
	start, end int
	members    []member // of an object
	items      []*value // of an array
}

// member is one member of an object.
type member struct {
	name  string
	start int // of its name
	value *value
}

// maxDepth bounds how deep a configuration is nested.
const maxDepth = 100

// errNested is a text that is nested deeper than any configuration.
var errNested = fmt.Errorf("it is nested more than %d deep", maxDepth)

// scanner reads a JSON text.
type scanner struct {
	text string
	pos  int
}

// scan reads a whole text. An empty one is an empty object that has no place yet.
func scan(text string) (*value, error) {
	s := &scanner{text: text}
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not UTF-8")
	}
	s.text = strings.TrimPrefix(text, "\ufeff")
	if s.text != text {
		return nil, errors.New("it begins with a byte order mark; save it without")
	}
	if err := s.space(); err != nil {
		return nil, err
	}
	if s.pos == len(text) {
		return nil, nil
	}
	v, err := s.value(0)
	if err == nil {
		err = s.space()
	}
	if err != nil {
		return nil, err
	}
	if s.pos != len(text) {
		return nil, s.wrong("the end of the file")
	}
	return v, nil
}

// wrong is an error that names the line, and not its content.
func (s *scanner) wrong(expected string) error {
	return fmt.Errorf("line %d: %s expected", 1+strings.Count(s.text[:s.pos], "\n"), expected)
}

// peek is the next byte; 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// space passes over blanks and comments.
func (s *scanner) space() error {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			s.pos++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			s.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return s.wrong("the end of a comment")
			}
			s.pos += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) value(depth int) (*value, error) {
	if depth > maxDepth {
		return nil, errNested
	}
	switch c := s.peek(); c {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	case '"':
		start := s.pos
		_, err := s.string()
		return &value{kind: '"', start: start, end: s.pos}, err
	}
	start := s.pos
	for s.pos < len(s.text) && strings.IndexByte("+-.0123456789abcdefghijklmnopqrstuvwxyzE", s.text[s.pos]) >= 0 {
		s.pos++
	}
	if !json.Valid([]byte(s.text[start:s.pos])) {
		s.pos = start
		return nil, s.wrong("a value")
	}
	return &value{start: start, end: s.pos}, nil
}

// string reads a string and gives what it says.
func (s *scanner) string() (string, error) {
	start := s.pos
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			var out string
			if err := json.Unmarshal([]byte(s.text[start:s.pos]), &out); err != nil {
				s.pos = start
				return "", s.wrong("a valid string")
			}
			return out, nil
		}
	}
	s.pos = start
	return "", s.wrong("the end of a string")
}

func (s *scanner) object(depth int) (*value, error) {
	v := &value{kind: '{', start: s.pos}
	names := map[string]bool{}
	return v, s.list(v, '}', func() error {
		m := member{start: s.pos}
		if s.peek() != '"' {
			return s.wrong("a name in double quotes, or }")
		}
		var err error
		if m.name, err = s.string(); err != nil {
			return err
		}
		if names[m.name] {
			return fmt.Errorf("line %d: %q is given twice in the same object; remove one",
				1+strings.Count(s.text[:m.start], "\n"), m.name)
		}
		names[m.name] = true
		if err = s.space(); err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.wrong("a colon")
		}
		s.pos++
		if err = s.space(); err != nil {
			return err
		}
		m.value, err = s.value(depth + 1)
		v.members = append(v.members, m)
		return err
	})
}

func (s *scanner) array(depth int) (*value, error) {
	v := &value{kind: '[', start: s.pos}
	return v, s.list(v, ']', func() error {
		item, err := s.value(depth + 1)
		v.items = append(v.items, item)
		return err
	})
}

// list reads the text between brackets: items with commas between them, of which
// one may follow the last.
func (s *scanner) list(v *value, closing byte, item func() error) error {
	s.pos++
	for {
		if err := s.space(); err != nil {
			return err
		}
		if s.peek() == closing {
			s.pos++
			v.end = s.pos
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		if err := s.space(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case closing:
		default:
			return s.wrong("a comma, or " + string(closing))
		}
	}
}

// get gives a member's value; nil if there is no such member.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// at gives an item's value; nil if there is no such item.
func (v *value) at(place int) *value {
	if v == nil || place < 0 || place >= len(v.items) {
		return nil
	}
	return v.items[place]
}

// plain is the value without comments, as encoding/json would give it.
func (v *value) plain(text string) any {
	if v == nil {
		return nil
	}
	switch v.kind {
	case '{':
		out := map[string]any{}
		for _, m := range v.members {
			out[m.name] = m.value.plain(text)
		}
		return out
	case '[':
		out := []any{}
		for _, item := range v.items {
			out = append(out, item.plain(text))
		}
		return out
	}
	var out any
	_ = json.Unmarshal([]byte(text[v.start:v.end]), &out) // the scanner has read it
	return out
}
