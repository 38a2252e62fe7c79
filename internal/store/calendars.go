package store

import (
	"context"
	"encoding/json"
	"fmt"

	"approvalbot/internal/schedule"
)

const calendarsName = "calendars" // in meta: the last good copies of duty calendars by their keys, as JSON

// Calendars gives the kept copies of calendars by their keys.
func (s *Store) Calendars(ctx context.Context) (map[string]schedule.Copy, error) {
	return readCalendars(ctx, s.read)
}

// KeepCalendars keeps the newest copies of these calendars, and of no others.
func (s *Store) KeepCalendars(ctx context.Context, copies map[string]schedule.Copy) error {
	return s.doOn(ctx, locks{names: []int64{hash(calendarsName)}}, func(t *tx) error {
		kept, err := readCalendars(ctx, t)
		if err != nil {
			kept = nil // what cannot be read is written anew
		}
		for key, mine := range copies {
			if other, ok := kept[key]; ok && other.Read.After(mine.Read) {
				copies[key] = other
			}
		}
		value, err := json.Marshal(copies)
		if err != nil {
			return err
		}
		return t.put(setMeta, calendarsName, string(value))
	})
}

func readCalendars(ctx context.Context, q querier) (copies map[string]schedule.Copy, err error) {
	rows, err := q.query(ctx, readMeta, calendarsName)
	if err != nil {
		return nil, err
	}
	var value text
	if found, err := one(rows, &value); err != nil || !found {
		return nil, err
	}
	if err := json.Unmarshal([]byte(value), &copies); err != nil {
		return nil, fmt.Errorf("the calendars in the store cannot be read: %w", err)
	}
	return copies, nil
}
