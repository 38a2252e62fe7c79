package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"approvalbot/internal/approval"
)

const (
	setPolicy = `INSERT INTO meta (name, value) VALUES ('policy', $1)
 ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	noteBuild = `INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`
	// An instance that sets the policy waits for the commits that count on the one
	// before, and later commits wait for that instance. Readers share an advisory lock: a
	// lock on a row would be written to the row for each of them.
	lockPolicy  = `SELECT pg_advisory_xact_lock(CAST($1 AS BIGINT))`
	sharePolicy = `SELECT pg_advisory_xact_lock_shared(CAST($1 AS BIGINT))`
)

// Agree says which policy this instance has. All that share a database must judge
// by the same: the one of the newest generation counts. A new generation is made of
// this instance's policy
//
//   - if newest is set: the operator has loaded a configuration here, and wants it
//     everywhere, even if the policy is the same;
//   - if the database sees this instance's build for the first time: a program that may
//     judge otherwise is being rolled out.
//
// Otherwise its policy counts only when no running instance has the policy that counts
// now, and only if that one was set by the same build. So an instance of an older build
// waits to be replaced, even if the newer ones fail, and its policy does not count again,
// however often it starts. The order of builds is that in which the database first saw
// them, which needs no clock and no version number; only an operator goes back. An error
// is not a disagreement but the store's failure: [Store.Agreed] reports disagreement.
// [Store.Run] must run.
//
// With SQLite there is one instance, and it always agrees.
func (s *Store) Agree(ctx context.Context, policyHash string, newest bool) error {
	s.heartbeat.mu.Lock()
	s.heartbeat.policy.own = policyHash
	s.heartbeat.mu.Unlock()
	if !s.dialect.many {
		return nil
	}
	return s.agree(ctx, policyHash, newest)
}

func (s *Store) agree(ctx context.Context, own string, newest bool) error {
	err := s.doOn(ctx, locks{policy: setsPolicy}, func(t *tx) error {
		if err := t.show(s, s.heartbeat.lockNumber()); err != nil {
			return err
		}
		now, err := policyThatCounts(ctx, t)
		if err != nil {
			return err
		}
		first, err := t.firstOf(s.build)
		if err != nil {
			return err
		}
		none, otherwise := now.counts == "", first && now.counts != own
		switch {
		case newest || none || otherwise:
			now.generation++
		case first: // another build that judges the same
		case now.counts == own || now.build != s.build:
			return nil
		default:
			if in, err := inUse(ctx, t, now.counts); err != nil || in {
				return err
			}
		}
		t.policy = nil
		if _, err = t.exec(setPolicy, now.with(own, s.build)); err != nil {
			return err
		}
		return t.notify(note{From: s.heartbeat.id, Policy: true})
	})
	if err != nil {
		return err
	}
	return s.readPolicy(ctx)
}

// firstOf notes a build, and reports whether the database has not seen it before.
func (t *tx) firstOf(build string) (bool, error) {
	n, err := t.exec(noteBuild, "build:"+build, strconv.FormatInt(nowMs(), 10))
	return n > 0, err
}

// Once notes a name in the store for good and appends the event to the log, in one
// transaction, if the store does not have that name yet and has been served before. It
// reports whether it appended.
func (s *Store) Once(ctx context.Context, name string, e approval.Event) (appended bool, err error) {
	err = s.do(ctx, func(t *tx) error {
		n, err := t.exec(noteBuild, "once:"+name, strconv.FormatInt(nowMs(), 10))
		if err != nil || n == 0 {
			return err
		}
		head, err := t.count(`SELECT seq FROM log_head`)
		if appended = err == nil && head > 0; appended {
			t.own.events = append(t.own.events, e)
		}
		return err
	})
	return appended, err
}

// inUse reports whether an instance runs that has a policy.
func inUse(ctx context.Context, q querier, policyHash string) (bool, error) {
	all, err := readInstances(ctx, q)
	return slices.ContainsFunc(all, func(i Instance) bool { return i.PolicyHash == policyHash }), err
}

// with is what the database keeps of a generation.
func (a policyVersion) with(policyHash, build string) string {
	return strconv.FormatInt(a.generation, 10) + " " + policyHash + " " + build
}

// refreshPolicy learns which policy counts, and makes this instance's count if all
// instances that had another have gone.
func (s *Store) refreshPolicy(ctx context.Context) error {
	err := s.readPolicy(ctx)
	if own := s.heartbeat.policyHash(); err == nil && own != "" && s.Agreed(own) != nil {
		err = s.agree(ctx, own, false)
	}
	return err
}

// Agreed gives nil when the policy of that hash is the one that counts, as far as
// this instance heard within the last three seconds, and else CodeUnavailable with
// what to do: an instance with another policy must not judge. With SQLite there is one
// policy only.
func (s *Store) Agreed(policyHash string) error {
	if !s.dialect.many {
		return nil
	}
	s.heartbeat.mu.Lock()
	defer s.heartbeat.mu.Unlock()
	return s.heartbeat.policy.judge(policyHash, s.build)
}

// Replaced reports whether another build counts, as far as this instance has heard: this
// instance agrees again only if an operator loads a configuration here.
func (s *Store) Replaced() bool {
	s.heartbeat.mu.Lock()
	defer s.heartbeat.mu.Unlock()
	p := s.heartbeat.policy
	differs := p.counts != "" && p.counts != p.own
	return s.dialect.many && differs && p.build != s.build
}

// Generation counts how often an operator has loaded a configuration at any of the
// instances, or a new build has taken over, as far as this one has heard. With SQLite it is 0.
func (s *Store) Generation() int64 {
	s.heartbeat.mu.Lock()
	defer s.heartbeat.mu.Unlock()
	return s.heartbeat.policy.generation
}

// judge refuses every policy but the one that counts.
func (a policyVersion) judge(policyHash, build string) error {
	switch {
	case a.counts == "":
		return approval.Refuse(approval.CodeUnavailable, "This instance does not know yet which policy is in force; "+
			"try again in a moment.")
	case a.counts == policyHash:
		return nil
	case a.build != build:
		return approval.Refuse(approval.CodeUnavailable, "This instance judges no call: it has policy %[1].12s, but "+
			"another version of the program has put policy %[3].12s in force on this database (generation %[2]d). "+
			"Replace this instance, or reload its configuration to put its own policy in "+
			"force.", policyHash, a.generation, a.counts)
	}
	return approval.Refuse(approval.CodeUnavailable, "This instance judges no call: it has policy %[1].12s, but the "+
		"policy in force on this database (generation %[2]d) is %[3].12s. Give all instances the same configuration "+
		"file, then reload one.", policyHash, a.generation, a.counts)
}

// agreed refuses a change that was judged by a policy that does not count, as the
// database has it; the batch keeps it from changing until the commit.
func (t *tx) agreed(policyHash string) error {
	if policyHash == "" || !t.dialect.many {
		return nil
	}
	if t.policy == nil {
		now, err := policyThatCounts(context.Background(), t)
		if err != nil {
			return err
		}
		t.policy = &now
	}
	err := t.policy.judge(policyHash, t.build)
	t.refused = err != nil
	return err
}

// Instances gives the programs that run on the database, this one included, the
// oldest first. With SQLite it is this one.
func (s *Store) Instances(ctx context.Context) ([]Instance, error) {
	if !s.dialect.many {
		return []Instance{{ID: s.heartbeat.id, Version: s.version, Schema: s.schema, PolicyHash: s.heartbeat.policyHash(),
			KeyID: s.keys.id, StartedMs: s.started, SeenMs: nowMs()}}, nil
	}
	return readInstances(ctx, s.read)
}

// onlyOne refuses a store that others have open. SQLite's lock has seen to that.
func (s *Store) onlyOne(ctx context.Context) error {
	all, err := s.Instances(ctx)
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.ID != s.heartbeat.id {
			return fmt.Errorf("instance %s (version %q) uses the store: stop all instances, wait ten seconds and "+
				"try again", i.ID, i.Version)
		}
	}
	return nil
}
