package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// points answers short reads on few connections, the first at once and those that
// come while all are busy together: whoever finds a connection free, or is handed
// one, takes all that wait along on one way to the server and back. An answer is
// never older than its question. Safe for concurrent use.
//
// It is a connector, because only database/sql makes rows: its connections are
// nothing, and any number of them is fine.
type points struct {
	pgConnector

	mu      sync.Mutex
	free    []*line
	waiting []*point
}

const (
	pointLines = 2
	maxPoints  = 64 // that go together
)

// line is a connection, made when it is needed.
type line struct{ conn *pgConn }

// point is one question.
type point struct {
	text   string
	values [][]byte
	rows   *pgRows
	err    error
	done   bool
	turn   chan *line // gives the connection on which it is to be asked; closed: it is answered
}

func newPoints(on pgConnector) *points {
	p := &points{pgConnector: on}
	for range pointLines {
		p.free = append(p.free, &line{})
	}
	return p
}

// Connect implements driver.Connector.
func (p *points) Connect(context.Context) (driver.Conn, error) { return pointConn{p}, nil }

// Close implements io.Closer, for [sql.DB.Close].
func (p *points) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.free {
		l.drop()
	}
	return nil
}

type pointConn struct{ *points }

// QueryContext implements driver.QueryerContext.
func (c pointConn) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	values, err := inText(args)
	if err != nil {
		return nil, err
	}
	q := &point{text: text, values: values}
	if c.ask(q); q.err != nil {
		return nil, q.err
	}
	return q.rows, nil
}

// Prepare implements driver.Conn, and nobody uses it.
func (c pointConn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("ask without preparing")
}

// Begin implements driver.Conn, and nobody uses it.
func (c pointConn) Begin() (driver.Tx, error) { return nil, errors.New("ask without a transaction") }

// Close implements driver.Conn.
func (c pointConn) Close() error { return nil }

// ask answers a question.
func (p *points) ask(q *point) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		l := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		p.lead(l, q)
		return
	}
	q.turn = make(chan *line, 1)
	p.waiting = append(p.waiting, q)
	p.mu.Unlock()
	if l, ok := <-q.turn; ok {
		p.lead(l, q)
	}
}

// lead asks the question, and with it those that wait, and passes the connection on.
func (p *points) lead(l *line, q *point) {
	p.mu.Lock()
	n := min(len(p.waiting), maxPoints-1)
	all := append([]*point{q}, p.waiting[:n]...)
	p.waiting = p.waiting[n:]
	p.mu.Unlock()
	defer func() {
		for _, q := range all[1:] {
			close(q.turn)
		}
		p.pass(l)
	}()
	l.answer(&p.pgConnector, all)
}

func (p *points) pass(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.waiting, p.free = nil, append(p.free, l)
		return
	}
	p.waiting[0].turn <- l
	p.waiting = p.waiting[1:]
}

func (l *line) drop() {
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
}

// answer answers all questions. A statement that fails fails nobody else's; a
// connection that was lost is made anew, once.
func (l *line) answer(on *pgConnector, all []*point) {
	lost := false
	for len(all) > 0 {
		err := errSilent // they may have waited for their turn until now
		if !on.pulse.silent(silentAfter) {
			err = l.open(on)
		}
		if err == nil {
			err = l.conn.points(all)
		}
		for len(all) > 0 && all[0].done {
			all = all[1:]
		}
		if err == nil || len(all) == 0 {
			continue
		}
		if l.conn != nil && !l.conn.pg.IsClosed() && !errors.Is(err, errSilent) { // the statement's own fault
			all[0].err, all = err, all[1:]
			continue
		}
		l.drop()
		if lost || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, errSilent) {
			for _, q := range all {
				q.err = err
			}
			return
		}
		lost = true
	}
}

func (l *line) open(on *pgConnector) error {
	if l.conn != nil && !l.conn.pg.IsClosed() {
		return nil
	}
	l.drop()
	c, err := on.Connect(context.Background())
	if err == nil {
		l.conn = c.(*pgConn)
	}
	return err
}

// points asks all that is asked on one way, as far as the first that fails.
func (c *pgConn) points(all []*point) error {
	var ready []*pgconn.StatementDescription
	for i, q := range all {
		d, err := c.prepare(q.text)
		if err != nil {
			if i > 0 { // it comes first the next time
				all = all[:i]
				break
			}
			return err
		}
		ready = append(ready, d)
	}
	defer c.hurry()()
	p := c.pg.StartPipeline(context.Background())
	for i, q := range all {
		p.SendQueryStatement(ready[i], q.values, nil, nil)
	}
	err := p.Sync()
	for began := time.Now(); err == nil && len(all) > 0; all = all[1:] {
		q := all[0]
		if q.rows, err = c.result(p); err != nil {
			err = fmt.Errorf("%.40q: %w", q.text, err)
			break
		}
		q.done = true
		if time.Since(began) > time.Second { // patience is for each of them
			began = time.Now()
			c.goOn()
		}
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	return err
}
