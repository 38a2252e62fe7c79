package display

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Field is a labelled value, both safe to show: redacted and escaped, the name on one
// line, the value as EscapeBlock writes it.
type Field struct{ Name, Value string }

// Params shows a JSON object, one field for each top-level member, in the
// order of the text. A string is shown as itself, in quotes where it could be
// taken for something else: if it is empty, has a space at either end, or
// reads as JSON. All else is compact JSON, numbers as they were sent. Secrets
// are hidden by the rules of Redact, at any depth, also if only the
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
		value, err := topValue(d, kindOfParam(name))
		if err != nil {
			return nil, err
		}
		fields = append(fields, Field{Safe(name), value})
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
		body := strings.TrimSuffix(shown, "\n") // a script ends in one, which is seen anyway
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
	var out strings.Builder
	if err := writeValue(&out, d, token, k); err != nil {
		return "", err
	}
	return Safe(out.String()), nil
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

// writeValue writes the value that starts with token as compact JSON.
func writeValue(out *strings.Builder, d *json.Decoder, token json.Token, k kind) error {
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return writeObject(out, d)
		}
		return writeArray(out, d, k)
	case string:
		out.WriteString(quoteJSON(redactAs(k, v)))
	case json.Number:
		out.WriteString(redactAs(k, v.String()))
	case bool:
		fmt.Fprint(out, v)
	case nil:
		out.WriteString("null")
	}
	return nil
}

func writeArray(out *strings.Builder, d *json.Decoder, k kind) error {
	out.WriteByte('[')
	for first := true; d.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		if err := writeNext(out, d, k); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	_, err := d.Token()
	return err
}

// writeObject writes the rest of an object. In {"name": N, "value": V} it is N
// that tells what V is.
func writeObject(out *strings.Builder, d *json.Decoder) error {
	out.WriteByte('{')
	named := ordinary
	for first := true; d.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		name, err := stringToken(d)
		if err != nil {
			return err
		}
		out.WriteString(quoteJSON(Redact(name)) + ":")
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
		if err := writeValue(out, d, token, k); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	_, err := d.Token()
	return err
}

func writeNext(out *strings.Builder, d *json.Decoder, k kind) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	return writeValue(out, d, token, k)
}

var jsonEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// quoteJSON quotes s as JSON does; other control characters are left to Escape.
func quoteJSON(s string) string { return `"` + jsonEscapes.Replace(s) + `"` }
