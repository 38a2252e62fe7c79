package store

import (
	"context"
	"math"

	"approvalbot/internal/approval"
)

const (
	inboundKeepMs = 2 * 24 * 60 * 60 * 1000

	// An approval cannot have ended before it was made: the index on created_ms
	// narrows the search.
	sweptApprovals = `SELECT key FROM approvals
 WHERE created_ms < $1 AND resolved_ms < $1 AND round_ms < $1 AND kept_ms < $1 AND status <> 'pending' ORDER BY created_ms, key LIMIT $2`
	sweepApprovals = `DELETE FROM approvals WHERE key IN (` + sweptApprovals + `)`
	sweepCalls     = `UPDATE approvals SET sealed = '', kept_ms = 0 WHERE key IN (SELECT key FROM approvals
 WHERE kept_ms > 0 AND kept_ms <= $1 ORDER BY kept_ms LIMIT $2)`
	sweepGrants = `DELETE FROM grants WHERE id IN (SELECT id FROM grants WHERE expires_ms > 0 AND expires_ms <= $1
 ORDER BY expires_ms LIMIT $2)`
	// oldInbound walks all that is there, once in a sweep and beside the writer: an
	// index would have to be written with every update.
	oldInbound = `SELECT source, id FROM inbound WHERE (source, id) > ($1, $2) AND handled_ms > 0 AND received_ms < $3
 ORDER BY source, id LIMIT CAST($4 AS BIGINT)`
	dropInbound = `DELETE FROM inbound WHERE source = $1 AND id = $2`
)

// Keep is how long things are kept, in milliseconds; 0 is for ever.
type Keep struct {
	ApprovalsMs int64 // ended approvals, with their ids, deliveries and sealed calls
	CallsMs     int64 // sealed calls of approvals that stay, see approval.KeptSinceMs
}

// Sweep deletes what is older than keep allows, handled platform updates older than two
// days, and grants, ceremonies, sessions and login links that have ended. It works in
// small transactions: after an error, those that were committed stay. n counts approvals.
// The log is never swept.
func (s *Store) Sweep(ctx context.Context, now int64, keep Keep) (n int, err error) {
	expired, calls := 0, 0
	if keep.CallsMs > 0 {
		if err := s.sweep(ctx, sweepCalls, now-keep.CallsMs-clocksApartMs, &calls); err != nil {
			return 0, err
		}
	}
	for _, statement := range []string{sweepGrants, sweepTried, sweepCeremonies} {
		if err := s.sweep(ctx, statement, now, &expired); err != nil {
			return 0, err
		}
	}
	if err := s.sweepWeb(ctx, now); err != nil {
		return 0, err
	}
	if err := s.sweepInbound(ctx, now-inboundKeepMs); err != nil || keep.ApprovalsMs == 0 {
		return 0, err
	}
	err = s.sweepAfter(ctx, uncount, sweepApprovals, now-keep.ApprovalsMs, &n)
	if n > 0 {
		s.written.forget()
		s.due.touch(anyChats)
	}
	return n, err
}

// uncount marks the quarters of approvals that are about to be deleted, which are counted again.
func uncount(t *tx, before int64) error {
	if err := t.put(touchNumbers); err != nil {
		return err
	}
	return t.put(markSwept, before, sweepChunk)
}

func (s *Store) sweepInbound(ctx context.Context, before int64) error {
	after := approval.InboundRef{ID: math.MinInt64}
	for {
		rows, err := s.read.query(ctx, oldInbound, after.Source, after.ID, before, sweepChunk)
		if err != nil {
			return err
		}
		var old []approval.InboundRef
		err = each(rows, func() error {
			var ref approval.InboundRef
			err := rows.Scan((*text)(&ref.Source), (*number)(&ref.ID))
			old = append(old, ref)
			return err
		})
		if err != nil || len(old) == 0 {
			return err
		}
		err = s.do(ctx, func(t *tx) error {
			for _, ref := range old {
				if err := t.put(dropInbound, ref.Source, ref.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(old) < sweepChunk {
			return err
		}
		after = old[len(old)-1]
	}
}
