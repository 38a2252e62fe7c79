package store

import (
	"context"
	"math"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Counts of approvals are added up from sums of quarters of an hour and of days, which one instance writes behind the
// commits ([Store.CountOn]). A sum is of approvals that have ended. What it does not have yet, or not any more as it is,
// is counted from the approvals: of the quarters since the last one, of those of which the log says something newer, of
// those of which retention has deleted some, and before the first whole quarter. So a count is exact at any time.
const (
	quarterMs = 15 * 60 * 1000
	dayMs     = 24 * 60 * 60 * 1000

	readNumbersState = `SELECT turn, version, seq, until_ms FROM numbers_state WHERE id = 1`
	// touchedQuarters are the quarters before a time of whose approvals the log says something between two numbers.
	touchedQuarters = `SELECT DISTINCT a.created_ms - a.created_ms % 900000 FROM events e JOIN approvals a ON a.key = e.key
 WHERE e.seq > $1 AND e.seq <= $2 AND a.created_ms < $3`
	// The sums and texts keep SQLite to the small index of marks.
	markedQuarters = `SELECT start_ms FROM numbers WHERE level + 0 = 0 AND start_ms < $1 AND owner || '' = '' AND body = ''`
	readSums       = `SELECT start_ms, body FROM numbers WHERE level = $1 AND start_ms >= $2 AND start_ms < $3 AND body <> ''`
	readSumsOf     = readSums + ` AND owner = $4`
	// endedBetween are approvals by the time they were asked for, page by page.
	endedBetween = selectApprovals + `a.key IN (SELECT key FROM approvals WHERE (created_ms, key) > ($1, $2) AND created_ms < $3
 AND status <> 'pending' ORDER BY created_ms, key LIMIT 500) ORDER BY a.created_ms, a.key, d.created_ms, d.id`
	// askedBetween are also those that wait.
	askedBetween = selectApprovals + `a.key IN (SELECT key FROM approvals WHERE (created_ms, key) > ($1, $2) AND created_ms < $3
 ORDER BY created_ms, key LIMIT 500) ORDER BY a.created_ms, a.key, d.created_ms, d.id`
	endedOfBetween = selectApprovals + `a.key IN (SELECT key FROM approvals WHERE owner = $4 AND (created_ms, key) > ($1, $2)
 AND created_ms < $3 AND status <> 'pending' ORDER BY created_ms, key LIMIT 500) ORDER BY a.created_ms, a.key, d.created_ms, d.id`
)

// numbersState is how far the sums are.
type numbersState struct{ turn, version, seq, until int64 }

func (s *Store) numbersState(ctx context.Context) (st numbersState, err error) {
	rows, err := s.read.query(ctx, readNumbersState)
	if err != nil {
		return st, err
	}
	_, err = one(rows, (*number)(&st.turn), (*number)(&st.version), (*number)(&st.seq), (*number)(&st.until))
	if st.version != core.CounterVersion { // of another release: they say something else
		st.seq, st.until = 0, 0
	}
	return st, err
}

// Counted counts the approvals that were asked for since that time, of an owner or, if that is empty, of all.
func (s *Store) Counted(ctx context.Context, owner string, sinceMs int64) (c core.Counter, err error) {
	for range retries {
		before, err := s.numbersState(ctx)
		if err != nil {
			return c, err
		}
		if c, err = s.counted(ctx, before, owner, sinceMs); err != nil {
			return c, err
		}
		after, err := s.numbersState(ctx)
		if err != nil || after.until >= before.until { // else they were forgotten meanwhile
			return c, err
		}
	}
	return c, nil
}

func (s *Store) counted(ctx context.Context, st numbersState, owner string, since int64) (c core.Counter, err error) {
	pending := map[string]bool{} // one may end while this counts
	err = s.pendingSince(ctx, owner, since, func(a approval.Approval) {
		pending[a.Key] = true
		c.Add(a)
	})
	if err != nil {
		return c, err
	}
	rows := func(from, to int64) error {
		return s.endedBetween(ctx, owner, max(from, since), to, func(a approval.Approval) bool {
			if !pending[a.Key] {
				c.Add(a)
			}
			return true
		})
	}
	again, err := s.quartersAgain(ctx, st, math.MaxInt64)
	if err != nil {
		return c, err
	}
	first := ceil(since, quarterMs)
	if first >= st.until {
		return c, rows(since, math.MaxInt64)
	}
	if err := rows(since, first); err != nil {
		return c, err
	}
	againOn := map[int64]bool{} // days
	for q := range again {
		againOn[floor(q, dayMs)] = true
		if q >= first {
			if err := rows(q, q+quarterMs); err != nil {
				return c, err
			}
		}
	}
	// Whole days are one sum, if nothing of theirs is counted again.
	from, to := ceil(first, dayMs), floor(st.until, dayMs)
	inQuarters := []span{{first, st.until}}
	if from < to {
		inQuarters = []span{{first, from}, {to, st.until}}
		for day := range againOn {
			if day >= from && day < to {
				inQuarters = append(inQuarters, span{day, day + dayMs})
			}
		}
		err := s.addSums(ctx, &c, 1, owner, span{from, to}, func(day int64) bool { return !againOn[day] })
		if err != nil {
			return c, err
		}
	}
	for _, part := range inQuarters {
		if err := s.addSums(ctx, &c, 0, owner, part, func(quarter int64) bool { return !again[quarter] }); err != nil {
			return c, err
		}
	}
	return c, rows(st.until, math.MaxInt64)
}

// span is a time from one moment to before another.
type span struct{ from, to int64 }

func floor(ms, by int64) int64 { return ms - (ms%by+by)%by }

func ceil(ms, by int64) int64 { return floor(ms+by-1, by) }

// addSums adds those of a span that wanted selects.
func (s *Store) addSums(
	ctx context.Context, c *core.Counter, level int, owner string, of span, wanted func(start int64) bool,
) error {
	if of.from >= of.to {
		return nil
	}
	query, args := readSums, []any{level, of.from, of.to}
	if owner != "" {
		query, args = readSumsOf, append(args, owner)
	}
	rows, err := s.read.query(ctx, query, args...)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var start number
		var body text
		err := rows.Scan(&start, &body)
		if err == nil && wanted(int64(start)) {
			err = c.AddText(string(body))
		}
		return err
	})
}

// quartersAgain are those quarters with a sum that say something else by now.
func (s *Store) quartersAgain(ctx context.Context, st numbersState, upTo int64) (map[int64]bool, error) {
	again := map[int64]bool{}
	if st.until == 0 {
		return again, nil
	}
	for _, q := range []read{{text: touchedQuarters, args: []any{st.seq, upTo, st.until}}, {text: markedQuarters, args: []any{st.until}}} {
		rows, err := s.read.query(ctx, q.text, q.args...)
		if err != nil {
			return nil, err
		}
		err = each(rows, func() error {
			var start number
			err := rows.Scan(&start)
			again[int64(start)] = true
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return again, nil
}

// pendingSince gives the pending approvals that were asked for since then.
func (s *Store) pendingSince(ctx context.Context, owner string, since int64, fn func(approval.Approval)) error {
	for f := (core.Filter{Status: approval.Pending, Owner: owner, Limit: maxPage}); ; {
		page, err := s.List(ctx, f)
		if err != nil {
			return err
		}
		for _, a := range page.Items {
			if a.CreatedAtMs < since {
				return nil
			}
			fn(a)
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return nil
		}
	}
}

// endedBetween gives the approvals that have ended and were asked for from one time to before another, oldest first,
// until fn says that it is enough.
func (s *Store) endedBetween(ctx context.Context, owner string, from, to int64, fn func(approval.Approval) (more bool)) error {
	if owner != "" {
		return s.between(ctx, endedOfBetween, []any{owner}, from, to, fn)
	}
	return s.between(ctx, endedBetween, nil, from, to, fn)
}

// between is endedBetween for the approvals that a query gives page by page, which has further arguments.
func (s *Store) between(
	ctx context.Context, query string, further []any, from, to int64, fn func(approval.Approval) (more bool),
) error {
	at, key := from-1, "g" // behind all keys, which are hex digits
	for from < to {
		rows, err := s.read.query(ctx, query, append([]any{at, key, to}, further...)...)
		if err != nil {
			return err
		}
		all, doubted, err := s.keys.scanApprovals(rows)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, a := range all {
			if doubted[a.Key] == nil && !fn(a) {
				return nil
			}
		}
		at, key = all[len(all)-1].CreatedAtMs, all[len(all)-1].Key
	}
	return nil
}
