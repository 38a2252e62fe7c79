package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/proof"
)

const (
	// verifyPage is how many records are between two looks at how far a check is.
	verifyPage = 1000
	// rowsPage is how many records are handed to the check of the rows at once, and rowsAhead how many such pages wait.
	rowsPage, rowsAhead = 200, 2
)

// Log is a log from its first record to its head: a store's, or a running
// desk's.
type Log interface {
	Head(context.Context) (seq int64, hash string, err error)
	First(context.Context) (seq int64, prevHash string, err error)
	Entries(ctx context.Context, from, to int64) iter.Seq2[approval.Entry, error]
	// Unlogged gives the key of an approval that was asked for after that time, and of
	// which the log has no record from that number on; empty if there is no such
	// approval.
	Unlogged(ctx context.Context, afterMs, from int64) (key string, err error)
	// CheckRows calls found for every row of the store that is not as the desk wrote it, of
	// approvals those that were asked for after that time, and gives the key of such an approval that the log has no
	// record of. It takes the log's records from log until that is closed, in order.
	CheckRows(ctx context.Context, afterMs int64, log <-chan []approval.Entry, found func(problem string)) (unlogged string, err error)
}

// VerifyLog checks a whole log against its head, that only retention has cut it, that every
// approval is in it, and that the store's rows are as the desk wrote them. It reads page by page and stops when ctx
// ends; passed is called with every thousandth record, and with the head.
func VerifyLog(ctx context.Context, s Log, o proof.Options, passed func(seq, head int64)) (proof.Report, error) {
	found, err := verifyLogOnce(ctx, s, o, nil, passed)
	bad := (*approval.BadRecord)(nil)
	if first, _, again := s.First(ctx); again == nil && errors.As(err, &bad) && first != found.From {
		return verifyLogOnce(ctx, s, o, nil, passed) // it was cut meanwhile
	}
	return found, err
}

// Mark is a record up to which a log was checked and found good.
type Mark struct {
	Seq  int64
	Hash string
}

// VerifyNew is VerifyLog for the records after a mark alone, and for the approvals that were asked for an hour after
// it. It does not see earlier changes, and does not check the rows.
func VerifyNew(ctx context.Context, s Log, o proof.Options, since Mark, passed func(seq, head int64)) (proof.Report, error) {
	for e, err := range s.Entries(ctx, since.Seq, since.Seq) {
		if err != nil {
			return proof.Report{}, err
		}
		if e.Hash == since.Hash {
			return verifyLogOnce(ctx, s, o, &since, passed)
		}
	}
	return proof.Report{From: since.Seq}, &approval.BadRecord{Seq: since.Seq,
		Problem: "is not the record that the last check found good: that record, or one before it, was taken out or " +
			"written anew"}
}

func verifyLogOnce(
	ctx context.Context, s Log, o proof.Options, since *Mark, passed func(seq, head int64),
) (found proof.Report, err error) {
	head, hash, err := s.Head(ctx)
	if err != nil {
		return found, err
	}
	if o.First, o.PrevHash, err = s.First(ctx); err != nil {
		return found, err
	}
	if since != nil {
		o.First, o.PrevHash = since.Seq+1, since.Hash
	}
	after, err := begins(ctx, s, o.First)
	if err != nil {
		return found, err
	}
	// Beside the log, the rows: a check takes two processors half of the time.
	rowsCtx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	log, rows := make(chan []approval.Entry, rowsAhead), make(chan rowsFound, 1)
	if since == nil {
		go func() {
			rows <- checkRows(rowsCtx, s, after, log)
			for range log { // whose reader goes on
			}
		}()
	}
	entries := func(yield func(approval.Entry, error) bool) {
		var page []approval.Entry
		for e, err := range s.Entries(ctx, o.First, head) {
			if err == nil && e.Seq%verifyPage == 0 {
				passed(e.Seq, head)
			}
			if !yield(e, err) {
				return
			}
			if page = append(page, e); len(page) == rowsPage && since == nil {
				log <- page
				page = nil
			}
		}
		if since == nil {
			log <- page
		}
	}
	found, err = proof.VerifyEntries(entries, o)
	fits := err == nil
	if fits {
		err = isWhole(ctx, s, found, head, hash, since != nil)
	}
	bad := (*approval.BadRecord)(nil)
	if fits = fits && (err == nil || errors.As(err, &bad)); !fits {
		giveUp()
	}
	close(log)
	if since != nil {
		if err == nil {
			err = leftOut(ctx, s, found, after)
		}
		return found, err
	}
	r := <-rows
	switch {
	case !fits:
		return found, err
	case err == nil:
		err = unlogged(found, r.unlogged)
	}
	if err != nil && r.err != nil {
		return found, fmt.Errorf("%w; %w", err, r.err)
	}
	return found, cmp.Or(err, r.err)
}

// isWhole compares a log whose records fit each other with its head, and with its beginning unless that was checked before.
func isWhole(ctx context.Context, s Log, found proof.Report, head int64, hash string, fresh bool) error {
	switch {
	case found.To < head:
		return &approval.BadRecord{Seq: found.To + 1, Problem: fmt.Sprintf("is missing: "+
			"the log ends before it, and its head says that it goes to record %d", head)}
	case found.Head != hash:
		return &approval.BadRecord{Seq: head, Problem: "is not the last record that the log's head names"}
	case found.From > 1 && !found.Cut && !fresh:
		return &approval.BadRecord{Seq: found.From - 1,
			Problem: "is missing: the log begins after it, and no signed record says that retention cut it there"}
	}
	return behindHead(ctx, s, head)
}

// maxBadRows is how many rows are named.
const maxBadRows = 1000

// rowsFound is what a check of the rows found.
type rowsFound struct {
	unlogged string // the key of an approval that the log has no record of
	err      error  // a [*core.BadRows] if rows are not as the desk wrote them
}

func checkRows(ctx context.Context, s Log, after int64, log <-chan []approval.Entry) (r rowsFound) {
	var bad core.BadRows
	r.unlogged, r.err = s.CheckRows(ctx, after, log, func(problem string) {
		if len(bad.Problems) == maxBadRows {
			bad.More++
			return
		}
		bad.Problems = append(bad.Problems, problem)
	})
	if r.err == nil && len(bad.Problems) > 0 {
		r.err = &bad
	}
	return r
}

// behindHead finds a record whose number is above that of the log's head. The head moves
// together with the records, so a record that was read before the head is never behind
// it.
func behindHead(ctx context.Context, s Log, head int64) error {
	for e, err := range s.Entries(ctx, head+1, math.MaxInt64) {
		if err != nil {
			return err
		}
		now, _, err := s.Head(ctx)
		if err != nil || e.Seq <= now {
			return err
		}
		return &approval.BadRecord{Seq: e.Seq,
			Problem: fmt.Sprintf("comes after the log's head, record %d, so it was put in", now)}
	}
	return nil
}

// cutSlack is by how much the times of two records may differ from their order: each
// instance has a clock of its own.
const cutSlack = time.Hour

// begins gives the time after which an approval must have a record from that number on. Records of older approvals
// may be among those that retention has cut off, or that were checked before.
func begins(ctx context.Context, s Log, first int64) (afterMs int64, err error) {
	if first > 1 {
		afterMs = math.MaxInt64 // there is no record
		for e, err := range s.Entries(ctx, first, first) {
			if err != nil {
				return 0, err
			}
			afterMs = e.AtMs + cutSlack.Milliseconds()
		}
	}
	return afterMs, nil
}

// leftOut finds an approval that the log has no record of, as one that was emptied.
func leftOut(ctx context.Context, s Log, found proof.Report, after int64) error {
	key, err := s.Unlogged(ctx, after, found.From)
	if err != nil {
		return err
	}
	return unlogged(found, key)
}

// unlogged is the error for an approval that the log has no record of; nil for no key.
func unlogged(found proof.Report, key string) error {
	if key == "" {
		return nil
	}
	return &approval.BadRecord{Seq: found.To + 1, Problem: "is missing: the store has approval " + key +
		", but the log has no record of it: the log was emptied or written anew"}
}
