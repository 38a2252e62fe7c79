package display

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Field is a labelled value, both safe to show: redacted and escaped, the name on one
// line, the value as EscapeBlock writes it.
type Field struct {
	Name, Value string

	sent struct {
		name string
		json []byte // a stretch of params
	}
}

// Params shows a JSON object, one field for each top-level member, in the order of the
// text. A string is shown as itself, in quotes if it could be misread: if it is empty, has
// a space at either end, or reads as JSON. Any other value is compact JSON, numbers as they
// were sent. Secrets are hidden by the rules of Redact, at any depth, even if only the
// member's name tells of them (see Sensitive). An error means that params are not one valid
// JSON object, or not UTF-8.
func Params(params []byte) ([]Field, error) {
	if !utf8.Valid(params) || !json.Valid(params) || bytes.TrimLeft(params, " \t\r\n")[0] != '{' {
		return nil, errors.New("params are not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	var fields []Field
	for d.More() {
		name, err := stringToken(d)
		if err != nil {
			return nil, err
		}
		begin := d.InputOffset()
		value, err := topValue(d, kindOfParam(name))
		if err != nil {
			return nil, err
		}
		f := Field{Name: Safe(name), Value: value}
		f.sent.name, f.sent.json = name, bytes.TrimLeft(params[begin:d.InputOffset()], " \t\r\n:")
		fields = append(fields, f)
	}
	return fields, nil
}

func stringToken(d *json.Decoder) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", fmt.Errorf("params: %w", err)
	}
	s, _ := token.(string)
	return s, nil
}

// topValue shows the next value of d, of a top-level member of kind k.
func topValue(d *json.Decoder, k kind) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", fmt.Errorf("params: %w", err)
	}
	if s, ok := token.(string); ok {
		shown := redactAs(k, s)
		body := strings.TrimSuffix(shown, "\n") // a script ends in one, which is visible anyway
		if !strings.Contains(body, "\n") {
			body = shown
		}
		// A text of several lines may begin indented.
		first := strings.TrimLeftFunc(body, isBlank)
		indented := strings.Contains(body, "\n") && first != "" && first[0] != '"'
		if isAmbiguous(body) && !(indented && !isAmbiguous(first)) {
			shown = quoteJSON(shown)
		}
		return EscapeBlock(shown), nil
	}
	w := compact{}
	if err := w.value(d, token, k); err != nil {
		return "", err
	}
	return Safe(w.out.String()), nil
}

// redactAs hides all of s, if it is the literal secret of a member of kind k,
// or else the secrets in it.
func redactAs(k kind, s string) string {
	if hideable(s) && isFaint(s) && worthHiding(k, s, false) {
		return redacted
	}
	return Redact(s)
}

func isAmbiguous(s string) bool {
	if s == "" || s[0] == '"' {
		return true
	}
	return strings.TrimFunc(s, isBlank) != s || json.Valid([]byte(s))
}

// compact writes JSON without blanks, its secrets hidden by the names of members. If leaves are asked for, it
// records their positions in the text.
type compact struct {
	out    strings.Builder
	leaves *[]leafAt // nil if not wanted
	path   []string
	item   bool // the last of path counts the items of an array
}

// value writes the value that starts with token.
func (w *compact) value(d *json.Decoder, token json.Token, k kind) error {
	begin := w.out.Len()
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return w.object(d)
		}
		return w.array(d, k)
	case string:
		w.out.WriteString(quoteJSON(redactAs(k, v)))
	case json.Number:
		w.out.WriteString(redactAs(k, v.String()))
	case bool:
		fmt.Fprint(&w.out, v)
	case nil:
		w.out.WriteString("null")
	}
	w.leaf(begin, token)
	return nil
}

func (w *compact) array(d *json.Decoder, k kind) error {
	begin, path, n := w.out.Len(), w.path, 0
	w.out.WriteByte('[')
	for ; d.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}
		token, err := d.Token()
		if err != nil {
			return err
		}
		if w.leaves != nil {
			w.path, w.item = append(path[:len(path):len(path)], strconv.Itoa(n)), true
		}
		if err := w.value(d, token, k); err != nil {
			return err
		}
	}
	return w.end(d, ']', begin, path, n)
}

// object writes the rest of an object. In {"name": N, "value": V} it is N that tells what V is.
func (w *compact) object(d *json.Decoder) error {
	begin, path, n := w.out.Len(), w.path, 0
	w.out.WriteByte('{')
	named := ordinary
	for ; d.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}
		name, err := stringToken(d)
		if err != nil {
			return err
		}
		shown := Redact(name)
		w.out.WriteString(quoteJSON(shown) + ":")
		token, err := d.Token()
		if err != nil {
			return err
		}
		k := kindOfParam(name)
		switch v, isString := token.(string); {
		case isString && (name == "name" || name == "key"):
			named, k = kindOfParam(v), ordinary
		case name == "value":
			k = max(k, named)
		}
		if w.leaves != nil {
			w.path, w.item = append(path[:len(path):len(path)], NamePart(Escape(shown))), false
		}
		if err := w.value(d, token, k); err != nil {
			return err
		}
	}
	return w.end(d, '}', begin, path, n)
}

// end closes an array or object that began there. One without members is a leaf.
func (w *compact) end(d *json.Decoder, sign byte, begin int, path []string, members int) error {
	w.out.WriteByte(sign)
	if w.path = path; members == 0 {
		w.leaf(begin, nil)
	}
	_, err := d.Token()
	return err
}

var jsonEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// quoteJSON quotes s as JSON does; other control characters are left to Escape.
func quoteJSON(s string) string { return `"` + jsonEscapes.Replace(s) + `"` }
