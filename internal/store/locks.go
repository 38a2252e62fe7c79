package store

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"approvalbot/core"
)

// locks is what a job counts on. Where other instances write too, a batch takes
// the locks of all its jobs first, in one order for everybody: so nobody changes
// an approval between its being read and its being written, no two instances ask
// people about the same call, and they never wait for each other in a circle.
// SQLite has one writer at a time and needs none of it.
type locks struct {
	approval string  // key
	names    []int64 // of what is not there yet
	reads    []read  // what the job is going to look up first
	policy   policyLock
}

// policyLock is what a job has to do with the policy that counts.
type policyLock int

const (
	noPolicy policyLock = iota
	countsOnPolicy
	setsPolicy
)

// locksOf are the names that a new approval may be the second to have: its code, the
// code that its id could be taken for, and what de-duplicates it.
func locksOf(look core.Lookup) (on locks) {
	on.policy, on.reads = countsOnPolicy, readsOf(look)
	if look.Code != "" {
		on.names = append(on.names, codeName(look.Code))
	}
	if first, _ := core.KeysCalled(look.ID); first != "" {
		on.names = append(on.names, codeName(core.KeyCode(first))) // nobody takes that code meanwhile
	}
	if look.SessionKey != "" {
		on.names = append(on.names, sameName(look.Owner, look.AgentID, look.SessionKey, look.Fingerprint))
	}
	return on
}

func codeName(code string) int64 { return hash("code", code) }

func sameName(owner, agent, session, fingerprint string) int64 {
	return hash("same", owner, agent, session, fingerprint)
}

// hash gives a name to lock by. Two that meet in one only wait for each other.
func hash(parts ...string) int64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p + "\x00"))
	}
	return int64(h.Sum64())
}

const (
	lockNames = `SELECT pg_advisory_xact_lock(n) FROM unnest(CAST($1 AS BIGINT[])) n`
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

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// array is a list as PostgreSQL writes one.
func array[T int64 | string](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		switch v := any(v).(type) {
		case int64:
			words[i] = strconv.FormatInt(v, 10)
		case string:
			words[i] = `"` + quoted.Replace(v) + `"`
		}
	}
	return "{" + strings.Join(words, ",") + "}"
}
