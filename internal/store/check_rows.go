package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	schemaNow = `SELECT CAST(MAX(version_id) AS TEXT) FROM goose_db_version`
	// ofOne is an approval and its outcome at one moment.
	ofOne = `SELECT ` + approvalColumns + `, e.type, e.data FROM approvals a
 LEFT JOIN (SELECT key, seq, type, ` + outcomeData + ` AS data FROM events WHERE key = $1 AND ` + isOutcome + `) e
 ON e.key = a.key WHERE a.key = $1 ORDER BY e.seq`
)

// CheckRows calls found with a sentence for every row that is not as the desk wrote it: its MAC does not fit (which
// only a store with its key knows, see [OpenToRead]), or it is an approval that was asked for after that time and the log
// says that it ended otherwise. It also calls found if SQLite finds its file damaged. It gives the key of an approval
// asked for after that time of which the log has no record; empty if there is none. It reads page by page, and takes the
// log's records, all of them in order, from log until that is closed; if log is nil, it reads them itself.
func (s *Store) CheckRows(
	ctx context.Context, afterMs int64, log <-chan []approval.Entry, found func(problem string),
) (unlogged string, err error) {
	return s.CheckRowsAt(ctx, afterMs, log, found, func(context.Context) error { return ctx.Err() })
}

// CheckRowsAt is CheckRows that calls rest after each page that it reads when the log has ended; an error of it ends the
// check.
func (s *Store) CheckRowsAt(
	ctx context.Context, afterMs int64, log <-chan []approval.Entry, found func(problem string), rest func(context.Context) error,
) (unlogged string, err error) {
	if log == nil {
		pages := make(chan []approval.Entry)
		reading, stop := context.WithCancel(ctx)
		read := begun(func() (struct{}, error) { return struct{}{}, s.sendLog(reading, pages) })
		defer func() {
			stop()
			if _, failed := read(); err == nil && ctx.Err() == nil && !errors.Is(failed, context.Canceled) {
				err = failed
			}
		}()
		log = pages
	}
	damaged := begun(func() (string, error) { return s.fileDamage(ctx) })
	unlogged, err = s.checkRows(ctx, afterMs, log, func(problem string) {
		if damage, err := damaged(); err == nil && damage == "" {
			found(problem)
		}
	}, rest)
	damage, failed := damaged()
	switch {
	case failed != nil:
		return "", failed
	case damage != "": // what the rows say cannot be trusted
		found(damage)
		return "", nil
	}
	return unlogged, err
}

// sendLog sends the whole log, page by page, and closes pages.
func (s *Store) sendLog(ctx context.Context, pages chan<- []approval.Entry) error {
	defer close(pages)
	for at := int64(0); ; {
		page, err := s.Log(ctx, at, entriesPage)
		if err != nil || len(page) == 0 {
			return err
		}
		select {
		case pages <- page:
		case <-ctx.Done():
			return ctx.Err()
		}
		at = page[len(page)-1].Seq
	}
}

// begun begins with some work; the function that it gives waits for what comes of it.
func begun[T any](work func() (T, error)) (wait func() (T, error)) {
	var out T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, err = work()
	}()
	return func() (T, error) { <-done; return out, err }
}

func (s *Store) checkRows(
	ctx context.Context, afterMs int64, log <-chan []approval.Entry, found func(problem string), rest func(context.Context) error,
) (unlogged string, err error) {
	schema, err := readOne(ctx, s.read, schemaNow)
	if err != nil {
		return "", err
	}
	if n, err := strconv.Atoi(schema); err != nil || n < macSchema {
		return "", err // the desk gives the rows MACs when it starts
	}
	if unlogged, err = s.checkApprovals(ctx, afterMs, log, found); err != nil {
		return "", err
	}
	if err := s.checkMACs(ctx, found, rest); err != nil {
		return "", err
	}
	for _, check := range []func(context.Context, func(string)) error{s.checkAbsences, s.checkInbound, s.checkLegible} {
		if err := check(ctx, found); err != nil {
			return "", err
		}
	}
	return unlogged, nil
}

// checkAbsences reports a problem if the list of absences is older than the log.
func (s *Store) checkAbsences(ctx context.Context, found func(problem string)) error {
	rows, err := s.read.query(ctx, countAbsences)
	if err != nil {
		return err
	}
	var changes, newest text
	if _, err := one(rows, &changes, &newest); err != nil {
		return err
	}
	if _, older, err := revision(changes, newest); err != nil || older {
		found("the table absences is older than the log, so somebody put back an old copy of it; until that is " +
			"repaired, no delegate can vote for an absent person")
	}
	return nil
}

// checkInbound names the stored updates that the log says were handled.
func (s *Store) checkInbound(ctx context.Context, found func(problem string)) error {
	rows, err := s.read.query(ctx, putBackInbound)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var id text
		err := rows.Scan(&id)
		if err == nil {
			found(fmt.Sprintf("somebody put back row %s of table inbound: the log says that the desk handled that "+
				"update", id))
		}
		return err
	})
}

// checkLegible names the records that no look-up by type or key finds.
func (s *Store) checkLegible(ctx context.Context, found func(problem string)) error {
	if s.dialect.many {
		return nil
	}
	rows, err := s.read.query(ctx, `SELECT seq FROM events WHERE `+odd+` ORDER BY seq`)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var seq number
		err := rows.Scan(&seq)
		if err == nil {
			found(fmt.Sprintf("log record %d was not written by the desk: its type or key is not text", seq))
		}
		return err
	})
}

// checkMACs names the rows whose MAC does not fit, of all tables but approvals.
func (s *Store) checkMACs(
	ctx context.Context, found func(problem string), rest func(context.Context) error,
) error {
	if s.keys.rows == nil {
		return nil
	}
	for _, table := range marked[1:] {
		n := len(table.columns)
		err := table.pages(ctx, s.read, table.keys(), func(page [][]any) error {
			for _, row := range page {
				if s.keys.rows.mac(table.name, row[:n]) != row[n] {
					s.notOurs(table.name, words(row[n+1:]), found)
				}
			}
			return rest(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// notOurs names a row whose MAC does not fit.
func (s *Store) notOurs(table, id string, found func(problem string)) {
	_ = s.keys.rows.doubt(table, id) // logged and counted
	if table == "approvals" {
		id += " (" + core.KeyCode(id) + ")"
	}
	found(fmt.Sprintf("row %s of table %s was not written by the desk: its checksum (MAC) is wrong", id, table))
}

// believed are the approvals of a page whose MACs fit, as far as the log is compared with them. The others are named. Most
// of a check's time goes into this, so two goroutines share a page.
func (s *Store) believed(page [][]any, found func(problem string)) ([]approval.Approval, error) {
	half := len(page) / 2
	rear := begun(func() (x halfPage, err error) { return s.believe(page[half:]) })
	front, err := s.believe(page[:half])
	last, failed := rear()
	for _, id := range slices.Concat(front.not, last.not) {
		s.notOurs(marked[0].name, id, found)
	}
	return append(front.all, last.all...), errors.Join(err, failed)
}

// halfPage are approvals whose MACs fit, and the keys of others.
type halfPage struct {
	all []approval.Approval
	not []string
}

func (s *Store) believe(rows [][]any) (x halfPage, err error) {
	table := marked[0]
	n := len(table.columns)
	x.all = make([]approval.Approval, 0, len(rows))
	for _, row := range rows {
		if s.keys.rows != nil && s.keys.rows.mac(table.name, row[:n]) != row[n] {
			x.not = append(x.not, words(row[:1]))
			continue
		}
		a, err := s.keys.compared(row[:n+1])
		if err != nil {
			return x, err
		}
		x.all = append(x.all, a)
	}
	return x, nil
}

// asWritten reads a body that the desk wrote, in two thirds of the time that one takes whose names may be written twice.
var asWritten = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// compared reads of a row of marked columns and the MAC, which are approvalColumns, what the log is compared with. For
// a row that has been believed, that is all: most of a check's time would go into the rest.
func (k keyring) compared(row []any) (a approval.Approval, err error) {
	var body, mac text
	for i, dest := range approvalDest(&a, &body, &mac) {
		if err := dest.(sql.Scanner).Scan(row[i]); err != nil {
			return a, err
		}
	}
	if k.rows == nil {
		return a, k.readBody(&a, body, mac)
	}
	var of struct {
		Records     int64              `json:"records"`
		Retries     int                `json:"retries"`
		RetriedBy   []approval.Retried `json:"retriedBy"`
		ClaimedAtMs int64              `json:"claimedAtMs"`
		RevokedAtMs int64              `json:"revokedAtMs"`
	}
	if err := json.Unmarshal([]byte(body), &of, asWritten); err != nil {
		return a, fmt.Errorf("approval %s cannot be read: %w", a.Key, err)
	}
	a.Records, a.Retries, a.RetriedBy = of.Records, of.Retries, of.RetriedBy
	a.ClaimedAtMs, a.RevokedAtMs = of.ClaimedAtMs, of.RevokedAtMs
	return a, nil
}

// contradiction says how an approval that was asked for after that time and the log differ at one moment; empty if they
// agree, or if the approval is not in the store any more.
func (s *Store) contradiction(ctx context.Context, key string, afterMs int64) (string, error) {
	rows, err := s.read.query(ctx, ofOne, key)
	if err != nil {
		return "", err
	}
	var a approval.Approval
	var o logged
	var body, mac text
	err = each(rows, func() error {
		var kind, data text
		a = approval.Approval{}
		err := rows.Scan(append(approvalDest(&a, &body, &mac), &kind, &data)...)
		o.add(approval.EventType(kind), []byte(data))
		return err
	})
	if err != nil || a.CreatedAtMs <= afterMs { // it was swept, or is older
		return "", err
	}
	if err := s.keys.readBody(&a, body, mac); err != nil {
		if _, doubted := errors.AsType[*Disbelieved](err); doubted { // which the page says that it is in
			err = nil
		}
		return "", err
	}
	return o.contradicts(stateOf(a)), nil
}
