package store

import (
	"context"
	"database/sql"
	"errors"
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

// batch is one transaction with the jobs it carries. Its context never ends: a
// write that is cut short could take the connection with it.
type batch struct {
	ctx     context.Context
	pool    *pool
	tx      *sql.Tx
	stmts   map[string]*sql.Stmt
	unseen  []string // texts that the pool has not prepared yet
	failed  error    // the transaction is lost
	wrote   bool
	careful bool // every job that writes has a savepoint

	counted map[string]int // an owner's pending approvals when the batch began

	done effects // of the jobs that succeeded
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

func (s *Store) begin(careful bool) (*batch, error) {
	b := &batch{ctx: context.Background(), pool: s.write, stmts: map[string]*sql.Stmt{}, counted: map[string]int{}, careful: careful}
	b.tx, b.failed = s.write.db.BeginTx(b.ctx, nil)
	if b.failed != nil {
		return nil, fmt.Errorf("no transaction could begin: %w", b.failed)
	}
	return b, nil
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

// commit appends the log's events, makes everything durable, and prepares for
// next time what had to be prepared on the way.
func (b *batch) commit() error {
	if b.failed == nil {
		b.failed = b.tally()
	}
	if b.failed == nil {
		b.failed = b.chain()
	}
	if b.failed != nil {
		return errors.Join(b.failed, b.tx.Rollback())
	}
	if err := b.tx.Commit(); err != nil {
		return err
	}
	for _, text := range b.unseen {
		b.pool.prepared(b.ctx, text) // it has just worked; if not, it is prepared again
	}
	return nil
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

// stmt gives the statement of that text, on this transaction's connection.
func (b *batch) stmt(text string) (*sql.Stmt, error) {
	if st := b.stmts[text]; st != nil {
		return st, nil
	}
	var st *sql.Stmt
	var err error
	if known, ok := b.pool.stmts.Load(text); ok {
		st = b.tx.StmtContext(b.ctx, known.(*sql.Stmt))
	} else if st, err = b.tx.PrepareContext(b.ctx, text); err != nil {
		return nil, fmt.Errorf("preparing %.60q: %w", text, err)
	} else {
		b.unseen = append(b.unseen, text)
	}
	b.stmts[text] = st
	return st, nil
}

func (b *batch) query(_ context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := b.stmt(text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(b.ctx, args...)
}

// exec runs a statement and gives the number of rows it changed.
func (b *batch) exec(text string, args ...any) (int64, error) {
	st, err := b.stmt(text)
	if err != nil {
		return 0, err
	}
	b.wrote = true
	res, err := st.ExecContext(b.ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("%.40q: %w", text, err)
	}
	return res.RowsAffected()
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
	return t.query(t.ctx, text, args...)
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
