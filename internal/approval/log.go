package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Entry is an event with its place in the log's hash chain.
type Entry struct {
	Event
	Hash     string `json:"hash"`     // ChainHash of the event and PrevHash
	PrevHash string `json:"prevHash"` // of the entry before; empty for the first
}

// BadRecord is the error for a log that is not as it was written: it names the
// first record in which that shows.
type BadRecord struct {
	Seq     int64
	Problem string
}

// Error names the record.
func (b *BadRecord) Error() string { return fmt.Sprintf("log record %d %s", b.Seq, b.Problem) }

// ChainHash is the hash of an entry: lower-case hex SHA-256 over the hash of the entry
// before (empty for the first) and every field, each with its length in front, so that no
// two entries read the same. Every checker of a log computes it with this function, for a
// log of any origin.
func ChainHash(prev string, e Event) string {
	const known = 256 // all but the texts, at most
	b := make([]byte, 0, known+len(prev)+len(e.Type)+len(e.Key)+len(e.Owner)+len(e.Data))
	text := func(s string) { b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...) }
	number := func(n int64) { b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, 8), uint64(n)) }
	text("approvalbot log 1")
	text(prev)
	number(e.Seq)
	number(e.AtMs)
	text(string(e.Type))
	text(e.Key)
	text(e.Owner)
	b = append(binary.BigEndian.AppendUint64(b, uint64(len(e.Data))), e.Data...)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
