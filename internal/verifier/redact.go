package verifier

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/display"
)

var errParams = errors.New("params are not one JSON object")

// redactParams gives params as an outside authority may see them: compact JSON
// of the same shape, numbers as they were sent. In tools that write files the
// members that hold contents become "[REDACTED: N chars]"; elsewhere literal
// secrets become "[REDACTED]" by the rules of the display package, even if only
// the member's name, or the argument before, tells of them.
func redactParams(tool string, params []byte) (jsontext.Value, error) {
	d := jsontext.NewDecoder(strings.NewReader(string(params)))
	if d.PeekKind() != '{' {
		return nil, errParams
	}
	r := redactor{json: d, writes: writesFiles(tool), telling: map[string]bool{}}
	out, _, err := r.value(member{})
	if err != nil {
		return nil, errParams
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errParams
	}
	return out, nil
}

type redactor struct {
	json    *jsontext.Decoder
	writes  bool
	telling map[string]bool // names that were looked at: whether they may tell of a secret
}

// member is the position of a value.
type member struct {
	name    string // of the nearest member
	named   string // in {"name": N, "value": V}, N describes V
	content bool   // inside a member that holds a file's contents
	list    bool   // inside a list
}

// value reads the next value and gives its redacted form, and of a string also
// the text itself.
func (r redactor) value(at member) (out []byte, text string, err error) {
	tok, err := r.json.ReadToken()
	if err != nil {
		return nil, "", err
	}
	switch tok.Kind() {
	case '{':
		out, err = r.object(at)
		return out, "", err
	case '[':
		out, err = r.array(at)
		return out, "", err
	case '"':
		text = tok.String()
		return quote(r.text(at, text)), text, nil
	case '0':
		if r.isSecret(at.name, tok.String()) {
			return quote(hidden), "", nil
		}
	}
	return []byte(tok.String()), "", nil
}

func (r redactor) object(at member) ([]byte, error) {
	out := []byte{'{'}
	named := ""
	for i := 0; r.json.PeekKind() != '}'; i++ {
		tok, err := r.json.ReadToken()
		if err != nil {
			return nil, err
		}
		name := tok.String()
		inner := member{name: name, content: at.content || r.writes && contentKeys.Has(foldKey(name)), list: at.list}
		if name == "value" {
			inner.named = named
		}
		value, text, err := r.value(inner)
		if err != nil {
			return nil, err
		}
		if name == "name" || name == "key" {
			named = text
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(safeName(name, i))...), ':'), value...)
	}
	_, err := r.json.ReadToken()
	return append(out, '}'), err
}

// array redacts a list also as a whole: in ["--password", "x"] one element
// tells what the next one is.
func (r redactor) array(at member) ([]byte, error) {
	out := []byte{'['}
	inner := at
	inner.list = true
	for i := 0; r.json.PeekKind() != ']'; i++ {
		value, _, err := r.value(inner)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	if _, err := r.json.ReadToken(); err != nil {
		return nil, err
	}
	out = append(out, ']')
	if whole := jsontext.Value(display.Redact(string(out))); !at.list && whole.IsValid() {
		return whole, nil
	}
	return out, nil
}

// text redacts one string.
func (r redactor) text(at member, s string) string {
	switch {
	case at.content && !pathKeys.Has(foldKey(at.name)):
		return fmt.Sprintf("[REDACTED: %d chars]", utf8.RuneCountInString(s))
	case r.isSecret(at.name, s) || r.isSecret(at.named, s):
		return hidden
	}
	return display.Redact(s)
}

const hidden = "[REDACTED]"

// probe is a value that every name hides that ever hides one.
const probe = "q7Zq7Zq7Zq7Zq7Zq7Zq7Zq7Z"

// isSecret reports whether the name says that the whole value is a secret.
func (r redactor) isSecret(name, value string) bool {
	if name == "" || len(value) > 1000 { // no literal that may be hidden is so long
		return false
	}
	telling, known := r.telling[name]
	if !known {
		telling = hides(name, probe)
		r.telling[name] = telling
	}
	return telling && hides(name, value)
}

// hides asks the display package as a card does, so that both agree.
func hides(name, value string) bool {
	object := append(append(append([]byte{'{'}, quote(name)...), ':'), quote(value)...)
	fields, err := display.Params(append(object, '}'))
	return err == nil && len(fields) == 1 && fields[0].Value == hidden
}

// safeName redacts a member's name; its number keeps two of them apart.
func safeName(name string, number int) string {
	if safe := display.Redact(name); safe != name {
		return safe + " #" + strconv.Itoa(number)
	}
	return name
}

func quote(s string) []byte {
	out, _ := jsontext.AppendQuote(nil, s) // fails only for broken text, which the decoder refuses
	return out
}
