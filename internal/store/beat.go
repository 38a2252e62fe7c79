package store

import (
	"context"
	"time"
)

const (
	heldBySelf = `SELECT name, token FROM leases WHERE holder = $1`
	giveBack   = `UPDATE leases SET holder = '' WHERE holder = $1 AND (name, token) IN (
 SELECT * FROM unnest(CAST($2 AS TEXT[]), CAST($3 AS BIGINT[])))`
	forgetOthers = `DELETE FROM instances WHERE seen_ms < ` + databaseTime + ` - $1`
	leaveSelf    = `DELETE FROM instances WHERE id = $1`
)

func (t *tx) tokens(holder string) (map[string]int64, error) {
	rows, err := t.rows(heldBySelf, holder)
	if err != nil {
		return nil, err
	}
	all := map[string]int64{}
	err = each(rows, func() error {
		var name text
		var token number
		err := rows.Scan(&name, &token)
		all[string(name)] = int64(token)
		return err
	})
	return all, err
}

// beat shows that this instance lives, gives back what it does not need, and
// learns what it still has and which policy counts.
func (s *Store) beat(ctx context.Context) error {
	began := time.Now()
	idle, idleTokens := s.heartbeat.idle()
	leases := s.heartbeat.leases()
	var tokens map[string]int64
	err := s.queue(ctx, &job{do: func(t *tx) (err error) {
		lock := s.heartbeat.lockNumber()
		if err := t.show(s, lock); err != nil {
			return err
		}
		if err := t.putUnder(&s.heartbeat, lock, leases); err != nil {
			return err
		}
		if len(idle) > 0 {
			if _, err := t.exec(giveBack, s.heartbeat.id, array(idle), array(idleTokens)); err != nil {
				return err
			}
		}
		tokens, err = t.tokens(s.heartbeat.id)
		return err
	}})
	if err != nil {
		return err
	}
	s.heartbeat.gave(idle, idleTokens)
	s.heartbeat.extend(began.Add(trustFor))
	s.heartbeat.keep(leases, tokens)
	return s.refreshPolicy(ctx)
}

// live shows this instance until ctx ends.
func (s *Store) live(ctx context.Context) {
	first := true
	for {
		wait := beatEvery
		err := s.beat(ctx)
		if err == nil && first {
			err = s.do(ctx, func(t *tx) error { _, err := t.exec(forgetOthers, forgetMs); return err })
			first = err != nil
		}
		if err != nil {
			wait = beatAgain
		}
		select {
		case <-time.After(wait):
		case <-s.heartbeat.changed:
		case <-ctx.Done():
			return
		}
	}
}

// leave gives everything back at once, as the last thing that is written.
func (s *Store) leave() {
	j := &job{done: make(chan outcome, 1), do: func(t *tx) error {
		if _, err := t.exec(leaveSelf, s.heartbeat.id); err != nil {
			return err
		}
		return t.notify(note{From: s.heartbeat.id, Freed: true})
	}}
	s.commit([]*job{j})
	s.heartbeat.mu.Lock()
	defer s.heartbeat.mu.Unlock()
	s.heartbeat.until = time.Time{}
	if s.heartbeat.expiry != nil {
		s.heartbeat.expiry.Stop()
	}
	for _, l := range s.heartbeat.held {
		s.heartbeat.forget(l)
	}
}
