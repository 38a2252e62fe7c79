package store

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// job is one caller's write.
type job struct {
	do    func(*tx) error
	on    locks
	calm  func() bool  // whether it may wait a moment for company; nil: no
	taken atomic.Bool  // by the first of two: the loop, to run it, or its caller, to leave
	done  chan outcome // holds one
}

// outcome is what became of a job: its error, or the panic of its function.
type outcome struct {
	err      error
	failed   bool // the error is the database's
	panicked any
	stack    []byte // where it panicked
}

// prefetched is what was read for jobs that have not run yet.
type prefetched struct {
	of      map[int64][]string // where it is kept, by what it depends on
	changed map[string]bool    // keys of the approvals that jobs have changed
}

// policyVersion says which policy counts, and which this instance has.
type policyVersion struct {
	own, counts string // hashes; own is empty before Agree
	generation  int64
	build       string // of the program that set what counts
}

// logHead is the log's newest entry.
type logHead struct {
	seq  int64
	hash string
}

// batch is one transaction with the jobs it carries.
type batch struct {
	*writer
	careful bool  // every job has a savepoint
	failed  error // the transaction is lost
	wrote   bool

	prefetched prefetched
	policy     *policyVersion // as the transaction has read it
	absences   int64          // their revision, likewise; 0: not read
	counted    map[string]int // an owner's pending approvals when the batch began
	done       effects        // of the jobs that succeeded
	moved      *logHead       // the log's head once this is committed; nil: unchanged
}

// effects is what jobs leave to be done for the whole batch.
type effects struct {
	events  []approval.Event     // to append to the log, in order
	written []*approval.Approval // approvals, without deliveries, in order; with SQLite only
	stirred []waiting            // deliveries, in their new state
	heard   []heard              // of chats, in order
	inbound bool                 // there are new platform updates
	moved   bool                 // a chat lives elsewhere now
	pending map[string]int       // by how many the owner's pending approvals grew
}

func (e *effects) add(o effects) {
	e.events = append(e.events, o.events...)
	e.written = append(e.written, o.written...)
	e.stirred = append(e.stirred, o.stirred...)
	e.heard = append(e.heard, o.heard...)
	e.inbound, e.moved = e.inbound || o.inbound, e.moved || o.moved
	for owner, n := range o.pending {
		e.grow(owner, n)
	}
}

func (e *effects) grow(owner string, n int) {
	if e.pending == nil {
		e.pending = map[string]int{}
	}
	e.pending[owner] += n
}

// tx is the transaction as one job sees it: all of it is undone if the job fails.
type tx struct {
	*batch
	own     effects // of this job
	keys    keyring
	wrote   bool
	update  string // data of the record that a stored platform update was handled
	refused bool   // the error is no failure of the database's
}

// savepoint runs a statement about savepoints, if the batch has any.
func (b *batch) savepoint(statement string) error {
	if !b.careful {
		return nil
	}
	_, err := b.writer.exec(statement)
	return err
}

const growOwner = `INSERT INTO owners (owner, pending) VALUES ($1, $2)
 ON CONFLICT (owner) DO UPDATE SET pending = owners.pending + excluded.pending`

// tally writes how many pending approvals owners have now, in one order for all
// writers.
func (b *batch) tally() error {
	for _, owner := range slices.Sorted(maps.Keys(b.done.pending)) {
		if n := b.done.pending[owner]; n != 0 {
			if err := b.put(growOwner, owner, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// exec runs a statement and gives the number of rows it changed. What was
// prefetched is read anew.
func (b *batch) exec(text string, args ...any) (int64, error) {
	b.wrote = true
	b.forgetPrefetched()
	return b.writer.exec(text, args...)
}

// exec is the batch's, for this job.
func (t *tx) exec(text string, args ...any) (int64, error) {
	n, err := t.batch.exec(text, args...)
	t.wrote = t.wrote || n > 0 || err != nil
	return n, err
}

// put is the batch's, for this job.
func (t *tx) put(text string, args ...any) error {
	t.wrote = true
	return t.batch.put(text, args...)
}

// putOne is put of a statement that changes one row: errStale if it does not, or
// the batch's failure.
func (t *tx) putOne(text string, args ...any) error {
	t.wrote = true
	return t.batch.putNumber(1, text, args...)
}

// undo takes back all that the job did. Without a savepoint to go back to it gives
// errCareful, unless there is no change to take back: the job has not written, and the
// database has not failed either (after some failures SQLite has ended the transaction,
// and what followed would be on its own).
func (t *tx) undo() error {
	t.own, t.policy, t.absences, t.update = effects{}, nil, 0, ""
	if !t.careful {
		if t.wrote || !t.refused {
			return errCareful
		}
		return nil
	}
	t.wrote = false
	return t.savepoint("ROLLBACK TO SAVEPOINT job") // the savepoint is kept for another try
}

// waiting is a delivery in its present state, with its place among others. Without an id
// it means any delivery of its chat, and without a chat any delivery at all.
type waiting struct {
	approval.Delivery
	turn, since int64
	taken       bool // somebody is at it
}

func (w waiting) before(o waiting) int {
	return cmp.Or(cmp.Compare(w.turn, o.turn), cmp.Compare(w.since, o.since), cmp.Compare(w.ID, o.ID))
}

// done reports whether the delivery needs no more work.
func (w waiting) done() bool { return w.ID != "" && w.DueMs == 0 }

// anything in a chat may have changed.
func anything(chat approval.Target) waiting {
	return waiting{Delivery: approval.Delivery{Target: chat.Chat()}}
}

// anyChats: anything may have changed anywhere.
var anyChats = []waiting{{}}

// put runs a statement whose outcome need not be known before the commit.
func (b *batch) put(text string, args ...any) error { return b.putNumber(anyNumber, text, args...) }

func (b *batch) putNumber(must int64, text string, args ...any) error {
	b.wrote = true
	if !b.careful {
		return b.later(text, must, args...)
	}
	n, err := b.writer.exec(text, args...)
	if err == nil && must != anyNumber && n != must {
		err = errStale
	}
	return err
}

// touch drops the prefetched answers that the coming change makes stale.
func (b *batch) touch(names ...int64) {
	for _, n := range names {
		for _, name := range b.prefetched.of[n] {
			delete(b.kept, name)
		}
	}
}

// forgetPrefetched forgets all that was prefetched.
func (b *batch) forgetPrefetched() {
	if b.prefetched.of != nil {
		b.prefetched.of = nil
		clear(b.kept)
	}
}

func (t *tx) count(query string, args ...any) (int, error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return 0, err
	}
	var n number
	_, err = one(rows, &n)
	return int(n), err
}

// changed tells the jobs that follow what a change has done to an approval.
func (t *tx) changed(a approval.Approval, c core.Change) {
	if t.prefetched.of == nil {
		return
	}
	names := []int64{idName(a.Owner, a.ID), codeName(a.Code), sameName(a.Owner, a.AgentID, a.SessionKey, a.Fingerprint)}
	for _, id := range c.Aliases {
		names = append(names, idName(a.Owner, id))
	}
	t.touch(names...)
	t.changedKey(a.Key)
}

// changedKey is changed, of what an approval is found with: its row and its deliveries.
func (t *tx) changedKey(key string) {
	if t.prefetched.of != nil {
		t.prefetched.changed[key] = true
		t.touch(keyName(key))
	}
}
