package store

import (
	"context"
	"hash/maphash"
	"maps"

	"sync"

	"approvalbot/core"
)

// granted knows what grants and cool-downs there may be, so that a call that none
// is about is not looked up. It can err on one side only: what it does not know
// is not in the store. That holds where this process alone writes, so there is
// none (nil) on PostgreSQL.
type granted struct {
	seed maphash.Seed
	mu   sync.RWMutex
	all  map[grantHash]struct{}
	news map[grantHash]struct{} // what was added since forget began; nil: it does not run
}

// grantHash stands for an owner, an agent and a name of a grant.
type grantHash uint64

const grantNames = `SELECT owner, agent_id, name FROM grants`

// readGranted makes it from what is in the store.
func readGranted(ctx context.Context, q querier) (*granted, error) {
	g := &granted{seed: maphash.MakeSeed()}
	all, err := g.read(ctx, q)
	g.all = all
	return g, err
}

func (g *granted) read(ctx context.Context, q querier) (map[grantHash]struct{}, error) {
	rows, err := q.query(ctx, grantNames)
	if err != nil {
		return nil, err
	}
	all := map[grantHash]struct{}{}
	var owner, agent, name text
	if err := each(rows, func() error {
		if err := rows.Scan(&owner, &agent, &name); err != nil {
			return err
		}
		all[g.hash(string(owner), string(agent), string(name))] = struct{}{}
		return nil
	}); err != nil {
		return nil, err
	}
	return all, nil
}

func (g *granted) hash(owner, agent, name string) grantHash {
	return grantHash(maphash.Comparable(g.seed, [3]string{owner, agent, name}))
}

// add is called before the transaction that adds the grant ends; if it fails, one
// look-up too many is made.
func (g *granted) add(owner, agent, name string) {
	if g == nil {
		return
	}
	h := g.hash(owner, agent, name)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all[h] = struct{}{}
	if g.news != nil {
		g.news[h] = struct{}{}
	}
}

// may reports whether some grant may speak about the call.
func (g *granted) may(look core.Lookup) bool {
	if g == nil {
		return true
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	if len(g.all) == 0 {
		return false
	}
	for _, name := range [...]string{look.Subject, look.Program, look.Fingerprint, coolDownOf(look.Fingerprint)} {
		if _, ok := g.all[g.hash(look.Owner, look.AgentID, name)]; ok {
			return true
		}
	}
	return false
}

// forget begins to forget what is in the store no more. What is in the store
// after this is given to keep. Only one may be at it at a time.
func (g *granted) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.news = map[grantHash]struct{}{}
}

// keep ends what forget began: these count, and what was added since; with nil,
// nothing is forgotten.
func (g *granted) keep(all map[grantHash]struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if all != nil {
		maps.Copy(all, g.news)
		g.all = all
	}
	g.news = nil
}

// forgetGrants makes what is known what is in the store.
func (s *Store) forgetGrants(ctx context.Context) error {
	if s.granted == nil {
		return nil
	}
	s.granted.forget()
	// What was being added before is in the store, or never will be, once the
	// writer has done a job that came after it.
	err := s.do(ctx, func(*tx) error { return nil })
	var all map[grantHash]struct{}
	if err == nil {
		all, err = s.granted.read(ctx, s.read)
	}
	s.granted.keep(all)
	return err
}
