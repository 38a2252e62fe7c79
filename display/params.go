package display

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Field is a labelled value, both safe to show: redacted, escaped, on one line.
type Field struct{ Name, Value string }

// Params shows a JSON object, a field for each top-level member in the order of
// the text. A string shows as itself, in quotes where it could be taken for
// something else (empty, with spaces at its ends, or reading like other JSON);
// everything else is compact JSON. The value of a name that says secret is
// hidden when it is a plain literal (see [Redact]).
func Params(params []byte) ([]Field, error) {
	d := json.NewDecoder(bytes.NewReader(params))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("params are not a JSON object")
	}
	var out []Field
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		out = append(out, Field{Safe(name), memberValue(name, raw)})
	}
	return out, nil
}

func memberValue(name string, raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return Safe(string(raw))
	}
	if worthHiding(kindOf(name), s, false) && hideable(s) {
		return redacted
	}
	s = Redact(s)
	if ambiguous(s) {
		quoted, _ := json.Marshal(s)
		return Escape(string(quoted))
	}
	return Escape(s)
}

func ambiguous(s string) bool {
	return s == "" || strings.TrimSpace(s) != s || json.Valid([]byte(s))
}
