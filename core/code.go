package core

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"approvalbot/internal/approval"
)

// An approval's code is the first thirty bits of its key, a UUID, in the characters
// that people can read out and type (Crockford base 32). So the index
// that finds approvals by key finds them by code and by prefix too, and what has a
// code of its own has the first eight characters of its key to itself.

const (
	codeLength   = 6
	CodeAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// ErrCodeTaken is what Store.Create answers when another approval has the code.
var ErrCodeTaken = approval.Refuse(approval.CodeUnavailable, "The desk found no free code for the approval; try again.")

// newKey makes the key of a new approval. Codes that people are asked with are random, so
// that a person who mistypes one does not hit another. Those of calls that policy settles
// follow each other, some way apart, so that a batch of them falls into a few pages of the
// store's index instead of into one page each.
func newKey(a approval.Approval) string {
	for {
		id := uuid.New()
		if a.Final() {
			step := 1 + binary.BigEndian.Uint32(id[:])%maxStep
			binary.BigEndian.PutUint32(id[:], firstSettled+settled.Add(step<<2))
		}
		if key := id.String(); KeyCode(key) != "REJECT" { // the one code that is a word of the chat grammar
			return key
		}
	}
}

// maxStep is how far one settled call's code is from the next at most: after half a million
// they begin again from the start. Shorter steps would leave ranges in which many codes are
// taken, and a later process could begin in such a range.
const maxStep = 4096

var (
	firstSettled = rand.Uint32()
	settled      atomic.Uint32
)

// KeysCalled gives the first key that people could mean by that name, as its code, as
// itself or as a beginning of eight or more characters, and the key after the last one.
// Both are empty if the name cannot be any of these.
func KeysCalled(name string) (first, end string) {
	if first, end = CodeKeys(strings.ToUpper(name)); first != "" {
		return first, end
	}
	prefix := strings.ToLower(name)
	fits := len(prefix) >= 8 && len(prefix) <= keyLength
	if !fits || KeyCode(prefix) == "" || strings.Trim(prefix, "0123456789abcdef-") != "" {
		return "", ""
	}
	return prefix, prefix + "g"
}

const keyLength = len("00000000-0000-0000-0000-000000000000")

// mayBeKey reports whether a name could be the key of an approval, and not only the beginning of one.
func mayBeKey(name string) bool { return len(name) == keyLength && KeyCode(name) != "" }

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
		code[i] = CodeAlphabet[bits>>(27-5*i)&31]
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
		i := strings.IndexByte(CodeAlphabet, c)
		if i < 0 {
			return "", ""
		}
		bits = bits<<5 | uint64(i)
	}
	// "g" comes after the digits and dashes of keys.
	return fmt.Sprintf("%08x", bits<<2), fmt.Sprintf("%08xg", bits<<2|3)
}

// named gives an approval a new key, with that its code, and its id: its owner's
// own, or the key.
func named(a approval.Approval, own string) approval.Approval {
	a.Key = newKey(a)
	a.ID, a.Code = cmp.Or(own, a.Key), KeyCode(a.Key)
	return a
}
