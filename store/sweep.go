package store

import "context"

const (
	// sweepChunk is how many rows one transaction deletes: other writers wait
	// for no more than that.
	sweepChunk    = 200
	inboundKeepMs = 2 * 24 * 60 * 60 * 1000

	// An approval cannot have ended before it was made: the index on created_ms
	// narrows the search.
	sweepApprovals = `DELETE FROM approvals WHERE key IN (SELECT key FROM approvals
 WHERE created_ms < $1 AND resolved_ms < $1 AND status <> 'pending' ORDER BY created_ms, key LIMIT $2)`
	sweepGrants  = `DELETE FROM grants WHERE id IN (SELECT id FROM grants WHERE expires_ms > 0 AND expires_ms <= $1 ORDER BY expires_ms LIMIT $2)`
	sweepInbound = `DELETE FROM inbound WHERE handled_ms > 0 AND received_ms < $1 AND (source, id) IN (SELECT source, id FROM inbound
 WHERE handled_ms > 0 AND received_ms < $1 ORDER BY received_ms LIMIT $2)`
)

// Sweep deletes approvals that ended more than keepApprovalsMs ago (0: keeps
// them for ever), with their ids, deliveries and sealed calls, and handled
// platform updates older than two days and grants that have expired. It works in small transactions, so an
// error leaves done what was done. n counts approvals. The log is never swept.
func (s *Store) Sweep(ctx context.Context, now, keepApprovalsMs int64) (n int, err error) {
	expired := 0
	if err := s.sweep(ctx, sweepGrants, now, &expired); err != nil {
		return 0, err
	}
	if expired > 0 {
		if err := s.forgetGrants(ctx); err != nil {
			return 0, err
		}
	}
	if err := s.sweep(ctx, sweepInbound, now-inboundKeepMs, new(int)); err != nil || keepApprovalsMs == 0 {
		return 0, err
	}
	err = s.sweep(ctx, sweepApprovals, now-keepApprovalsMs, &n)
	if n > 0 {
		s.chats.touch(anyChats)
	}
	return n, err
}

func (s *Store) sweep(ctx context.Context, statement string, before int64, n *int) error {
	for {
		var gone int64
		err := s.do(ctx, func(t *tx) (err error) {
			gone, err = t.exec(statement, before, sweepChunk)
			return err
		})
		if err != nil {
			return err
		}
		*n += int(gone)
		if gone < sweepChunk {
			return nil
		}
	}
}
