package store

import (
	"context"
	"hash/maphash"
	"sync"

	"approvalbot/core"
)

const (
	// maxGrantNames is how many names are remembered; with more, every call is looked up.
	maxGrantNames = 1 << 16
	allGrantNames = `SELECT DISTINCT owner, agent_id, name FROM grants LIMIT $1`
)

// grantNames knows calls that no grant can cover, so that the database is not asked about them. It is used only if
// this process alone writes. It keeps the names of grants that have ended, or were never committed: for
// those the database is asked. Safe for concurrent use.
type grantNames struct {
	seed maphash.Seed

	mu     sync.RWMutex
	known  map[uint64]struct{} // hashes of the names of all grants made since the store was opened
	loaded bool                // and of those that it had before
	full   bool                // there are too many
}

func newGrantNames() *grantNames {
	return &grantNames{seed: maphash.MakeSeed(), known: map[uint64]struct{}{}}
}

func (n *grantNames) hash(owner, agent, name string) uint64 {
	return maphash.Comparable(n.seed, [3]string{owner, agent, name})
}

// add notes a grant before it is committed.
func (n *grantNames) add(owner, agent, name string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note(n.hash(owner, agent, name))
}

func (n *grantNames) note(h uint64) {
	if n.full = n.full || len(n.known) >= maxGrantNames; n.full {
		n.known = nil
		return
	}
	n.known[h] = struct{}{}
}

// exclude reports whether no grant can cover a call; ready is false until the grants are loaded.
func (n *grantNames) exclude(look core.Lookup) (out, ready bool) {
	names := [...]uint64{
		n.hash(look.Owner, look.AgentID, look.Fingerprint), n.hash(look.Owner, look.AgentID, coolDownOf(look.Fingerprint)),
		n.hash(look.Owner, look.AgentID, look.Subject), n.hash(look.Owner, look.AgentID, look.Program),
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	if !n.loaded || n.full {
		return false, n.loaded
	}
	for _, h := range names {
		if _, found := n.known[h]; found {
			return false, true
		}
	}
	return true, true
}

// load reads the names of the grants that are on disk. What is committed meanwhile was added.
func (n *grantNames) load(ctx context.Context, from querier) error {
	rows, err := from.query(ctx, allGrantNames, maxGrantNames+1)
	if err != nil {
		return err
	}
	var found []uint64 // noted in the end: the writer may have the only connection, and wait for mu
	err = each(rows, func() error {
		var owner, agent, name text
		err := rows.Scan(&owner, &agent, &name)
		found = append(found, n.hash(string(owner), string(agent), string(name)))
		return err
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range found {
		n.note(h)
	}
	n.loaded = true
	return nil
}

func coolDownOf(fingerprint string) string { return "cooldown " + fingerprint }
