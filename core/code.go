package core

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// An approval's code is the first thirty bits of its key, a random UUID, in the
// characters that people can read out and type (Crockford base 32). So the index
// that finds approvals by key finds them by code and by prefix too, and what has a
// code of its own has the first eight characters of its key to itself.

const (
	codeLength   = 6
	codeAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// ErrCodeTaken is what Store.Create answers when another approval has the code.
var ErrCodeTaken = refuse(CodeUnavailable, "No free code was found; try again.")

// newKey makes the key of a new approval.
func newKey() string {
	for {
		if key := uuid.NewString(); KeyCode(key) != "REJECT" { // the one code that is a word of the chat grammar
			return key
		}
	}
}

// KeyCode gives the code of an approval by its key, and the empty string for what is
// no key.
func KeyCode(key string) string {
	if len(key) < 8 {
		return ""
	}
	bits, err := strconv.ParseUint(key[:8], 16, 32)
	if err != nil {
		return ""
	}
	code := make([]byte, codeLength)
	for i := range code {
		code[i] = codeAlphabet[bits>>(27-5*i)&31]
	}
	return string(code)
}

// CodeKeys gives the first key that has that code, and what follows the last; both
// are empty for what is no code.
func CodeKeys(code string) (first, end string) {
	if len(code) != codeLength {
		return "", ""
	}
	var bits uint64
	for _, c := range []byte(code) {
		i := strings.IndexByte(codeAlphabet, c)
		if i < 0 {
			return "", ""
		}
		bits = bits<<5 | uint64(i)
	}
	return fmt.Sprintf("%08x", bits<<2), fmt.Sprintf("%08xg", bits<<2|3) // "g" comes after the digits and dashes of keys
}
