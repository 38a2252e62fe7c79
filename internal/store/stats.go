package store

import "context"

// Stats is how much waits, for metrics.
type Stats struct {
	Pending     int   // approvals
	OldestDueMs int64 // when the message was due that has waited longest; 0: no message is due
	FailedCalls int   // calls back to owners that were given up
	LogHead     int64 // number of the log's newest entry
	LastCheckMs int64 // time of the newest signed checkpoint; 0: not yet signed
}

const (
	allPending  = `SELECT COALESCE(SUM(pending), 0) FROM owners`
	oldestDue   = `SELECT COALESCE(MIN(due_ms), 0) FROM deliveries WHERE due_ms > 0 AND due_ms <= $1`
	failedCalls = `SELECT COUNT(*) FROM deliveries
 WHERE channel = 'callback' AND state <> 'settled' AND state = 'failed'`
	lastCheck = `SELECT at_ms FROM events WHERE type = 'audit.checkpoint' ORDER BY seq DESC LIMIT 1`
)

// Stats counts what waits, as of now. It reads a few rows, however much is stored.
func (s *Store) Stats(ctx context.Context) (st Stats, err error) {
	get := func(query string, args ...any) (n number, err error) {
		rows, err := s.read.query(ctx, query, args...)
		if err != nil {
			return 0, err
		}
		_, err = one(rows, &n)
		return n, err
	}
	head, _, err := s.Head(ctx)
	if err != nil {
		return st, err
	}
	st.LogHead = head
	pending, err := get(allPending)
	if err != nil {
		return st, err
	}
	due, err := get(oldestDue, nowMs())
	if err != nil {
		return st, err
	}
	failed, err := get(failedCalls)
	if err != nil {
		return st, err
	}
	check, err := get(lastCheck)
	st.Pending, st.OldestDueMs, st.FailedCalls, st.LastCheckMs = int(pending), int64(due), int(failed), int64(check)
	return st, err
}
