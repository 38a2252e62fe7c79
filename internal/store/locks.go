package store

import (
	"slices"

	"approvalbot/core"
)

// locksOf are the names that a new approval may be the second to have: its code, the
// code that its id could be taken for, and what de-duplicates it.
func locksOf(look core.Lookup) (on locks) {
	on.policy, on.reads = countsOnPolicy, readsOf(look)
	if look.Code != "" {
		on.names = append(on.names, codeName(look.Code))
	}
	if first, _ := core.KeysCalled(look.ID); first != "" {
		on.names = append(on.names, codeName(core.KeyCode(first))) // so that no other job takes that code meanwhile
	}
	if look.SessionKey != "" {
		on.names = append(on.names, sameName(look.Owner, look.AgentID, look.SessionKey, look.Fingerprint))
	}
	return on
}

const (
	// Rows that only refer to an approval (deliveries, ids) may come and go.
	lockApprovals = `SELECT key FROM approvals WHERE key = ANY(CAST($1 AS TEXT[])) ORDER BY key FOR NO KEY UPDATE`
)

// lock takes the locks of all jobs.
func (b *batch) lock(jobs []*job) error {
	if !b.dialect.many {
		return nil
	}
	var names []int64
	var keys []string
	policy := noPolicy
	for _, j := range jobs {
		policy = max(policy, j.on.policy)
		names = append(names, j.on.names...)
		if j.on.approval != "" && storable(j.on.approval) { // else the job itself will fail
			keys = append(keys, j.on.approval)
		}
	}
	slices.Sort(names)
	slices.Sort(keys)
	if text := []string{countsOnPolicy: sharePolicy, setsPolicy: lockPolicy}[policy]; text != "" {
		if err := b.later(text, anyNumber, hash("policy")); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		if err := b.later(lockNames, anyNumber, array(names)); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		if err := b.later(lockApprovals, anyNumber, array(keys)); err != nil {
			return err
		}
	}
	if b.careful {
		return nil
	}
	return b.prefetch(jobs)
}
