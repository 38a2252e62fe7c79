package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const verifiedName = "verified" // in meta: "<number> <hash> <MAC>"

// Verified gives the newest checkpoint's record up to which a check found the whole log good, and the hash that it had;
// 0 if there is none, or if something else than the desk wrote that down.
func (s *Store) Verified(ctx context.Context) (seq int64, hash string, err error) {
	value, err := readOne(ctx, s.read, readMeta, verifiedName)
	if err != nil {
		return 0, "", err
	}
	number, rest, _ := strings.Cut(value, " ")
	hash, mac, _ := strings.Cut(rest, " ")
	seq, failed := strconv.ParseInt(number, 10, 64)
	if failed != nil || s.keys.rows == nil || !s.keys.rows.row(verifiedName).number(seq).text(hash).fits(mac) {
		return 0, "", nil
	}
	return seq, hash, nil
}

// NoteVerified notes that a check found the whole log good up to that record.
func (s *Store) NoteVerified(ctx context.Context, seq int64) error {
	return s.do(ctx, func(t *tx) error {
		rows, err := t.query(ctx, hashAt, seq)
		if err != nil {
			return err
		}
		var hash text
		if found, err := one(rows, &hash); err != nil || !found {
			return err
		}
		mac := t.keys.rows.row(verifiedName).number(seq).text(string(hash)).end()
		return t.put(setMeta, verifiedName, fmt.Sprint(seq, " ", hash, " ", mac))
	})
}
