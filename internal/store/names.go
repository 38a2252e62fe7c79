package store

import "hash/fnv"

// locks is what a job counts on. If other instances write too, a batch takes the locks of
// all its jobs first, in one order for all instances: so no instance changes an approval
// between another's reading and writing it, no two instances ask people about the same
// call, and they never wait for each other in a circle. SQLite has one writer at a time
// and needs no such locks.
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

const lockNames = `SELECT pg_advisory_xact_lock(n) FROM unnest(CAST($1 AS BIGINT[])) n`

// hash gives a name to lock by. Two that meet in one only wait for each other.
func hash(parts ...string) int64 {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(p + "\x00"))
	}
	return int64(h.Sum64())
}

func codeName(code string) int64 { return hash("code", code) }

func sameName(owner, agent, session, fingerprint string) int64 {
	return hash("same", owner, agent, session, fingerprint)
}

func keyName(key string) int64 { return hash("key", key) }

func idName(owner, id string) int64 { return hash("id", owner, id) }

var grantsName = hash("grants")

// read is something that a job looks up: the names of what the answer depends on
// say when another job of the batch has made it worthless.
type read struct {
	text string
	args []any
	of   []int64
}

func byKey(key string) read { return read{approvalByKey, []any{key}, []int64{keyName(key)}} }
