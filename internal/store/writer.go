package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
)

// writer is the one connection that writes, with its prepared statements. Only
// the goroutine of [Store.Run] uses it. Nothing on it has a context that ends: a
// write that is cut short could take the connection with it.
type writer struct {
	db      *sql.DB
	build   string // of this program
	dialect dialect
	granted *grantNames
	share   bool // give the connection back after every transaction: readers need it too
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt
	head    *logHead     // of the log; nil: not known
	ran     atomic.Int64 // statements, of SQLite
	met     bool         // something has been answered since the transaction began

	// Where there are ways to a server: see prefetch.go.
	queue []queued           // to be sent with the next statement
	kept  map[string]*answer // to what will be asked; nil: not yet known
}

// open begins a transaction.
func (w *writer) open() (err error) {
	if w.conn == nil {
		if w.conn, err = w.db.Conn(context.Background()); err != nil {
			return err
		}
		w.stmts = map[string]*sql.Stmt{}
	}
	w.met = false
	if err = w.later(w.dialect.begin, anyNumber); err != nil {
		w.release(!w.share) // whatever state it is in: the next transaction has another
	}
	return err
}

// close ends the transaction by COMMIT; if that fails, or it ended by itself
// before, by ROLLBACK, as far as there is anything left to roll back.
func (w *writer) close() error {
	if err := w.settle(); err != nil {
		w.rollback()
		return err
	}
	_, err := w.exec("COMMIT")
	if err != nil {
		if isLost(err) {
			err = errors.Join(errFate, err)
		}
		w.rollback()
	} else if w.share {
		w.release(false)
	}
	return err
}

func (w *writer) rollback() {
	w.forget()
	_, err := w.exec("ROLLBACK") // fails if the transaction has ended, which is as good
	if w.share {
		w.release(false)
	} else if err != nil && w.dialect.many {
		w.release(true)
	}
}

// release gives the connection back, to be used by others or to be dropped.
func (w *writer) release(drop bool) {
	if w.conn == nil {
		return
	}
	for _, st := range w.stmts {
		st.Close()
	}
	if drop {
		w.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	w.conn.Close()
	w.conn, w.stmts = nil, nil
	w.forget()
}

// stmt gives the statement of that text, prepared once.
func (w *writer) stmt(text string) (*sql.Stmt, error) {
	w.ran.Add(1)
	st := w.stmts[text]
	if st == nil {
		var err error
		if st, err = w.conn.PrepareContext(context.Background(), text); err != nil {
			return nil, fmt.Errorf("preparing %.60q: %w", text, err)
		}
		w.stmts[text] = st
	}
	return st, nil
}

// exec runs a statement and gives the number of rows it changed.
func (w *writer) exec(text string, args ...any) (int64, error) {
	w.met = true
	if w.dialect.many {
		a, err := w.ask(text, args)
		if err == nil && text == "COMMIT" && a.tag.String() == "ROLLBACK" {
			err = errors.New("the transaction had failed before, so COMMIT rolled it back")
		}
		if err != nil {
			return 0, err
		}
		return a.tag.RowsAffected(), nil
	}
	st, err := w.stmt(text)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, fmt.Errorf("%.40q: %w", text, err)
	}
	return res.RowsAffected()
}

// rows runs a statement that gives rows; the caller closes them.
func (w *writer) rows(text string, args ...any) (result, error) {
	w.met = true
	if w.dialect.many {
		a, err := w.ask(text, args)
		if err != nil {
			return nil, err // not a result that is nil
		}
		return a, nil
	}
	st, err := w.stmt(text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(context.Background(), args...)
}

// query is rows for those who can read inside a transaction or outside.
func (w *writer) query(_ context.Context, text string, args ...any) (result, error) {
	return w.rows(text, args...)
}
