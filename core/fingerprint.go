package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deep params may nest.
const maxDepth = 64

// Sealed is the canonical form of a call: the bytes that were hashed, that are
// stored sealed, and that a claim hands out.
type Sealed struct {
	Bytes       []byte // RFC 8785 JSON of {bind?, params, toolName}
	Fingerprint string // SHA-256 of Bytes, lower-case hex

	params json.RawMessage // of Bytes
}

// Canonical computes a call's canonical form and fingerprint. It refuses params
// that are not a JSON object, duplicate keys, lone surrogates, nesting beyond
// 64 levels and numbers that canonical form would change (RFC 8785 writes
// numbers as IEEE 754 doubles, so 9007199254740993 would become another one).
// The error is a problem for the field "params", without any value.
func Canonical(toolName string, params json.RawMessage, bind *Bind) (Sealed, error) {
	sealed, err := appendForm(nil, toolName, params, bind)
	if err != nil {
		return Sealed{}, err
	}
	sealed.Fingerprint = fingerprintOf(sealed.Bytes)
	return sealed, nil
}

// appendForm appends a call's canonical form, and leaves the fingerprint to whoever
// needs it. With an error Bytes is what out has become.
func appendForm(out []byte, toolName string, params json.RawMessage, bind *Bind) (Sealed, error) {
	out = append(slices.Grow(out, len(params)+len(toolName)+32), '{')
	if bind != nil {
		out = append(out, `"bind":{`...)
		for _, m := range [...]struct {
			name string
			text *string
		}{{"envHash", bind.EnvHash}, {"host", bind.Host}, {"workdir", bind.Workdir}} {
			if m.text == nil {
				continue
			}
			if out[len(out)-1] != '{' {
				out = append(out, ',')
			}
			out = appendText(append(appendText(out, m.name), ':'), *m.text)
		}
		out = append(out, `},`...)
	}
	out = append(out, `"params":`...)
	begin := len(out)
	out, err := appendCanonical(out, params)
	if err != nil {
		return Sealed{Bytes: out}, err
	}
	end := len(out)
	out = append(appendText(append(out, `,"toolName":`...), toolName), '}')
	return Sealed{Bytes: out, params: json.RawMessage(out[begin:end:end])}, nil
}

// appendText appends a text as JSON; bytes that are no UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// fingerprintOf names a canonical form.
func fingerprintOf(form []byte) string {
	sum := sha256.Sum256(form)
	var name [2 * sha256.Size]byte
	hex.Encode(name[:], sum[:])
	return string(name[:])
}

// Open reads a canonical form back into its parts.
func Open(canonical []byte) (toolName string, params json.RawMessage, bind *Bind, err error) {
	var v struct {
		Bind     *Bind           `json:"bind"`
		Params   json.RawMessage `json:"params"`
		ToolName string          `json:"toolName"`
	}
	if err := json.Unmarshal(canonical, &v); err != nil {
		return "", nil, nil, err
	}
	return v.ToolName, v.Params, v.Bind, nil
}
