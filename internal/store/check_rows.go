package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	schemaNow = `SELECT CAST(MAX(version_id) AS TEXT) FROM goose_db_version`
	// ofPage are the outcomes of a page of approvals, by the index events_outcome.
	ofPage = `SELECT key, type, ` + outcomeData + ` FROM events
 WHERE key >= $1 AND key <= $2 AND ` + isOutcome + ` ORDER BY key, seq`
	// ofOne is an approval and its outcome at one moment.
	ofOne = `SELECT ` + approvalColumns + `, e.type, e.data FROM approvals a
 LEFT JOIN (SELECT key, seq, type, ` + outcomeData + ` AS data FROM events WHERE key = $1 AND ` + isOutcome + `) e
 ON e.key = a.key WHERE a.key = $1 ORDER BY e.seq`
)

// CheckRows calls found with a sentence for every row that is not as the desk wrote it: its MAC
// does not fit, or it is an approval that was asked for after that time and the log says that it
// ended otherwise; also if SQLite finds its file damaged. It reads page by page. Without the store's key, see [OpenToRead], no MAC is
// checked, and marked is false.
func (s *Store) CheckRows(ctx context.Context, afterMs int64, found func(problem string)) (marked bool, err error) {
	problem, err := s.fileDamage(ctx)
	if err != nil {
		return false, err
	}
	if problem != "" { // what the rows say is worth nothing
		found(problem)
		return false, nil
	}
	schema, err := readOne(ctx, s.read, schemaNow)
	if err != nil {
		return false, err
	}
	if n, err := strconv.Atoi(schema); err != nil || n < macSchema {
		return false, err // the desk gives the rows MACs when it starts
	}
	if s.keys.rows != nil {
		if err := s.checkMACs(ctx, found); err != nil {
			return false, err
		}
	}
	for _, check := range []func(context.Context, func(string)) error{s.checkAbsences, s.checkInbound, s.checkLegible} {
		if err := check(ctx, found); err != nil {
			return false, err
		}
	}
	return s.keys.rows != nil, s.checkOutcomes(ctx, afterMs, found)
}

// checkAbsences says if who is away is older than the log.
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
		found("who is away (the table absences, and its count in meta) is older than the log: it was put back, and lends nothing")
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
			found(fmt.Sprintf("the row %s of table inbound was put back: the log says that it was handled", id))
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
			found(fmt.Sprintf("record %d was not written by the desk: its type or key is no text", seq))
		}
		return err
	})
}

func (s *Store) checkMACs(ctx context.Context, found func(problem string)) error {
	for _, table := range marked {
		err := table.walk(ctx, s.read, func(row []any, mac string, key []any) error {
			if s.keys.rows.mac(table.name, row) == mac {
				return ctx.Err()
			}
			id := words(key)
			_ = s.keys.rows.doubt(table.name, id) // logged and counted
			if table.name == "approvals" {
				id += " (" + core.KeyCode(id) + ")"
			}
			found(fmt.Sprintf("the row %s of table %s was not written by the desk: its MAC does not fit", id, table.name))
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkOutcomes compares every approval with the log.
func (s *Store) checkOutcomes(ctx context.Context, afterMs int64, found func(problem string)) error {
	page := `SELECT ` + approvalColumns + ` FROM approvals a WHERE a.key > $1 ORDER BY a.key LIMIT CAST($2 AS BIGINT)`
	for after := ""; ; {
		all, last, err := s.approvalPage(ctx, page, after)
		if err != nil || last == "" {
			return err
		}
		said, err := s.outcomes(ctx, after, last)
		if err != nil {
			return err
		}
		for _, a := range all {
			if a.CreatedAtMs <= afterMs || said[a.Key].contradicts(a) == "" {
				continue
			}
			what, err := s.contradiction(ctx, a.Key) // it may have gone on between the two
			if err != nil {
				return err
			}
			if what != "" {
				found(fmt.Sprintf("approval %s (%s): %s", a.Key, a.Code, what))
			}
		}
		after = last
	}
}

// approvalPage gives a page of approvals that are believed, and the key of the last row of all.
func (s *Store) approvalPage(ctx context.Context, page, after string) (all []approval.Approval, last string, err error) {
	rows, err := s.read.query(ctx, page, after, copyPage)
	if err != nil {
		return nil, "", err
	}
	err = each(rows, func() error {
		var a approval.Approval
		var body, mac text
		if err := rows.Scan(approvalDest(&a, &body, &mac)...); err != nil {
			return err
		}
		last = a.Key
		err := s.keys.readBody(&a, body, mac)
		if _, doubted := errors.AsType[*Disbelieved](err); doubted {
			return nil // it is named already
		}
		all = append(all, a)
		return err
	})
	return all, last, err
}

func (s *Store) outcomes(ctx context.Context, first, last string) (map[string]logged, error) {
	rows, err := s.read.query(ctx, ofPage, first, last)
	if err != nil {
		return nil, err
	}
	said := map[string]logged{}
	err = each(rows, func() error {
		var key, kind, data text
		err := rows.Scan(&key, &kind, &data)
		o := said[string(key)]
		o.add(approval.EventType(kind), []byte(data))
		said[string(key)] = o
		return err
	})
	return said, err
}

// contradiction is how an approval and the log differ at one moment, or nothing.
func (s *Store) contradiction(ctx context.Context, key string) (string, error) {
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
	if err != nil || a.Key == "" { // it was swept
		return "", err
	}
	if err := s.keys.readBody(&a, body, mac); err != nil {
		return "", err
	}
	return o.contradicts(a), nil
}
