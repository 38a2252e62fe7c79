package store

import (
	"context"
	"encoding/json"
	"iter"

	"approvalbot/internal/approval"
)

// Head gives the number and hash of the log's newest entry; 0 and empty while the log has
// no entry.
func (s *Store) Head(ctx context.Context) (seq int64, hash string, err error) {
	rows, err := s.read.query(ctx, readHead)
	if err != nil {
		return 0, "", err
	}
	var n number
	var h text
	_, err = one(rows, &n, &h)
	return int64(n), string(h), err
}

// entriesPage is how many entries Entries reads at once.
const entriesPage = 1000

// Entries walks the log from number from to number to, both included, page by
// page. An error ends it.
func (s *Store) Entries(ctx context.Context, from, to int64) iter.Seq2[approval.Entry, error] {
	return func(yield func(approval.Entry, error) bool) {
		for at := from - 1; at < to; {
			page, err := s.Log(ctx, at, int(min(entriesPage, to-at)))
			if err != nil {
				yield(approval.Entry{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, e := range page {
				if e.Seq > to || !yield(e, nil) {
					return
				}
				at = e.Seq
			}
		}
	}
}

// unlogged finds an approval that no entry of the log is about. Both tables are large, so it compares sets: of a
// join SQLite 3.53 makes a nested loop, as PostgreSQL does if it has ORDER and LIMIT, and the time of a check would
// grow with the square of the approvals.
// The order leads SQLite to an index that has all that is asked for. The limit excludes no row, but makes SQLite stay
// with that index.
const unlogged = `SELECT COALESCE(MIN(key), '') FROM (SELECT key FROM (SELECT key FROM approvals WHERE created_ms > $1
 ORDER BY created_ms, key LIMIT 9223372036854775807) AS asked EXCEPT SELECT key FROM events WHERE seq >= $2) AS missing`

const checkpoints = `SELECT seq, at_ms, type, key, owner, data FROM events WHERE type = 'audit.checkpoint' AND seq <= $1
 ORDER BY seq DESC`

// Checkpoints gives the events of the log's checkpoints up to a number, newest first, until fn returns false.
func (s *Store) Checkpoints(ctx context.Context, upTo int64, fn func(approval.Event) (more bool)) error {
	for more := true; more; {
		rows, err := s.read.query(ctx, checkpoints+` LIMIT 20`, upTo)
		if err != nil {
			return err
		}
		var page []approval.Event
		err = each(rows, func() error {
			var e approval.Event
			var data text
			err := rows.Scan((*number)(&e.Seq), (*number)(&e.AtMs), (*text)(&e.Type), (*text)(&e.Key), (*text)(&e.Owner), &data)
			e.Data = json.RawMessage(data)
			page = append(page, e)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for i := 0; i < len(page) && more; i++ {
			more = fn(page[i])
		}
		upTo = page[len(page)-1].Seq - 1
	}
	return nil
}

// Unlogged gives the key of an approval, of those asked for after that time, that no
// entry of the log from that number on is about; empty if there is no such approval. Every approval
// is written together with an entry.
func (s *Store) Unlogged(ctx context.Context, afterMs, from int64) (key string, err error) {
	rows, err := s.read.queryLong(ctx, unlogged, afterMs, from)
	if err != nil {
		return "", err
	}
	_, err = one(rows, (*text)(&key))
	return key, err
}

// Shared reports whether several instances may have this store open: then what
// must happen once needs a lease (see [Store.Hold]).
func (s *Store) Shared() bool { return s.dialect.many }
