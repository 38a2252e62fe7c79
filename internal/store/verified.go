package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"approvalbot/core"
)

const (
	verifiedName = "verified" // in meta: "<number> <hash> <MAC>"
	checkedName  = "checked"  // in meta: "<time> <MAC> <problem>"
)

// Verified gives the newest checkpoint's record up to which a check found the whole log good, and the hash that it had;
// 0 if there was no such check, or if another writer than the desk wrote that down.
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

// Checked is the last check of the whole log and of the rows.
type Checked struct {
	AtMs    int64  // when it ended; 0: there was no check
	Problem string // what it found; empty: all was as the desk wrote it
}

// staleCheck is the age of the last check from which people are warned: the desk makes one every week.
const staleCheck = 15 * 24 * time.Hour

// Diagnostic says it to people.
func (c Checked) Diagnostic(now time.Time) core.Diagnostic {
	const what = "log check"
	at := time.UnixMilli(c.AtMs)
	when := at.UTC().Format("2006-01-02 15:04 UTC")
	switch {
	case c.AtMs == 0:
		return core.OK(what, "the whole log and the rows have not been checked yet; the desk checks them within some "+
			"hours of its start, then weekly")
	case c.Problem != "":
		return core.Fail(what, "on "+when+" the check "+
			"found: "+c.Problem, "run approvalbot audit verify to list all problems, and see docs/audit.md")
	case now.Sub(at) > staleCheck:
		return core.Warn(what, "the whole log and the rows were last checked on "+when, "run approvalbot audit "+
			"verify, and look in the desk's log for why the weekly check did not run")
	}
	return core.OK(what, "the whole log and the rows were unchanged at the check of "+when)
}

// LastChecked gives the last check of the whole log; the zero value if there was no check, or if something else than
// the desk wrote that down, or it is of another store or key.
func (s *Store) LastChecked(ctx context.Context) (c Checked, err error) {
	value, err := readOne(ctx, s.read, readMeta, checkedName)
	if err != nil {
		return c, err
	}
	at, rest, _ := strings.Cut(value, " ")
	mac, problem, _ := strings.Cut(rest, " ")
	ms, failed := strconv.ParseInt(at, 10, 64)
	if failed != nil || s.keys.rows == nil || !s.keys.rows.row(checkedName).number(ms).text(problem).fits(mac) {
		return c, nil
	}
	return Checked{ms, problem}, nil
}

// NoteChecked notes what a check of the whole log found.
func (s *Store) NoteChecked(ctx context.Context, c Checked) error {
	return s.do(ctx, func(t *tx) error {
		mac := t.keys.rows.row(checkedName).number(c.AtMs).text(c.Problem).end()
		return t.put(setMeta, checkedName, fmt.Sprint(c.AtMs, " ", mac, " ", c.Problem))
	})
}
