package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"approvalbot/internal/approval"
)

const (
	startName = "log-start" // in meta: "<number> <hash>", the log's first entry and the hash before it
	readStart = `SELECT value FROM meta WHERE name = 'log-start'`
	hashAt    = `SELECT hash FROM events WHERE seq = $1`
	dropCut   = `DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq < $1 ORDER BY seq LIMIT $2)`
)

// logStart is the entry at which a log begins.
type logStart struct {
	seq    int64  // of its first entry
	before string // hash of the entry before that one
}

func parseStart(value string) (logStart, error) {
	if value == "" {
		return logStart{seq: 1}, nil
	}
	number, hash, _ := strings.Cut(value, " ")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 2 || hash == "" {
		return logStart{}, fmt.Errorf("row %s of table meta does not name the log's first record, so it is damaged: "+
			"restore a backup", startName)
	}
	return logStart{seq, hash}, nil
}

func readLogStart(ctx context.Context, q querier) (logStart, error) {
	rows, err := q.query(ctx, readStart)
	if err != nil {
		return logStart{}, err
	}
	var value text
	if _, err := one(rows, &value); err != nil {
		return logStart{}, err
	}
	return parseStart(string(value))
}

// First gives the number of the log's first entry, and the hash of the entry that
// was before it: 1 and empty unless [Store.CutLog] has cut the log.
func (s *Store) First(ctx context.Context) (seq int64, prevHash string, err error) {
	from, err := readLogStart(ctx, s.read)
	return from.seq, from.before, err
}

// CutLog makes the log begin after entry number through, whose hash must be the
// one given, and appends why, in one commit. The chain stays whole: the hash is kept, and
// checking begins with it. The entries are deleted afterwards, by [Store.DropCut]. It
// refuses to cut at an entry that is not there.
func (s *Store) CutLog(ctx context.Context, through int64, hash string, why approval.Event) error {
	return s.do(ctx, func(t *tx) error {
		rows, err := t.query(ctx, hashAt, through)
		if err != nil {
			return err
		}
		var have text
		if _, err := one(rows, &have); err != nil {
			return err
		}
		from, err := readLogStart(ctx, t)
		if err != nil {
			return err
		}
		if through < from.seq || hash == "" || string(have) != hash {
			t.refused = true
			return fmt.Errorf("the log cannot be cut at record %d: the log begins at record %d, or the hash of "+
				"record %[1]d differs between log and export", through, from.seq)
		}
		_, err = t.exec(setMeta, startName, strconv.FormatInt(through+1, 10)+" "+hash)
		t.own.events = append(t.own.events, why)
		return err
	})
}

// DropCut deletes the entries that CutLog has cut off, in small transactions, and
// gives how many there were.
func (s *Store) DropCut(ctx context.Context) (n int, err error) {
	from, err := readLogStart(ctx, s.read)
	if err != nil || from.seq == 1 {
		return 0, err
	}
	err = s.sweep(ctx, dropCut, from.seq, &n)
	return n, err
}
