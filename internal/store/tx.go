package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"approvalbot/internal/approval"
)

// querier runs a read: a pool outside of any transaction, a tx inside one.
type querier interface {
	query(ctx context.Context, text string, args ...any) (result, error)
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
	moved      *logHead       // where the log's head is once this is committed; nil: where it was
}

// effects is what jobs leave to be done for the whole batch.
type effects struct {
	events  []approval.Event     // to append to the log, in order
	written []*approval.Approval // approvals, without deliveries, in order; with SQLite only
	stirred []waiting            // deliveries, as they stand now
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

// tx is the transaction as one job sees it: nothing of it stays if the job fails.
type tx struct {
	*batch
	own     effects // of this job
	keys    keyring
	wrote   bool
	update  string // data of the record that a stored platform update was handled
	refused bool   // the error is no failure of the database's
}

func (w *writer) begin(careful bool) (*batch, error) {
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("no transaction could begin: %w", err)
	}
	return &batch{writer: w, counted: map[string]int{}, careful: careful}, nil
}

// run carries out one job; if it fails, nothing of it stays.
func (b *batch) run(j *job, keys keyring) (o outcome) {
	if b.failed != nil {
		return outcome{} // it fails with the whole batch
	}
	t := &tx{batch: b, keys: keys}
	defer func() {
		if o.panicked = recover(); o.panicked != nil {
			o.stack, t.refused = debug.Stack(), true
		}
		if isOutrun(o.err) { // the transaction is to be tried again, with all in it
			b.failed, o.err = o.err, nil
			return
		}
		if o.panicked != nil || o.err != nil {
			t.refused = t.refused || approval.CodeOf(o.err) != ""
			o.failed = !t.refused && !errors.Is(o.err, errStale)
			if err := t.undo(); err != nil {
				b.failed, o.err = errors.Join(o.err, err), nil // the cause first
			}
			return
		}
		if t.update != "" && len(t.own.events) > 0 { // without any it changed nothing
			t.own.events = append(t.own.events, approval.Event{AtMs: nowMs(), Type: approval.EventUpdate, Data: []byte(t.update)})
		}
		b.done.add(t.own)
	}()
	if err := b.savepoint("SAVEPOINT job"); err != nil {
		return outcome{err: err}
	}
	if err := j.do(t); err != nil {
		return outcome{err: err}
	}
	return outcome{err: b.savepoint("RELEASE SAVEPOINT job")}
}

// savepoint runs a statement about savepoints, if the batch has any.
func (b *batch) savepoint(statement string) error {
	if !b.careful {
		return nil
	}
	_, err := b.writer.exec(statement)
	return err
}

// commit appends the log's events and makes everything durable.
func (b *batch) commit(from string) error {
	err := b.tally()
	if err == nil {
		err = b.notifyCommitted(from)
	}
	if err == nil {
		err = b.chain()
	}
	if err != nil {
		b.rollback()
	} else if err = b.close(); err == nil && b.moved != nil {
		b.head = b.moved
	}
	failed := err != nil && !isLost(err) && !isOutrun(err)
	if failed && b.dialect.many && !b.careful {
		err = errors.Join(err, errCareful) // some job's, and the others need not fail with it
	}
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

// undo takes back all that the job did. Without a savepoint to go back to it
// gives errCareful, unless there is nothing to take back: the job has written
// nothing, and the database has not failed either (after some failures SQLite
// has ended the transaction, and what followed would be on its own).
func (t *tx) undo() error {
	t.own, t.policy, t.absences, t.update = effects{}, nil, 0, ""
	if !t.careful {
		if t.wrote || !t.refused {
			return errCareful
		}
		return nil
	}
	t.wrote = false
	return t.savepoint("ROLLBACK TO SAVEPOINT job") // and it stands for another try
}
