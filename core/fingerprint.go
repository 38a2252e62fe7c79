package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deep params may nest.
const maxDepth = 64

// Sealed is the canonical form of a call: the bytes that were hashed, that are
// stored sealed, and that a claim hands out.
type Sealed struct {
	Bytes       []byte // RFC 8785 JSON of {bind?, params, toolName}
	Fingerprint string // SHA-256 of Bytes, lower-case hex
}

// Canonical computes a call's canonical form and fingerprint. It refuses params
// that are not a JSON object, duplicate keys, lone surrogates, nesting beyond
// 64 levels and numbers that canonical form would change (RFC 8785 writes
// numbers as IEEE 754 doubles, so 9007199254740993 would become another one).
// The error is a problem for the field "params", without any value.
func Canonical(toolName string, params json.RawMessage, bind *Bind) (Sealed, error) {
	if err := checkNumbers(params); err != nil {
		return Sealed{}, err
	}
	members := map[string]any{"params": params, "toolName": toolName}
	if bind != nil && *bind != (Bind{}) {
		members["bind"] = bind
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return Sealed{}, errors.New("must be a JSON object")
	}
	v := jsontext.Value(raw)
	if err := v.Canonicalize(); err != nil {
		return Sealed{}, errors.New("must be a JSON object without duplicate keys or broken text")
	}
	sum := sha256.Sum256(v)
	return Sealed{Bytes: v, Fingerprint: hex.EncodeToString(sum[:])}, nil
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

// checkNumbers walks the object once and refuses what canonical form cannot
// carry unchanged.
func checkNumbers(params []byte) error {
	d := jsontext.NewDecoder(strings.NewReader(string(params)))
	if d.PeekKind() != '{' {
		return errors.New("must be a JSON object")
	}
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return errors.New("must be a JSON object without duplicate keys or broken text")
		}
		if d.StackDepth() > maxDepth {
			return errors.New("must not nest deeper than 64 levels")
		}
		if tok.Kind() == '0' && !survives(tok.String()) {
			return errors.New("has a number that does not survive canonical form; send it as a string")
		}
		if d.StackDepth() == 0 {
			return nil
		}
	}
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
