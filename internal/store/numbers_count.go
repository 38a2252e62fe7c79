package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	countEvery = 10 * time.Second
	// countAfterMs is how long after its end a quarter is counted: most of what was asked for in it has ended by then.
	countAfterMs = 60_000
	// Of one step, so that it is over soon: records of the log, and approvals.
	countRecords = 20_000
	countRows    = 5_000
	againAtOnce  = 96 // quarters that are counted again

	sumsOfDay     = `SELECT start_ms, owner, body FROM numbers WHERE level = 0 AND start_ms >= $1 AND start_ms < $2 AND body <> ''`
	dropSums      = `DELETE FROM numbers WHERE level = $1 AND start_ms = $2`
	insertSum     = `INSERT INTO numbers (level, start_ms, owner, body) VALUES ($1, $2, $3, $4)`
	markQuarter   = `INSERT INTO numbers (level, start_ms, owner, body) VALUES (0, $1, '', '') ON CONFLICT DO NOTHING`
	moveNumbers   = `UPDATE numbers_state SET turn = turn + 1, version = $2, seq = $3, until_ms = $4 WHERE id = 1 AND turn = $1`
	touchNumbers  = `UPDATE numbers_state SET turn = turn + 1 WHERE id = 1`
	forgetSums    = `DELETE FROM numbers`
	forgetFilters = `DELETE FROM search_filters`
	dropFilter    = `DELETE FROM search_filters WHERE start_ms = $1`
	insertFilter  = `INSERT INTO search_filters (start_ms, bits, classes) VALUES ($1, $2, $3)`
	forgetNumbers = `UPDATE numbers_state SET turn = turn + 1, version = 0, seq = 0, until_ms = 0 WHERE id = 1`
	markSwept     = `INSERT INTO numbers (level, start_ms, owner, body)
 SELECT DISTINCT 0, created_ms - created_ms % 900000, '', '' FROM approvals WHERE key IN (` + sweptApprovals + `)
 ON CONFLICT DO NOTHING`
)

// CountOn keeps the sums that [Store.Counted] goes by, until ctx ends; of several instances, one does.
func (s *Store) CountOn(ctx context.Context) error {
	return s.Hold(ctx, "numbers", func(ctx context.Context, _ int64) error {
		for {
			more, err := s.count(ctx, nowMs())
			if err != nil && !errors.Is(err, errStale) && ctx.Err() == nil {
				s.log.Warn("could not add up approvals for the statistics; trying again", "reason", err)
			}
			wait := countEvery
			if more && err == nil {
				wait = 0
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// Recount forgets all sums; they are made anew in the background.
func (s *Store) Recount(ctx context.Context) error {
	return s.do(ctx, func(t *tx) error {
		for _, statement := range []string{forgetSums, forgetFilters} {
			if err := t.put(statement); err != nil {
				return err
			}
		}
		return t.put(forgetNumbers)
	})
}

// sums are what was counted of a quarter or a day, by owner.
type sums map[string]*core.Counter

func (x sums) of(owner string) *core.Counter {
	if x[owner] == nil {
		x[owner] = &core.Counter{}
	}
	return x[owner]
}

// step is what one step of counting found.
type step struct {
	before, after  numbersState
	quarters, days map[int64]sums
	pieces         map[int64]pieces // of all that was asked for in a quarter
	classes        map[int64]int64  // a bit for each of its risk classes
	later          []int64          // quarters that a later step counts again
}

// count takes one step, and reports whether another one is due at once. It is errStale if something else, as a
// sweep, changed the sums meanwhile: then nothing was written.
func (s *Store) count(ctx context.Context, now int64) (more bool, err error) {
	x := step{quarters: map[int64]sums{}, days: map[int64]sums{}, pieces: map[int64]pieces{}, classes: map[int64]int64{}}
	if x.before, err = s.numbersState(ctx); err != nil {
		return false, err
	}
	x.after = x.before
	x.after.version = core.CounterVersion
	head, _, err := s.Head(ctx) // before any approval is read
	if err != nil {
		return false, err
	}
	again := map[int64]bool{}
	if x.after.seq = head; x.before.until > 0 {
		x.after.seq = min(head, x.before.seq+countRecords)
		if again, err = s.quartersAgain(ctx, x.before, x.after.seq); err != nil {
			return false, err
		}
	}
	for i, q := range slices.Sorted(maps.Keys(again)) {
		if i >= againAtOnce {
			x.later = append(x.later, q)
		} else if err := s.countQuarter(ctx, &x, q); err != nil {
			return false, err
		}
	}
	ends, err := s.countNew(ctx, &x, floor(now-countAfterMs, quarterMs))
	if err != nil {
		return false, err
	}
	if err := s.sumDays(ctx, &x); err != nil {
		return false, err
	}
	more = !ends || x.after.seq < head || len(x.later) > 0
	idle := len(x.pieces) == 0 && x.after.until == x.before.until && x.after.version == x.before.version
	if idle && x.after.seq-x.before.seq < countRecords/10 { // a reader looks through these few
		return more, nil
	}
	return more, s.do(ctx, x.write)
}

// countNew counts the quarters that have ended since the last step, and reports whether those are all.
func (s *Store) countNew(ctx context.Context, x *step, until int64) (all bool, err error) {
	n, last, from := 0, int64(0), x.after.until
	x.after.until = max(from, until)
	err = s.between(ctx, askedBetween, nil, from, until, func(a approval.Approval) bool {
		q := floor(a.CreatedAtMs, quarterMs)
		if n >= countRows && q != last {
			x.after.until = last + quarterMs
			return false
		}
		n, last = n+1, q
		x.add(q, a)
		return true
	})
	return x.after.until >= until, err
}

func (s *Store) countQuarter(ctx context.Context, x *step, q int64) error {
	x.quarters[q], x.pieces[q] = sums{}, pieces{} // also if nothing of it is left
	return s.between(ctx, askedBetween, nil, q, q+quarterMs, func(a approval.Approval) bool { x.add(q, a); return true })
}

func (x *step) add(q int64, a approval.Approval) {
	if x.pieces[q] == nil {
		x.pieces[q] = pieces{}
	}
	x.pieces[q].add(core.SearchText(a))
	x.classes[q] |= bitOf(a.Assessment.RiskClass)
	if !a.Final() {
		return
	}
	if x.quarters[q] == nil {
		x.quarters[q] = sums{}
	}
	x.quarters[q].of(a.Owner).Add(a)
}

// sumDays adds up the days that a step is done with, or that it counted something again of.
func (s *Store) sumDays(ctx context.Context, x *step) error {
	days := map[int64]bool{floor(x.before.until, dayMs): true}
	for q := range x.quarters {
		days[floor(q, dayMs)] = true
	}
	for day := range days {
		if day+dayMs > x.after.until {
			continue
		}
		found := sums{}
		x.days[day] = found
		for q, counted := range x.quarters {
			if floor(q, dayMs) != day {
				continue
			}
			for owner, c := range counted {
				if err := found.of(owner).AddText(c.Text()); err != nil {
					return err
				}
			}
		}
		if err := s.addStored(ctx, found, day, x.quarters); err != nil {
			return err
		}
	}
	return nil
}

// addStored adds the sums of a day's quarters that are stored, but for those that were counted again.
func (s *Store) addStored(ctx context.Context, to sums, day int64, but map[int64]sums) error {
	rows, err := s.read.query(ctx, sumsOfDay, day, day+dayMs)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var start number
		var owner, body text
		if err := rows.Scan(&start, &owner, &body); err != nil {
			return err
		}
		if _, again := but[int64(start)]; again {
			return nil
		}
		return to.of(string(owner)).AddText(string(body))
	})
}

// write writes what a step found, unless something else changed the sums meanwhile.
func (x step) write(t *tx) error {
	if err := t.putOne(moveNumbers, x.before.turn, x.after.version, x.after.seq, x.after.until); err != nil {
		return err
	}
	if x.before.until == 0 {
		for _, statement := range []string{forgetSums, forgetFilters} {
			if err := t.put(statement); err != nil {
				return err
			}
		}
	}
	if err := x.writeFilters(t); err != nil {
		return err
	}
	for level, all := range []map[int64]sums{x.quarters, x.days} {
		for start, found := range all {
			if err := t.put(dropSums, level, start); err != nil {
				return err
			}
			for owner, c := range found {
				if err := t.put(insertSum, level, start, owner, c.Text()); err != nil {
					return err
				}
			}
		}
	}
	for _, q := range x.later {
		if err := t.put(markQuarter, q); err != nil {
			return err
		}
	}
	return nil
}

func (x step) writeFilters(t *tx) error {
	for start, of := range x.pieces {
		if err := t.put(dropFilter, start); err != nil {
			return err
		}
		if len(of) > 0 || x.classes[start] != 0 {
			if err := t.put(insertFilter, start, of.filter(), x.classes[start]); err != nil {
				return err
			}
		}
	}
	return nil
}
