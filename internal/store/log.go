package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"approvalbot/internal/approval"
)

const (
	readHead    = `SELECT seq, hash FROM log_head WHERE id = 1`
	moveHead    = `UPDATE log_head SET seq = $1, hash = $2 WHERE id = 1 AND seq = $3`
	insertEvent = `INSERT INTO events (seq, at_ms, type, key, owner, data, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	// insertEvents is insertEvent for many, in one statement of PostgreSQL.
	insertEvents = `INSERT INTO events (seq, at_ms, type, key, owner, data, hash)
 SELECT * FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS TEXT[]), CAST($4 AS TEXT[]),
 CAST($5 AS TEXT[]), CAST($6 AS TEXT[]), CAST($7 AS TEXT[]))`
	// The log's start comes in the same statement: both are of one moment.
	readLog = `SELECT seq, at_ms, type, key, owner, data, hash, (SELECT value FROM meta WHERE name = 'log-start')
 FROM events WHERE seq >= $1 ORDER BY seq LIMIT $2`
)

// chain numbers and chains the batch's events. It takes the head row last of
// all, and so keeps it locked for a moment only.
func (b *batch) chain() error {
	if len(b.done.events) == 0 {
		return nil
	}
	head, err := b.takeHead()
	if err != nil {
		return err
	}
	before := head.seq
	var all eventColumns
	for _, e := range b.done.events {
		head.seq++
		e.Seq = head.seq
		if len(e.Data) == 0 {
			e.Data = json.RawMessage("{}")
		}
		head.hash = approval.ChainHash(head.hash, e)
		if b.dialect.many {
			all.add(e, head.hash)
			continue
		}
		err := b.put(insertEvent, e.Seq, e.AtMs, string(e.Type), e.Key, e.Owner, string(e.Data), head.hash)
		if err != nil {
			return err
		}
	}
	if b.dialect.many { // it is locked
		return errors.Join(b.put(insertEvents, all.args()...), b.put(moveHead, head.seq, head.hash, before))
	}
	b.moved = &head
	return b.putNumber(1, moveHead, head.seq, head.hash, before)
}

// eventColumns are events with their hashes, column by column.
type eventColumns struct {
	seq, atMs                    []int64
	kind, key, owner, data, hash []string
}

func (c *eventColumns) add(e approval.Event, hash string) {
	c.seq, c.atMs = append(c.seq, e.Seq), append(c.atMs, e.AtMs)
	c.kind, c.key, c.owner = append(c.kind, string(e.Type)), append(c.key, e.Key), append(c.owner, e.Owner)
	c.data, c.hash = append(c.data, string(e.Data)), append(c.hash, hash)
}

func (c *eventColumns) args() []any {
	return []any{c.seq, c.atMs, c.kind, c.key, c.owner, c.data, c.hash}
}

// takeHead gives the present head, and keeps others from moving it. If this process alone
// writes, the head is as the last batch left it.
func (b *batch) takeHead() (head logHead, err error) {
	if b.head != nil {
		head, b.head = *b.head, nil // and known again when this is committed
		return head, nil
	}
	rows, err := b.rows(readHead)
	if err != nil {
		return head, err
	}
	if found, err := one(rows, (*number)(&head.seq), (*text)(&head.hash)); err != nil || !found {
		return head, fmt.Errorf("the log's head (its newest record's number and hash) cannot be read: %w", err)
	}
	return head, nil
}

// Log gives at most limit entries that come after number after (0: from the
// log's start), in order. No entry ever appears below one that was given.
func (s *Store) Log(ctx context.Context, after int64, limit int) ([]approval.Entry, error) {
	all, from, err := s.stretch(ctx, after, limit)
	if err == nil && from.seq > after+1 {
		all, _, err = s.stretch(ctx, from.seq-1, limit)
	}
	return all, err
}

// stretch gives a page of the log, and the entry at which the log begins.
func (s *Store) stretch(ctx context.Context, after int64, limit int) (all []approval.Entry, from logStart, err error) {
	rows, err := s.read.query(ctx, readLog, after, limit+1)
	if err != nil {
		return nil, from, err
	}
	prev := ""
	err = each(rows, func() error {
		var e approval.Entry
		var data, begins text
		err := rows.Scan((*number)(&e.Seq), (*number)(&e.AtMs), (*text)(&e.Type), (*text)(&e.Key), (*text)(&e.Owner), &data,
			(*text)(&e.Hash), &begins)
		if err == nil && from.seq == 0 {
			from, err = parseStart(string(begins))
		}
		if e.Seq == from.seq {
			prev = from.before
		}
		e.Data, e.PrevHash = json.RawMessage(data), prev
		prev = e.Hash
		if e.Seq > after && len(all) < limit {
			all = append(all, e)
		}
		return err
	})
	return all, from, err
}

// Verify walks the whole chain, from the log's first entry on, and gives the
// number and hash of the last. A [*approval.BadRecord] names the first entry that was
// changed, taken out or put in. An attacker who can rewrite the file can rewrite the
// whole chain: keep heads elsewhere to detect that.
func (s *Store) Verify(ctx context.Context) (n int, head string, err error) {
	last, want, err := s.Head(ctx)
	if err != nil {
		return 0, "", err
	}
	first, head, err := s.First(ctx)
	if err != nil {
		return 0, "", err
	}
	for n = int(first - 1); n < int(last); {
		page, err := s.Log(ctx, int64(n), 1000)
		if err != nil {
			return n, head, err
		}
		if len(page) == 0 {
			return n, head, &approval.BadRecord{Seq: int64(n + 1), Problem: "is missing"}
		}
		for _, e := range page {
			if problem := check(e, int64(n+1), head); problem != "" {
				return n, head, &approval.BadRecord{Seq: int64(n + 1), Problem: problem}
			}
			n, head = n+1, e.Hash
			if n == int(last) {
				break
			}
		}
	}
	if head != want {
		return n, head, &approval.BadRecord{Seq: int64(n), Problem: "is not the last record that the log's head names"}
	}
	return n, head, nil
}

func check(e approval.Entry, seq int64, prev string) string {
	switch {
	case e.Seq != seq:
		return "is missing"
	case approval.ChainHash(prev, e.Event) != e.Hash:
		return "was changed: its hash does not fit"
	}
	return ""
}
