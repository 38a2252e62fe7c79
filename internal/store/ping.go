package store

import (
	"context"
	"strconv"
	"strings"
	"time"
)

const (
	probe = `INSERT INTO meta (name, value) VALUES ('probe', $1)
 ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	probeEntry = `DELETE FROM events WHERE seq = $1`
)

// pingAfterMs is how long after a commit another one is taken for granted.
const pingAfterMs = 10_000

// pingBytes is how much Ping writes after a write has failed: about what the longest call
// takes, because a small write often still fits on a disk that is too full for that.
const pingBytes = 512 << 10

// Ping reports whether writes are carried out: it writes a small row if the last write
// was more than ten seconds ago. Once something could not be written, it tries all that a
// commit needs, the log's next entry too, until that succeeds. It returns when ctx ends,
// even if the database or the disk hangs.
func (s *Store) Ping(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- s.do(ctx, s.ping) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return unwritten(context.Cause(ctx))
	}
}

func (s *Store) ping(t *tx) error {
	now, broken := nowMs(), s.broken.Load()
	if !broken && now-s.wroteMs.Load() < pingAfterMs {
		return nil
	}
	if _, err := t.exec(probe, strconv.FormatInt(now, 10)); err != nil || !broken {
		return err
	}
	rows, err := t.rows(readHead)
	if err != nil {
		return err
	}
	var seq number
	var hash text
	if _, err := one(rows, &seq, &hash); err != nil {
		return err
	}
	next := int64(seq) + 1
	if _, err := t.exec(insertEvent, next, now, "probe", "", "", strings.Repeat("0", pingBytes), ""); err != nil {
		return err
	}
	_, err = t.exec(probeEntry, next) // the log stays as it was
	return err
}

// WroteWithin reports whether this instance has written something within that time.
func (s *Store) WroteWithin(d time.Duration) bool { return nowMs()-s.wroteMs.Load() < d.Milliseconds() }
