package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// What is compared is the lease's row as it is when it is locked: a holder that lost its lock
	// and has taken the lease again meanwhile has written another number, or 0.
	takeLease = `INSERT INTO leases (name, holder, token, not_before_ms, lock_no) VALUES ($1, $2, 1, 0, $4)
 ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = leases.token + 1, lock_no = excluded.lock_no
 WHERE leases.holder IN ('', excluded.holder)
 OR CONCAT(leases.holder, ' ', leases.lock_no) = ANY(CAST($5 AS TEXT[])) OR NOT EXISTS (SELECT 1 FROM instances i
  WHERE i.id = leases.holder AND i.seen_ms > ` + databaseTime + ` - $3)
 RETURNING token, not_before_ms`
	dropLease = `UPDATE leases SET holder = '' WHERE name = $1 AND holder = $2 AND token = $3`
	holderOf  = `SELECT i.id FROM leases l JOIN instances i ON i.id = l.holder
 WHERE l.name = $1 AND i.seen_ms > ` + databaseTime + ` - $2
 AND CONCAT(l.holder, ' ', l.lock_no) <> ALL(CAST($3 AS TEXT[]))`
	tryAgain = time.Second // a lease that somebody else has
)

// take acquires a lease that no instance holds. notBefore is a chat's pause. The holder
// has the lease alone until its lost channel is closed. If its clock stopped, it may find
// out late that the lease is lost; its token then shows that.
func (s *Store) take(ctx context.Context, name string) (l *lease, notBefore int64, err error) {
	if s.heartbeat.holds(name) != nil {
		return nil, 0, nil // this instance's, but another goroutine's
	}
	began := time.Now()
	var token, pause number
	var lock int64
	found := false
	err = s.do(ctx, func(t *tx) error {
		lock = s.heartbeat.lockNumber()
		if err := t.show(s, lock); err != nil { // it would not be held otherwise
			return err
		}
		rows, err := t.rows(takeLease, name, s.heartbeat.id, leaseMs, lock, s.heartbeat.deadLocks())
		if err != nil {
			return err
		}
		t.wrote, t.batch.wrote = true, true
		found, err = one(rows, &token, &pause)
		return err
	})
	if err != nil || !found {
		return nil, 0, err
	}
	l = &lease{name: name, token: int64(token), lock: lock, used: time.Now(), lost: make(chan struct{})}
	s.heartbeat.gain(l, began.Add(trustFor))
	return l, int64(pause), nil
}

// give gives a lease back and tells the instances that wait for it.
func (s *Store) give(l *lease) {
	s.heartbeat.mu.Lock()
	s.heartbeat.forget(l)
	s.heartbeat.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), goodbyeFor)
	defer cancel()
	err := s.do(ctx, func(t *tx) error {
		n, err := t.exec(dropLease, l.name, s.heartbeat.id, l.token)
		if err != nil || n == 0 {
			return err
		}
		return t.notify(note{From: s.heartbeat.id, Freed: true})
	})
	if err != nil {
		s.log.Warn("could not release a lease; another instance can take it after this instance "+
			"has ended", "lease", l.name, "reason", err)
	}
}

// Hold runs fn while this instance, of all that share the database, has the lease
// of that name, and gives what fn gives. It waits for the lease as long as it must, and returns nil
// if ctx ends meanwhile. When the lease is lost (the database was out of reach for a second if this
// instance has a lock, see lease_lock.go, and else for eight), fn's context ends, and once fn has
// returned Hold waits for the lease again. token is greater for every holder after another. When fn
// returns, the lease is given back at once; an instance that dies loses it after two seconds, and
// without a lock after ten.
//
// [Store.Run] must run. With SQLite there is one instance, which has every lease.
func (s *Store) Hold(ctx context.Context, name string, fn func(ctx context.Context, token int64) error) error {
	if !s.dialect.many {
		return fn(ctx, 1)
	}
	name = "hold " + name
	for {
		l, err := s.await(ctx, name)
		if err != nil || l == nil {
			return err
		}
		again, err := s.holding(ctx, l, fn)
		if !again || ctx.Err() != nil {
			return err
		}
		s.log.Warn("a lease was lost; another instance may do the work until this instance has the lease again",
			"lease", name, "reason", err)
	}
}

// Holder gives the id of the instance that has the lease of that name, empty if it is
// free. With SQLite it is always this one.
func (s *Store) Holder(ctx context.Context, name string) (instance string, err error) {
	if !s.dialect.many {
		return s.heartbeat.id, nil
	}
	rows, err := s.read.query(ctx, holderOf, "hold "+name, leaseMs, s.heartbeat.deadLocks())
	if err != nil {
		return "", err
	}
	var id text
	_, err = one(rows, &id)
	return string(id), err
}

// ID is this instance's, another every time it starts.
func (s *Store) ID() string { return s.heartbeat.id }

// await takes a lease as soon as it can; nil when ctx has ended.
func (s *Store) await(ctx context.Context, name string) (*lease, error) {
	for {
		freed := s.heartbeat.wait()
		l, _, err := s.take(ctx, name)
		switch {
		case ctx.Err() != nil:
			if l != nil {
				s.give(l)
			}
			return nil, nil
		case l != nil:
			return l, nil
		case errors.Is(err, errEnded):
			return nil, fmt.Errorf("lease %q cannot be taken: %w", name, err)
		case err != nil:
			s.log.Warn("could not take a lease; trying again", "lease", name, "reason", err)
		}
		select {
		case <-freed:
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// holding runs fn until it returns; again says that the lease was lost before.
func (s *Store) holding(ctx context.Context, l *lease, fn func(context.Context, int64) error) (again bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-l.lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = fn(ctx, l.token)
	cancel()
	<-watched
	select {
	case <-l.lost:
		return true, err
	default:
	}
	s.give(l)
	return false, err
}
