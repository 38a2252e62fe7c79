package store

import (
	"context"
	"encoding/json"
	"fmt"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

const pairingName = "pairing" // in meta: the newest signin.Pairing, as JSON

// Pairing gives the newest pairing, or an empty one.
func (s *Store) Pairing(ctx context.Context) (signin.Pairing, error) { return readPairing(ctx, s.read) }

// Pair replaces the newest pairing by what fn makes of it, appends fn's events to
// the log and marks the platform update handled (if not nil), in one transaction. If the
// update was handled before, it writes no row and returns approval.ErrHandled.
func (s *Store) Pair(
	ctx context.Context, handled *approval.InboundRef, fn func(signin.Pairing) (signin.Pairing, []approval.Event),
) error {
	return s.doOn(ctx, locks{names: []int64{hash(pairingName)}}, func(t *tx) error {
		if err := t.firstTime(handled); err != nil {
			return err
		}
		before, err := readPairing(ctx, t)
		if err != nil {
			return err
		}
		after, events := fn(before)
		value, err := json.Marshal(after)
		if err != nil {
			return err
		}
		t.own.events = append(t.own.events, events...)
		return t.put(setMeta, pairingName, string(value))
	})
}

func readPairing(ctx context.Context, q querier) (p signin.Pairing, err error) {
	rows, err := q.query(ctx, readMeta, pairingName)
	if err != nil {
		return p, err
	}
	var value text
	if found, err := one(rows, &value); err != nil || !found {
		return p, err
	}
	if err := json.Unmarshal([]byte(value), &p); err != nil {
		return p, fmt.Errorf("the stored pairing cannot be read: %w", err)
	}
	return p, nil
}
