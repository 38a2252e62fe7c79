package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"approvalbot/core"
)

// querier runs a read: a pool outside of any transaction, a tx inside one.
type querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// batch is one transaction with the jobs it carries.
type batch struct {
	*writer
	careful bool  // every job that writes has a savepoint
	failed  error // the transaction is lost
	wrote   bool

	counted map[string]int // an owner's pending approvals when the batch began
	done    effects        // of the jobs that succeeded
}

// effects is what jobs leave to be done for the whole batch.
type effects struct {
	events  []core.Event   // to append to the log, in order
	chats   []core.Target  // whose due deliveries changed
	pending map[string]int // by how many the owner's pending approvals grew
}

func (e *effects) add(o effects) {
	e.events = append(e.events, o.events...)
	e.chats = append(e.chats, o.chats...)
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
	own      effects // of this job
	keys     keyring
	freeCode string // looked up, and nobody's
	wrote    bool   // and, if the batch is careful, the savepoint stands
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
		return outcome{err: b.failed}
	}
	t := &tx{batch: b, keys: keys}
	defer func() {
		if o.panicked = recover(); o.panicked != nil {
			o.stack = debug.Stack()
		}
		if o.panicked != nil || o.err != nil {
			b.fail(t.undo())
			return
		}
		b.done.add(t.own)
	}()
	if err := j.do(t); err != nil {
		return outcome{err: err}
	}
	if t.wrote && b.careful {
		_, err := b.exec("RELEASE SAVEPOINT job")
		return outcome{err: err}
	}
	return outcome{}
}

func (b *batch) fail(err error) {
	if b.failed == nil {
		b.failed = err
	}
}

// commit appends the log's events and makes everything durable.
func (b *batch) commit() error {
	if b.failed == nil {
		b.failed = b.tally()
	}
	if b.failed == nil {
		b.failed = b.chain()
	}
	if b.failed != nil {
		b.rollback()
		return b.failed
	}
	return b.close("COMMIT")
}

const growOwner = `INSERT INTO owners (owner, pending) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET pending = owners.pending + excluded.pending`

// tally writes how many pending approvals owners have now, in one order for all
// writers.
func (b *batch) tally() error {
	for _, owner := range slices.Sorted(maps.Keys(b.done.pending)) {
		if n := b.done.pending[owner]; n != 0 {
			if _, err := b.exec(growOwner, owner, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// exec runs a statement and gives the number of rows it changed.
func (b *batch) exec(text string, args ...any) (int64, error) {
	b.wrote = true
	return b.writer.exec(text, args...)
}

// exec is the batch's, under the job's savepoint where there is one.
func (t *tx) exec(text string, args ...any) (int64, error) {
	if err := t.begun(); err != nil {
		return 0, err
	}
	return t.batch.exec(text, args...)
}

// change is exec for a statement that returns rows.
func (t *tx) change(text string, args ...any) (*sql.Rows, error) {
	if err := t.begun(); err != nil {
		return nil, err
	}
	t.batch.wrote = true
	return t.rows(text, args...)
}

// begun notes that the job writes.
func (t *tx) begun() error {
	if !t.wrote && t.careful {
		if _, err := t.batch.exec("SAVEPOINT job"); err != nil {
			return err
		}
	}
	t.wrote = true
	return nil
}

// undo takes back all that the job did.
func (t *tx) undo() error {
	t.own = effects{}
	if !t.wrote {
		return nil
	}
	if !t.careful {
		return errCareful
	}
	t.wrote = false
	if _, err := t.batch.exec("ROLLBACK TO SAVEPOINT job"); err != nil {
		return err
	}
	_, err := t.batch.exec("RELEASE SAVEPOINT job")
	return err
}
