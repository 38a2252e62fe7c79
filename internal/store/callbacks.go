package store

import (
	"context"

	"approvalbot/internal/approval"
)

const (
	openCallbacks = `SELECT ` + deliveryColumns + ` FROM deliveries d
 WHERE d.channel = 'callback' AND d.state <> 'settled' ORDER BY d.created_ms DESC, d.id DESC LIMIT $1`
	retryCallback = `UPDATE deliveries SET state = 'queued', due_ms = $2, created_ms = $2, since_ms = $2, error = ''
 WHERE id = $1 AND channel = 'callback' AND state <> 'settled' AND state = 'failed'`
	callbackByID = `SELECT ` + deliveryColumns + ` FROM deliveries d
 WHERE d.id = $1 AND d.channel = 'callback' AND d.state <> 'settled'`
)

// Callbacks gives at most limit calls back to owners that have not succeeded,
// newest first: those still tried (queued) and those given up (failed).
func (s *Store) Callbacks(ctx context.Context, limit int) (all []approval.Delivery, err error) {
	rows, err := s.read.query(ctx, openCallbacks, limit)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var d approval.Delivery
		believed, err := s.keys.scanDelivery(rows, nil, &d)
		if believed {
			all = append(all, d)
		}
		return err
	})
	return all, err
}

// RetryCallback has a call that was given up tried again, for another day.
// CodeNotFound when there is no such call, or it was not given up.
func (s *Store) RetryCallback(ctx context.Context, id string) (d approval.Delivery, err error) {
	err = s.do(ctx, func(t *tx) error {
		n, err := t.exec(retryCallback, id, nowMs())
		if err != nil {
			return err
		}
		if n == 0 {
			t.refused = true
			return approval.Refuse(approval.CodeNotFound, "There is no failed callback with that id.")
		}
		d, _, err = t.oneDelivery(callbackByID, id)
		t.own.stirred = append(t.own.stirred, anything(d.Target))
		return err
	})
	return d, err
}
