package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	keysSince = `SELECT key FROM events WHERE seq > $1`
	keptKey   = `SELECT key FROM approvals WHERE key = $1`
	// manySaid is of how many approvals the log's word is kept, at least, until their rows come.
	manySaid = 20_000
)

// merge compares approvals with what the log says of them while both are read in about the order in which they were
// written. So each is read once, and what is kept is of those whose other half is still to come. It is only the quick
// way: what does not fit here is compared again, at one moment, with [Store.contradiction].
type merge struct {
	s       *Store
	afterMs int64 // approvals that are not newer are not compared
	found   func(problem string)
	rows    map[string]awaited // by key: the rows of which not all records have come
	said    map[string]logged  // by key: what the log says of an approval whose row has not come, or not all records
	seq     int64              // of the record that came last
	atMs    int64              // and its time
	begun   bool               // a record of a row that waited has come; those before it are of approvals not kept any more
	limit   int                // of said
	named   map[string]bool    // the approvals that were named
}

// awaited is a row that waits for its records.
type awaited struct {
	rowState
	seen bool // there was one
}

// complete reports whether all of the row's records have come.
func (r rowState) complete(o logged) bool {
	return r.records != 0 && o.record == r.records && o.first == 1
}

// checkApprovals names the approvals whose MAC does not fit, and those asked for after that time that the log
// contradicts. It gives the key of one of which the log has no record.
func (s *Store) checkApprovals(
	ctx context.Context, afterMs int64, log <-chan []approval.Entry, found func(problem string),
) (unlogged string, err error) {
	return newMerge(s, afterMs, found, manySaid).all(ctx, log)
}

func newMerge(s *Store, afterMs int64, found func(problem string), limit int) *merge {
	return &merge{s: s, afterMs: afterMs, found: found, rows: map[string]awaited{}, said: map[string]logged{},
		limit: limit, named: map[string]bool{}}
}

func (m *merge) all(ctx context.Context, log <-chan []approval.Entry) (unlogged string, err error) {
	by := []string{"rowid"} // the order in which they lie on the disk, and were written
	if m.s.dialect.many {
		by = []string{"created_ms", "key"}
	}
	err = marked[0].pages(ctx, m.s.read, by, func(page [][]any) error {
		all, err := m.s.believed(page, m.found)
		if err != nil {
			return err
		}
		for _, a := range all {
			if err := m.row(ctx, a); err != nil {
				return err
			}
		}
		for len(all) > 0 && m.atMs < all[len(all)-1].CreatedAtMs {
			if more, err := m.follow(ctx, log); !more || err != nil {
				return err
			}
		}
		return nil
	})
	for more := true; more && err == nil; {
		more, err = m.follow(ctx, log)
	}
	if err != nil {
		return "", err
	}
	return m.end(ctx)
}

// follow takes a page of the log; more is false if that has ended.
func (m *merge) follow(ctx context.Context, log <-chan []approval.Entry) (more bool, err error) {
	select {
	case page, more := <-log:
		return more, m.records(ctx, page)
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (m *merge) row(ctx context.Context, a approval.Approval) error {
	if a.CreatedAtMs <= m.afterMs {
		return nil
	}
	row := stateOf(a)
	o, seen := m.said[a.Key]
	if !row.complete(o) {
		m.rows[a.Key] = awaited{row, seen}
		return nil
	}
	return m.compare(ctx, a.Key, row, o)
}

func (m *merge) records(ctx context.Context, page []approval.Entry) error {
	for _, e := range page {
		m.seq, m.atMs = e.Seq, e.AtMs
		counts := slices.Contains(recordedTypes, e.Type)
		row, waits := m.rows[e.Key]
		if waits && !row.seen {
			row.seen = true
			m.rows[e.Key] = row
		}
		m.begun = m.begun || waits
		if !m.begun || !counts && (waits || e.Type != approval.EventRequested) {
			continue
		}
		o := m.said[e.Key]
		if counts {
			o.add(e.Type, e.Data)
		}
		if waits && row.complete(o) {
			if err := m.compare(ctx, e.Key, row.rowState, o); err != nil {
				return err
			}
			continue
		}
		m.said[e.Key] = o
	}
	if len(m.said) <= m.limit {
		return nil
	}
	if err := m.rowless(ctx); err != nil {
		return err
	}
	m.limit = manySaid + 2*len(m.said)
	return nil
}

// compare compares a row with its records, which have all come.
func (m *merge) compare(ctx context.Context, key string, row rowState, o logged) error {
	delete(m.rows, key)
	delete(m.said, key)
	if o.contradicts(row) == "" {
		return nil
	}
	return m.again(ctx, key)
}

// again compares an approval with the log at one moment: it may have gone on between the two readings.
func (m *merge) again(ctx context.Context, key string) error {
	what, err := m.s.contradiction(ctx, key, m.afterMs)
	if err == nil && what != "" && !m.named[key] {
		m.named[key] = true
		m.found(fmt.Sprintf("approval %s (%s): %s", key, core.KeyCode(key), what))
	}
	return err
}

// rowless compares what the log says of approvals whose rows do not wait for it: they are not kept any more, come later,
// or came earlier with fewer records than the log has.
func (m *merge) rowless(ctx context.Context) error {
	var keys []string
	for key := range m.said {
		if _, waits := m.rows[key]; !waits {
			keys = append(keys, key)
			delete(m.said, key)
		}
	}
	slices.Sort(keys)
	for some := range slices.Chunk(keys, copyPage) {
		args := make([]any, len(some))
		for i, key := range some {
			args[i] = key
		}
		rows, err := m.s.read.query(ctx, `SELECT key FROM approvals WHERE key IN (`+placeholders(len(some))+`) ORDER BY key`, args...)
		if err != nil {
			return err
		}
		kept, err := keysOf(rows)
		if err != nil {
			return err
		}
		for _, key := range kept {
			if err := m.again(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// end compares what is left when all has been read, and gives the key of an approval without a record.
func (m *merge) end(ctx context.Context) (unlogged string, err error) {
	keys := slices.Sorted(maps.Keys(m.rows))
	for _, key := range keys {
		row, o := m.rows[key], m.said[key]
		if o.record != row.records || o.first > 1 || o.contradicts(row.rowState) != "" {
			if err := m.again(ctx, key); err != nil {
				return "", err
			}
		}
	}
	unseen := slices.DeleteFunc(keys, func(key string) bool { return m.rows[key].seen })
	clear(m.rows)
	if err := m.rowless(ctx); err != nil {
		return "", err
	}
	return m.unlogged(ctx, unseen)
}

// unlogged gives the first of the approvals that no record is about: those that were asked for meanwhile have theirs
// after the last that came, and those that were not kept any longer count no more.
func (m *merge) unlogged(ctx context.Context, keys []string) (key string, err error) {
	if len(keys) == 0 {
		return "", nil
	}
	rows, err := m.s.read.query(ctx, keysSince, m.seq)
	if err != nil {
		return "", err
	}
	logged, err := keysOf(rows)
	if err != nil {
		return "", err
	}
	since := map[string]bool{}
	for _, k := range logged {
		since[k] = true
	}
	for _, k := range keys {
		if since[k] {
			continue
		}
		rows, err := m.s.read.query(ctx, keptKey, k)
		if err != nil {
			return "", err
		}
		if there, err := one(rows, (*text)(&key)); there || err != nil {
			return key, err
		}
	}
	return "", nil
}

// keysOf are rows of one text each.
func keysOf(rows result) (keys []string, err error) {
	err = each(rows, func() error {
		var key text
		err := rows.Scan(&key)
		keys = append(keys, string(key))
		return err
	})
	return keys, err
}
