package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

var errNotJSON = errors.New("must be JSON in UTF-8 without duplicate names")

// member is one member of a JSON object. Both parts are the bytes as sent.
type member struct {
	key   []byte // with its quotes
	name  string
	value json.RawMessage
}

// object is a JSON object that keeps the order and the bytes of its members.
type object []member

// parseObject reads one JSON object. Duplicate names and broken text are errors.
func parseObject(raw json.RawMessage) (object, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if d.PeekKind() != '{' {
		return nil, errors.New("must be a JSON object")
	}
	_, _ = d.ReadToken()
	o := object{}
	for d.PeekKind() == '"' {
		key, err := d.ReadValue()
		if err != nil {
			return nil, errNotJSON
		}
		key = key.Clone()
		name, err := jsontext.AppendUnquote(nil, key)
		if err != nil {
			return nil, errNotJSON
		}
		value, err := d.ReadValue()
		if err != nil {
			return nil, errNotJSON
		}
		o = append(o, member{key, string(name), json.RawMessage(value.Clone())})
	}
	return o, ended(d)
}

// ended reads the end of an object or array, after which no text may follow.
func ended(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return errNotJSON
	}
	if d.StackDepth() != 0 || d.PeekKind() != 0 {
		return errNotJSON
	}
	return nil
}

// parseArray reads one JSON array.
func parseArray(raw json.RawMessage) ([]json.RawMessage, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if d.PeekKind() != '[' {
		return nil, errors.New("must be a JSON array")
	}
	_, _ = d.ReadToken()
	list := []json.RawMessage{}
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		v, err := d.ReadValue()
		if err != nil {
			return nil, errNotJSON
		}
		list = append(list, json.RawMessage(v.Clone()))
	}
	return list, ended(d)
}

// get gives the value of a member, nil if it is missing or null.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name && kindOf(m.value) != 'n' {
			return m.value
		}
	}
	return nil
}

// text gives a member that is a string, "" for anything else.
func (o object) text(name string) string { return unquote(o.get(name)) }

// set gives the object with a member's value replaced, or added at the end.
func (o object) set(name string, value json.RawMessage) object {
	out := append(object{}, o...)
	for i := range out {
		if out[i].name == name {
			out[i].value = value
			return out
		}
	}
	return append(out, member{quote(name), name, value})
}

// without gives the object without a member.
func (o object) without(name string) object {
	out := object{}
	for _, m := range o {
		if m.name != name {
			out = append(out, m)
		}
	}
	return out
}

func (o object) encode() json.RawMessage {
	parts := make([][]byte, len(o))
	for i, m := range o {
		parts[i] = append(append(bytes.Clone(m.key), ':'), m.value...)
	}
	return enclose('{', parts, '}')
}

func encodeArray(list []json.RawMessage) json.RawMessage {
	parts := make([][]byte, len(list))
	for i, v := range list {
		parts[i] = v
	}
	return enclose('[', parts, ']')
}

func enclose(open byte, parts [][]byte, shut byte) json.RawMessage {
	return append(append([]byte{open}, bytes.Join(parts, []byte{','})...), shut)
}

// lookalike reports a member whose name differs from one of names in case, "_"
// or "-" only. Lenient readers would take it for the real one.
func (o object) lookalike(names ...string) bool {
	for _, m := range o {
		for _, n := range names {
			if m.name != n && fold(m.name) == fold(n) {
				return true
			}
		}
	}
	return false
}

func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

func kindOf(raw json.RawMessage) jsontext.Kind { return jsontext.Value(raw).Kind() }

// unquote gives the text of a JSON string, "" for anything else.
func unquote(raw json.RawMessage) string {
	if kindOf(raw) != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(raw))
	if err != nil {
		return ""
	}
	return string(b)
}

// quote writes text as a JSON string; broken UTF-8 becomes U+FFFD.
func quote(s string) json.RawMessage {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	return json.RawMessage(b)
}

// pairs makes an object of names and values; a nil value is left out.
func pairs(more ...any) object {
	o := object{}
	for i := 0; i+1 < len(more); i += 2 {
		name := more[i].(string)
		switch v := more[i+1].(type) {
		case string:
			o = append(o, member{quote(name), name, quote(v)})
		case json.RawMessage:
			if v != nil {
				o = append(o, member{quote(name), name, v})
			}
		}
	}
	return o
}

// canonical gives the RFC 8785 form, nil if raw has no such form.
func canonical(raw json.RawMessage) json.RawMessage {
	v := jsontext.Value(bytes.Clone(raw))
	if v.Canonicalize() != nil {
		return nil
	}
	return json.RawMessage(v)
}
