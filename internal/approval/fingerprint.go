package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deep params may nest.
const maxDepth = 64

// What params may not be, each a problem of the field "params".
var (
	errNotObject = errors.New("must be a JSON object")
	errBroken    = errors.New("must be a JSON object without duplicate keys or broken text")
	errDeep      = errors.New("must not nest deeper than 64 levels")
	errNumber    = errors.New("has a number that does not survive canonical form; send it as a string")
)

// Sealed is the canonical form of a call: the bytes that were hashed, that are
// stored sealed, and that a claim hands out.
type Sealed struct {
	Bytes       []byte // RFC 8785 JSON of {bind?, params, toolName}
	Fingerprint string // SHA-256 of Bytes, lower-case hex

	Params json.RawMessage // of Bytes
	Exec   *Exec           // what the params of tool exec say; nil if they were not read
}

// Canonical computes a call's canonical form and fingerprint. It refuses params
// that are not a JSON object, duplicate keys, lone surrogates, nesting beyond
// 64 levels and numbers that canonical form would change (RFC 8785 writes
// numbers as IEEE 754 doubles, so 9007199254740993 would become another one).
// The error is a problem for the field "params", without any value.
func Canonical(toolName string, params json.RawMessage, bind *Bind) (Sealed, error) {
	form, err := canonicalParams(params)
	if err != nil {
		return Sealed{}, err
	}
	out := make([]byte, 0, len(form)+len(toolName)+32)
	out = append(out, '{')
	if bind != nil {
		b := jsontext.Value(StoredJSON(bind))
		_ = b.Canonicalize() // what was just written has such a form
		out = append(append(append(out, `"bind":`...), b...), ',')
	}
	out = append(append(out, `"params":`...), form...)
	end := len(out)
	out, _ = jsontext.AppendQuote(append(out, `,"toolName":`...), toolName) // bytes that are no UTF-8 become U+FFFD
	out = append(out, '}')
	sum := sha256.Sum256(out)
	params = json.RawMessage(out[end-len(form) : end : end])
	return Sealed{Bytes: out, Fingerprint: hex.EncodeToString(sum[:]), Params: params}, nil
}

// canonicalParams gives the canonical form of params.
func canonicalParams(params json.RawMessage) (jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(params))
	if d.PeekKind() != '{' {
		return nil, errNotObject
	}
	for done := false; !done; done = d.StackDepth() == 0 {
		tok, err := d.ReadToken()
		switch {
		case err != nil:
			return nil, errBroken
		case d.StackDepth() > maxDepth:
			return nil, errDeep
		case tok.Kind() == '0' && !survives(tok.String()):
			return nil, errNumber
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errNotObject
	}
	form := jsontext.Value(slices.Clone(params))
	if form.Canonicalize() != nil {
		return nil, errBroken
	}
	return form, nil
}

// survives reports whether the decimal number means the same after a round
// through a double. The length check bounds the work: no honest number is longer.
func survives(num string) bool {
	if n, err := strconv.ParseInt(num, 10, 64); err == nil && -1<<53 <= n && n <= 1<<53 {
		return true
	}
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
