// Package store keeps the desk: approvals, the outbox of deliveries, the inbox
// of platform updates, sealed calls and the hash-chained log, in one SQLite
// file or one PostgreSQL database.
//
// Every write is a job. Callers queue jobs, one goroutine ([Store.Run]) takes as
// many as wait, runs them in one transaction, commits, and only then answers them
// all. So one fsync carries many changes, and what was answered is on disk. A job whose
// caller does not wait is held back a moment, for a job whose caller does ([job.calm]). A
// job that fails does not undo its neighbours: if it had written something by then, the
// transaction is rolled back and run again with a savepoint for each job. Reads use
// connections of their own that cannot write.
//
// The log's events of a whole batch are numbered and chained at the very end of
// its transaction, from a head row that the transaction takes last: the order of
// numbers is the order of commits, and no reader that has seen number n will
// later see a number below it appear.
//
// At the ground are the rows and their MACs (rows.go, mac.go, seal.go), the batch and
// its jobs (writer.go, tx.go) and [Store] with its queue of jobs (store.go). A file for
// each subject reads and writes with these; apply.go and commit.go call the subjects,
// and open.go, look.go, copy.go and rotate.go are the doors.
//
// numbers.go counts approvals by sums, which numbers_count.go writes behind the commits; list.go finds
// approvals by the index of a filter's narrowest condition.
//
// tools.go keeps what was last said of servers' tools.
// silences.go keeps which chats leave every try unanswered.
//
// The SQL is one text for SQLite and PostgreSQL; dialect.go holds what differs.
//
// A PostgreSQL database may have several instances of the desk. Each has a writer
// as above, whose batch begins by locking what its jobs count on (locks.go), and
// takes the log's head last, so that the chain is one. Ways to the server are what
// costs most, so a batch's statements go together (prefetch.go). The instances show
// themselves (beat.go), know when the database is silent (health.go), share what only
// one may do at a time by leases (lease.go), chats among it (chat_lease.go), tell each
// other of commits (notify.go) and must judge by one policy (policy_version.go). A
// lease ends with its holder: there are two signs of life for all that an instance holds,
// its beats and its lock (lease_lock.go).
package store
