package mcp

import (
	"bytes"
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// members are those of an object.
type members = map[string]jsontext.Value

// strict reads one JSON value. A member that is given twice is an error: others may
// read the other one.
func strict(raw []byte, into any) error {
	return json.Unmarshal(raw, into)
}

// encode writes JSON unchanged, except for a fixed order of members.
func encode(v any) (stdjson.RawMessage, error) {
	return json.Marshal(v, json.Deterministic(true))
}

// value is v as JSON; null for what cannot be written.
func value(v any) jsontext.Value {
	out, err := encode(v)
	if err != nil {
		return jsontext.Value("null")
	}
	return jsontext.Value(out)
}

// object writes names and values, in this order.
func object(pairs ...any) string {
	var b bytes.Buffer
	for i := 0; i < len(pairs); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(value(pairs[i]))
		b.WriteByte(':')
		b.Write(value(pairs[i+1]))
	}
	b.WriteByte('}')
	return b.String()
}
