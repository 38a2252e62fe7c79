package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	filtersAtOnce = 256 // read of search_filters
	// A search ends a page after it has looked through so many approvals; each look counts as aLook at least.
	mostLooked = 2000
	aLook      = 20

	filtersBefore = `SELECT start_ms, bits FROM search_filters WHERE start_ms < $1 AND (classes & CAST($2 AS BIGINT)) <> 0
 ORDER BY start_ms DESC LIMIT CAST($3 AS BIGINT)`
	// classesBefore is filtersBefore for a search without words, in an index alone; an empty filter says nothing.
	classesBefore = `SELECT start_ms, '' FROM search_filters WHERE start_ms < $1 AND (classes & CAST($2 AS BIGINT)) <> 0
 ORDER BY start_ms DESC LIMIT CAST($3 AS BIGINT)`
	keysFrom = `SELECT created_ms FROM approvals WHERE key >= $1 AND key < $2 LIMIT 20`
)

// search is List of a filter that asks for words or for a risk class. It passes over the quarters of an hour that cannot
// have them, as far as the worker of [Store.CountOn] has come.
func (s *Store) search(ctx context.Context, f core.Filter) (p core.Page, err error) {
	if f.Limit < 1 || f.Limit > maxPage {
		f.Limit = maxPage
	}
	for range retries {
		before, err := s.numbersState(ctx)
		if err != nil {
			return p, err
		}
		if p, err = s.searched(ctx, before, f); err != nil {
			return p, err
		}
		after, err := s.numbersState(ctx)
		if err != nil || after.until >= before.until { // else the filters were forgotten meanwhile
			return p, err
		}
	}
	return p, nil
}

// searched is search at that state of the filters.
func (s *Store) searched(ctx context.Context, st numbersState, f core.Filter) (p core.Page, err error) {
	below, key, err := before(f)
	if err != nil {
		return p, err
	}
	if key != "" { // others of that moment follow
		below++
	}
	wanted, until := sought{piecesOf(f.Search), anyClass}, st.until // there are filters for what was asked for before until
	l := look{of: f, walk: f}
	l.walk.Search, l.walk.Limit = "", maxPage
	if f.Risk != nil && f.Status != approval.Pending { // what waits has an index by class
		wanted.classes = bitOf(*f.Risk)
	}
	if len(wanted.pieces) == 0 && wanted.classes == anyClass {
		until = 0
	}
	var again map[int64]bool
	for start := below; below > f.SinceMs; {
		spans := []span{{until, below}}
		next := until
		if below <= until {
			if again == nil {
				if again, err = s.again(ctx, st, f.Search); err != nil {
					return p, err
				}
			}
			if spans, next, err = s.spans(ctx, again, wanted, below); err != nil {
				return p, err
			}
		}
		for _, x := range spans {
			if x.to < start {
				l.walk.Cursor = cursor(x.to, "")
			}
			// The database leaves out other classes only in a short time: else one page might be of all approvals.
			if l.walk.Risk = f.Risk; f.Status != approval.Pending && min(x.to, nowMs())-x.from > dayMs {
				l.walk.Risk = nil
			}
			if over, err := s.lookInto(ctx, &l, x.from); over || err != nil {
				return l.page, err
			}
		}
		below = next
	}
	l.page.Next, l.page.BackMs = "", f.SinceMs
	return l.page, nil
}

// sought is what a quarter of an hour must have to be looked through: all of the pieces, and one of the classes.
type sought struct {
	pieces  []uint32
	classes int64
}

// anyClass has the bits of all risk classes.
const anyClass = 31

func bitOf(class approval.RiskClass) int64 { return 1 << class & anyClass }

// look is what a search has found so far.
type look struct {
	of, walk core.Filter
	page     core.Page
}

func (l *look) finds(a approval.Approval) bool {
	return (l.of.Risk == nil || a.Assessment.RiskClass == *l.of.Risk) && core.Speaks(a, l.of.Search)
}

// lookInto goes on with what was asked for at that time or later, and reports whether the page is complete.
func (s *Store) lookInto(ctx context.Context, l *look, from int64) (over bool, err error) {
	l.walk.SinceMs = max(l.of.SinceMs, from)
	for {
		page, err := s.list(ctx, l.walk)
		if err != nil {
			return true, err
		}
		l.page.Looked += max(len(page.Items), aLook)
		for _, a := range page.Items {
			if l.page.BackMs = a.CreatedAtMs; !l.finds(a) {
				continue
			}
			if n := len(l.page.Items); n == l.of.Limit {
				last := l.page.Items[n-1]
				l.page.Next = cursor(last.CreatedAtMs, last.Key)
				return true, nil
			}
			l.page.Items = append(l.page.Items, a)
		}
		l.page.Next = page.Next
		if page.Next == "" {
			l.page.Next, l.page.BackMs = cursor(l.walk.SinceMs, ""), l.walk.SinceMs
		}
		if l.page.Looked >= mostLooked {
			return true, nil
		}
		if page.Next == "" {
			return false, nil
		}
		l.walk.Cursor = page.Next
	}
}

// again gives the quarters whose filters do not count: they are to be made again, or have an approval whose
// key may begin with a word of the search.
func (s *Store) again(ctx context.Context, st numbersState, search string) (map[int64]bool, error) {
	again, err := s.quartersAgain(ctx, st, math.MaxInt64)
	if err == nil {
		err = s.addNamed(ctx, search, again)
	}
	return again, err
}

// addNamed adds the quarters of approvals whose key may begin with a word of a search.
func (s *Store) addNamed(ctx context.Context, search string, to map[int64]bool) error {
	for _, word := range strings.Fields(strings.ToLower(search)) {
		if !core.MayBeKey(word) {
			continue
		}
		rows, err := s.read.query(ctx, keysFrom, word, word+"g")
		if err != nil {
			return err
		}
		err = each(rows, func() error {
			var created number
			err := rows.Scan(&created)
			to[floor(int64(created), quarterMs)] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// spans gives times before below in which there may be approvals that are wanted, newest first, and the time
// before which others may be; 0: there are none.
func (s *Store) spans(
	ctx context.Context, again map[int64]bool, wanted sought, below int64,
) (all []span, next int64, err error) {
	var starts []int64
	n := 0
	query := filtersBefore
	if len(wanted.pieces) == 0 {
		query = classesBefore
	}
	rows, err := s.read.query(ctx, query, below, wanted.classes, filtersAtOnce)
	if err != nil {
		return nil, 0, err
	}
	err = each(rows, func() error {
		var start number
		var bits text
		if err := rows.Scan(&start, &bits); err != nil {
			return err
		}
		if n++; n == filtersAtOnce {
			next = int64(start)
		}
		if !again[int64(start)] && mayHave(string(bits), wanted.pieces) {
			starts = append(starts, int64(start))
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for start := range again {
		if start >= next && start < below {
			starts = append(starts, start)
		}
	}
	slices.SortFunc(starts, func(a, b int64) int { return cmp.Compare(b, a) })
	for _, start := range starts {
		x := span{start, min(start+quarterMs, below)}
		if last := len(all) - 1; last >= 0 && all[last].from == x.to {
			all[last].from = x.from
		} else {
			all = append(all, x)
		}
	}
	return all, next, nil
}
