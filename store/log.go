package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"approvalbot/core"
)

// Entry is an event with its place in the hash chain.
type Entry struct {
	core.Event
	Hash     string `json:"hash"`     // hex SHA-256 over the event and PrevHash
	PrevHash string `json:"prevHash"` // of the entry before; empty for the first
}

// BadRecord is the error of [Store.Verify]: the first record of the log that is
// not as it was written.
type BadRecord struct {
	Seq     int64
	Problem string
}

// Error names the record.
func (b *BadRecord) Error() string { return fmt.Sprintf("log record %d %s", b.Seq, b.Problem) }

const (
	takeHead    = `UPDATE log_head SET seq = seq + $1 WHERE id = 1 RETURNING seq, hash`
	setHead     = `UPDATE log_head SET hash = $1 WHERE id = 1`
	readHead    = `SELECT seq, hash FROM log_head WHERE id = 1`
	insertEvent = `INSERT INTO events (seq, at_ms, type, key, owner, data, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	readLog     = `SELECT seq, at_ms, type, key, owner, data, hash FROM events WHERE seq >= $1 ORDER BY seq LIMIT $2`
)

// chainHash is SHA-256 over what comes before and every field, each with its
// length in front, so that no two entries read the same.
func chainHash(prev string, e core.Event) string {
	h := sha256.New()
	for _, field := range [][]byte{
		[]byte("approvalbot log 1"), []byte(prev), binary.BigEndian.AppendUint64(nil, uint64(e.Seq)), binary.BigEndian.AppendUint64(nil, uint64(e.AtMs)),
		[]byte(e.Type), []byte(e.Key), []byte(e.Owner), e.Data,
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		h.Write(field)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// chain numbers and chains the batch's events. It takes the head row last of
// all, and so keeps it locked for a moment only.
func (b *batch) chain() error {
	if len(b.done.events) == 0 {
		return nil
	}
	rows, err := b.rows(takeHead, len(b.done.events))
	if err != nil {
		return err
	}
	var last number
	var hash text
	if found, err := one(rows, &last, &hash); err != nil || !found {
		return fmt.Errorf("the log's head cannot be taken: %w", err)
	}
	prev := string(hash)
	for i, e := range b.done.events {
		e.Seq = int64(last) - int64(len(b.done.events)-1-i)
		if len(e.Data) == 0 {
			e.Data = json.RawMessage("{}")
		}
		prev = chainHash(prev, e)
		if _, err := b.exec(insertEvent, e.Seq, e.AtMs, string(e.Type), e.Key, e.Owner, string(e.Data), prev); err != nil {
			return err
		}
	}
	_, err = b.exec(setHead, prev)
	return err
}

// Log gives at most limit entries that come after number after (0: from the
// start), in order. No entry ever appears below one that was given.
func (s *Store) Log(ctx context.Context, after int64, limit int) ([]Entry, error) {
	rows, err := s.read.query(ctx, readLog, after, limit+1)
	if err != nil {
		return nil, err
	}
	var all []Entry
	prev := ""
	err = each(rows, func() error {
		var e Entry
		var data text
		err := rows.Scan((*number)(&e.Seq), (*number)(&e.AtMs), (*text)(&e.Type), (*text)(&e.Key), (*text)(&e.Owner), &data, (*text)(&e.Hash))
		e.Data, e.PrevHash = json.RawMessage(data), prev
		prev = e.Hash
		if e.Seq > after && len(all) < limit {
			all = append(all, e)
		}
		return err
	})
	return all, err
}

// Verify walks the whole chain and gives the number of entries and the head's
// hash. A [*BadRecord] names the first entry that was changed, taken out or put
// in. Whoever can rewrite the file can rewrite all of the chain: keep heads
// elsewhere to see that.
func (s *Store) Verify(ctx context.Context) (n int, head string, err error) {
	rows, err := s.read.query(ctx, readHead)
	if err != nil {
		return 0, "", err
	}
	var last number
	var want text
	if _, err := one(rows, &last, &want); err != nil {
		return 0, "", err
	}
	for n < int(last) {
		page, err := s.Log(ctx, int64(n), 1000)
		if err != nil {
			return n, head, err
		}
		if len(page) == 0 {
			return n, head, &BadRecord{int64(n + 1), "is missing"}
		}
		for _, e := range page {
			if problem := check(e, int64(n+1), head); problem != "" {
				return n, head, &BadRecord{int64(n + 1), problem}
			}
			n, head = n+1, e.Hash
			if n == int(last) {
				break
			}
		}
	}
	if head != string(want) {
		return n, head, &BadRecord{int64(n), "is not what the log's head says was written last"}
	}
	return n, head, nil
}

func check(e Entry, seq int64, prev string) string {
	switch {
	case e.Seq != seq:
		return "is missing"
	case chainHash(prev, e.Event) != e.Hash:
		return "was changed: its hash does not fit"
	}
	return ""
}
