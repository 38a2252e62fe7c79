package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// queued is a statement whose answer no job waits for.
type queued struct {
	text string
	args []any
	must int64  // change so many rows, or anyNumber
	keep string // not empty: keep the answer under this name
}

// writer is the one connection that writes, with its prepared statements. Only
// the goroutine of [Store.Run] uses it. Its statements have no context that ends: a write
// that is cut short could take the connection with it.
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

	// For engines behind a network: see prefetch.go.
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
		w.release(!w.share) // in any state: the next transaction gets another
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
			return nil, fmt.Errorf("the database cannot prepare the statement %.60q: %w", text, err)
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
			err = errors.New("the transaction failed before its COMMIT, so the database rolled it back")
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

// query is rows, for callers that can read inside a transaction or outside.
func (w *writer) query(_ context.Context, text string, args ...any) (result, error) {
	return w.rows(text, args...)
}

// anyNumber of rows may be changed.
const anyNumber = -1

// later runs a statement before the next that is answered. When it changes another
// number of rows than it must, that one fails with errStale.
func (w *writer) later(text string, must int64, args ...any) error {
	if !w.dialect.many {
		n, err := w.exec(text, args...)
		if err == nil && must != anyNumber && n != must {
			err = errStale
		}
		return err
	}
	if err := storableArgs(args); err != nil {
		return err
	}
	w.queue = append(w.queue, queued{text: text + w.dialect.locking[text], args: args, must: must})
	return nil
}

// ask runs what is queued and then a statement, and gives its answer, which may be
// known already.
func (w *writer) ask(text string, args []any) (*answer, error) {
	if err := storableArgs(args); err != nil {
		return nil, err
	}
	text += w.dialect.locking[text]
	if len(w.kept) > 0 {
		name := keptAs(text, args)
		if a, asked := w.kept[name]; asked {
			if a == nil { // it is among what is queued
				if _, err := w.send(); err != nil {
					return nil, err
				}
				a = w.kept[name]
			}
			delete(w.kept, name)
			return a, nil
		}
	}
	return w.send(queued{text: text, args: args, must: anyNumber})
}

// send runs what is queued and then last, and gives the last answer. If a statement
// fails, all after it fail too.
func (w *writer) send(last ...queued) (a *answer, err error) {
	all := append(w.queue, last...)
	w.queue = nil
	if lost := w.conn.Raw(func(raw any) error {
		conn := raw.(*stdlib.Conn).Conn()
		if conn.IsClosed() {
			return driver.ErrBadConn
		}
		var b pgx.Batch
		for _, q := range all {
			b.Queue(q.text, q.args...)
		}
		results := conn.SendBatch(context.Background(), &b)
		a, err = w.take(results, all)
		if ended := results.Close(); err == nil {
			err = ended
		}
		return nil // its error is not for database/sql to judge
	}); lost != nil {
		return nil, driver.ErrBadConn
	}
	return a, err
}

func (w *writer) take(results pgx.BatchResults, all []queued) (a *answer, err error) {
	for _, q := range all {
		rows, err := results.Query()
		if err == nil {
			a, err = readAnswer(rows)
		}
		if err != nil {
			return nil, fmt.Errorf("%.40q: %w", q.text, err)
		}
		if n := a.tag.RowsAffected(); q.must != anyNumber && n != q.must {
			return nil, fmt.Errorf("%.40q changes %d rows: %w", q.text, n, errStale)
		}
		if _, wanted := w.kept[q.keep]; wanted {
			w.kept[q.keep] = a
		}
	}
	return a, nil
}

// keptAs names the answer to a statement with these values.
func keptAs(text string, args []any) string {
	name := []byte(text)
	for _, a := range args {
		name = fmt.Append(append(name, 0), a)
	}
	return string(name)
}

// settle makes sure that only the commit is left to be sent. COMMIT may be sent along
// with other statements only if their failure makes it fail too, and if the connection is
// known to live.
func (w *writer) settle() error {
	if !w.dialect.many {
		return nil
	}
	unsure := slices.ContainsFunc(w.queue, func(q queued) bool { return q.must != anyNumber })
	if w.met && !unsure {
		return nil
	}
	_, err := w.send()
	return err
}

// forget drops the queued statements and the prefetched answers.
func (w *writer) forget() { w.queue, w.kept = nil, nil }
