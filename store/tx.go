package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"approvalbot/core"
)

// querier runs a read: a pool outside of any transaction, a tx inside one.
type querier interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// batch is one transaction with the jobs it carries. Its context never ends: a
// write that is cut short could take the connection with it.
type batch struct {
	ctx    context.Context
	pool   *pool
	tx     *sql.Tx
	stmts  map[string]*sql.Stmt
	unseen []string // texts that the pool has not prepared yet
	failed error    // the transaction is lost
	wrote  bool

	events []core.Event  // of the jobs that succeeded, in order
	chats  []core.Target // whose due deliveries they changed
}

// tx is the transaction as one job sees it: nothing of it stays if the job fails.
type tx struct {
	*batch
	keys   keyring
	saved  bool // the savepoint stands
	events []core.Event
	chats  []core.Target
}

func (s *Store) begin() (*batch, error) {
	b := &batch{ctx: context.Background(), pool: s.write, stmts: map[string]*sql.Stmt{}}
	b.tx, b.failed = s.write.db.BeginTx(b.ctx, nil)
	if b.failed != nil {
		return nil, fmt.Errorf("no transaction could begin: %w", b.failed)
	}
	return b, nil
}

// run carries out one job under its own savepoint.
func (b *batch) run(j *job, keys keyring) (o outcome) {
	if b.failed != nil {
		return outcome{err: b.failed}
	}
	t := &tx{batch: b, keys: keys}
	defer func() {
		if o.panicked = recover(); o.panicked != nil || o.err != nil {
			b.fail(t.undo())
			return
		}
		b.events = append(b.events, t.events...)
		b.chats = append(b.chats, t.chats...)
	}()
	if err := j.do(t); err != nil {
		return outcome{err: err}
	}
	if t.saved {
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

// exec is the batch's, under the job's savepoint: jobs that write nothing do
// without one.
func (t *tx) exec(text string, args ...any) (int64, error) {
	if !t.saved {
		if _, err := t.batch.exec("SAVEPOINT job"); err != nil {
			return 0, err
		}
		t.saved = true
	}
	return t.batch.exec(text, args...)
}

// undo takes back all that the job did.
func (t *tx) undo() error {
	t.events, t.chats = nil, nil
	if !t.saved {
		return nil
	}
	t.saved = false
	if _, err := t.batch.exec("ROLLBACK TO SAVEPOINT job"); err != nil {
		return err
	}
	_, err := t.batch.exec("RELEASE SAVEPOINT job")
	return err
}
