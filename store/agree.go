package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// agreement is which policy counts, and which this instance has.
type agreement struct {
	own, counts string // hashes; own is empty before Agree
	generation  int64
}

const (
	readPolicy = `SELECT value FROM meta WHERE name = 'policy'`
	setPolicy  = `INSERT INTO meta (name, value) VALUES ('policy', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	lockPolicy = `SELECT pg_advisory_xact_lock(CAST($1 AS BIGINT))`
)

// Agree says which policy this instance has. All that share a database must judge
// by the same: the one of the newest generation counts. newest makes this
// instance's the newest one (the operator has loaded it here, and wants it
// everywhere); otherwise it becomes that as soon as no other instance runs that has
// the one that counts. An error is no disagreement but the store's failure: ask
// [Store.Agreed] for the former. [Store.Run] must run.
//
// With SQLite there is one instance, and it always agrees.
func (s *Store) Agree(ctx context.Context, policyHash string, newest bool) error {
	s.presence.mu.Lock()
	s.presence.policy.own = policyHash
	s.presence.mu.Unlock()
	if !s.dialect.many {
		return nil
	}
	return s.agree(ctx, policyHash, newest)
}

func (s *Store) agree(ctx context.Context, own string, newest bool) error {
	err := s.do(ctx, func(t *tx) error {
		if _, err := t.exec(lockPolicy, hash("policy")); err != nil {
			return err
		}
		if err := t.show(s); err != nil {
			return err
		}
		now, err := policyThatCounts(ctx, t)
		if err != nil || now.counts == own {
			return err
		}
		all, err := readInstances(ctx, t)
		if err != nil {
			return err
		}
		if !newest && now.counts != "" && slices.ContainsFunc(all, func(i Instance) bool { return i.PolicyHash == now.counts }) {
			return nil
		}
		_, err = t.exec(setPolicy, strconv.FormatInt(now.generation+1, 10)+" "+own)
		return err
	})
	if err != nil {
		return err
	}
	return s.readPolicy(ctx)
}

// stayAgreed learns which policy counts, and lets this instance's count where all
// that had another have gone.
func (s *Store) stayAgreed(ctx context.Context) error {
	err := s.readPolicy(ctx)
	if own := s.presence.policyHash(); err == nil && own != "" && s.Agreed() != nil {
		err = s.agree(ctx, own, false)
	}
	return err
}

// Agreed gives nil when this instance judges by the policy that counts, as far as
// it heard within the last three seconds, and else an error that says what to do:
// it must not take requests.
func (s *Store) Agreed() error {
	s.presence.mu.Lock()
	defer s.presence.mu.Unlock()
	p := s.presence.policy
	switch {
	case !s.dialect.many || p.own == p.counts && p.own != "":
		return nil
	case p.own == "":
		return errors.New("this instance has not said yet which policy it has")
	}
	return fmt.Errorf("this instance has policy %.19s, and generation %d on this database is %.19s: give all instances the same configuration, then reload one", p.own, p.generation, p.counts)
}

// Instances gives the programs that run on the database, this one included, the
// oldest first. With SQLite it is this one.
func (s *Store) Instances(ctx context.Context) ([]Instance, error) {
	if !s.dialect.many {
		return []Instance{{ID: s.presence.id, Version: s.version, Schema: s.schema, PolicyHash: s.presence.policyHash(), KeyID: s.keys.id, StartedMs: s.started, SeenMs: nowMs()}}, nil
	}
	return readInstances(ctx, s.read)
}

func (p *presence) policyHash() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.policy.own
}

// readPolicy learns which policy counts. One reads at a time: an answer from before
// a change must not be taken over after the answer from behind it.
func (s *Store) readPolicy(ctx context.Context) error {
	s.presence.reading.Lock()
	defer s.presence.reading.Unlock()
	now, err := policyThatCounts(ctx, s.read)
	if err != nil {
		return err
	}
	s.presence.mu.Lock()
	defer s.presence.mu.Unlock()
	s.presence.policy.counts, s.presence.policy.generation = now.counts, now.generation
	return nil
}

func policyThatCounts(ctx context.Context, q querier) (a agreement, err error) {
	rows, err := q.query(ctx, readPolicy)
	if err != nil {
		return a, err
	}
	var value text
	if found, err := one(rows, &value); err != nil || !found {
		return a, err
	}
	generation, policy, _ := strings.Cut(string(value), " ")
	a.counts = policy
	a.generation, err = strconv.ParseInt(generation, 10, 64)
	return a, err
}
