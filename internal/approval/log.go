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

// ChainHash is the hash of an entry: lower-case hex SHA-256 over the hash of the
// entry before (empty for the first) and every field, each with its length in
// front, so that no two entries read the same. Whoever checks a log computes it
// with this function, wherever the log comes from.
func ChainHash(prev string, e Event) string {
	h := sha256.New()
	for _, field := range [][]byte{
		[]byte("approvalbot log 1"), []byte(prev),
		binary.BigEndian.AppendUint64(nil, uint64(e.Seq)), binary.BigEndian.AppendUint64(nil, uint64(e.AtMs)),
		[]byte(e.Type), []byte(e.Key), []byte(e.Owner), e.Data,
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		h.Write(field)
	}
	return hex.EncodeToString(h.Sum(nil))
}
