package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"approvalbot/core"
)

// pgConnector makes PostgreSQL connections for database/sql, with no more than
// this package's statements need: text, whole numbers and booleans, in text
// form. Every result is read to its end before it is handed out, so a lost
// connection shows where the statement is run and nowhere else.
type pgConnector struct {
	config *pgconn.Config
	// patience is how long one statement may take before the connection is given
	// up, whatever the server does. 0: for ever.
	patience time.Duration
	greet    string // run on every new connection, unless empty
	reads    bool   // what is run on these connections may be run twice
	pulse    *pulse
}

// Connect implements driver.Connector.
func (c *pgConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.reads && c.pulse.silent(silentAfter) {
		return nil, errSilent
	}
	c.pulse.asks(nil)
	pg, err := pgconn.ConnectConfig(ctx, c.config)
	c.pulse.ends(nil, err == nil || state(err) != "")
	if err != nil {
		return nil, connectFailure(err)
	}
	conn := &pgConn{pg: pg, patience: c.patience, reads: c.reads, pulse: c.pulse}
	if c.greet != "" {
		if _, err := conn.ExecContext(ctx, c.greet, nil); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// noConnection is why no connection could be made.
type noConnection struct {
	text  string // without the URL, which may hold the password
	early bool   // the server starts, recovers, or does not listen yet
}

func (e *noConnection) Error() string { return e.text }

// isEarly reports whether a server may take connections soon.
func isEarly(err error) bool {
	var none *noConnection
	return errors.As(err, &none) && none.early
}

func connectFailure(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		early := strings.HasPrefix(refused.Code, "57P") // 57P03 while it starts, 57P02 as it comes down
		return &noConnection{"PostgreSQL refuses the connection: " + refused.Message, early}
	}
	early := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ENOENT)
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	// One cause for each way that was tried, a line each: most are the same.
	causes := slices.Compact(strings.Split(err.Error(), "\n"))
	return &noConnection{"PostgreSQL cannot be reached: " + strings.Join(causes, "; "), early}
}

// Driver implements driver.Connector.
func (c *pgConnector) Driver() driver.Driver { return pgDriver{} }

type pgDriver struct{}

// Open implements driver.Driver, which nobody uses: there is always a connector.
func (pgDriver) Open(string) (driver.Conn, error) { return nil, errors.New("open a connector instead") }

// pgConn is one connection.
type pgConn struct {
	pg       *pgconn.PgConn
	patience time.Duration
	reads    bool
	pulse    *pulse
	commits  atomic.Bool // what is under way is a commit

	// Of the connection that writes: see ahead.go.
	stmts map[string]*pgconn.StatementDescription // by text
	queue []queued                                // to be sent with the next statement
	kept  map[string]*pgRows                      // answers to what will be asked; nil: not yet known
}

// queued is a statement whose answer nobody waits for.
type queued struct {
	desc   *pgconn.StatementDescription
	values [][]byte
	must   int64  // change so many rows, or anyNumber
	keep   string // not empty: keep the answer under this name
}

// lost turns the error of a connection that was lost while it read into the one
// that makes database/sql try another.
func (c *pgConn) lost(err error) error {
	if err != nil && c.reads && c.pg.IsClosed() && !errors.Is(err, os.ErrDeadlineExceeded) {
		return driver.ErrBadConn
	}
	return err
}

// Prepare implements driver.Conn.
func (c *pgConn) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *pgConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if c.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	d, err := c.prepare(text)
	if err != nil {
		return nil, c.lost(err)
	}
	return &pgStmt{c, d}, nil
}

// prepare gives the statement of that text, prepared once.
func (c *pgConn) prepare(text string) (*pgconn.StatementDescription, error) {
	if d := c.stmts[text]; d != nil {
		return d, nil
	}
	defer c.hurry()()
	d, err := c.pg.Prepare(context.Background(), "s"+strconv.Itoa(len(c.stmts)+1), text, nil)
	if err != nil {
		return nil, fmt.Errorf("preparing %.60q: %w", text, err)
	}
	if c.stmts == nil {
		c.stmts = map[string]*pgconn.StatementDescription{}
	}
	c.stmts[text] = d
	return d, nil
}

// send runs what is queued and then last, unless nil, and gives last's rows. The
// first statement that fails fails all that come after it.
func (c *pgConn) send(last *queued) (rows *pgRows, err error) {
	all := c.queue
	c.queue = nil
	if last != nil {
		all = append(all, *last)
	}
	if c.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	defer c.hurry()()
	p := c.pg.StartPipeline(context.Background())
	for _, q := range all {
		p.SendQueryStatement(q.desc, q.values, nil, nil)
	}
	err = p.Sync()
	for began := time.Now(); err == nil && len(all) > 0; all = all[1:] {
		q := all[0]
		if rows, err = c.result(p); err != nil {
			err = fmt.Errorf("%.40q: %w", q.desc.SQL, err)
			break
		}
		if q.must != anyNumber && rows.affected != q.must {
			err = fmt.Errorf("%.40q changes %d rows: %w", q.desc.SQL, rows.affected, errStale)
			break
		}
		if _, wanted := c.kept[q.keep]; wanted {
			c.kept[q.keep] = rows
		}
		if time.Since(began) > time.Second { // patience is for each of them
			began = time.Now()
			c.goOn()
		}
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	return rows, err
}

func (c *pgConn) result(p *pgconn.Pipeline) (*pgRows, error) {
	got, err := p.GetResults()
	if err != nil {
		return nil, err
	}
	r, ok := got.(*pgconn.ResultReader)
	if !ok {
		return nil, fmt.Errorf("a statement is answered by %T", got)
	}
	return readRows(r)
}

// keptAs names the answer to a statement with these values.
func keptAs(text string, values [][]byte) string {
	name := []byte(text)
	for _, v := range values {
		name = append(append(name, 0), v...)
	}
	return string(name)
}

// hurry gives the connection up when what follows takes too long.
func (c *pgConn) hurry() (done func()) {
	if c.patience == 0 {
		return func() {}
	}
	c.pulse.asks(c)
	c.pg.Conn().SetDeadline(time.Now().Add(c.patience))
	return func() {
		answered := !c.pg.IsClosed()
		c.pulse.ends(c, answered)
		if answered {
			c.pg.Conn().SetDeadline(time.Time{})
		}
	}
}

// goOn is hurry's patience anew, after a part of the answer.
func (c *pgConn) goOn() {
	c.pulse.hears()
	c.pg.Conn().SetDeadline(time.Now().Add(c.patience))
}

// Close implements driver.Conn.
func (c *pgConn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbyeFor)
	defer cancel()
	return c.pg.Close(ctx)
}

// Begin implements driver.Conn.
func (c *pgConn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *pgConn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	_, err := c.ExecContext(ctx, "BEGIN", nil)
	return pgTx{c}, err
}

type pgTx struct{ conn *pgConn }

// Commit implements driver.Tx.
func (t pgTx) Commit() error {
	_, err := t.conn.ExecContext(context.Background(), "COMMIT", nil)
	return err
}

// Rollback implements driver.Tx.
func (t pgTx) Rollback() error {
	_, err := t.conn.ExecContext(context.Background(), "ROLLBACK", nil)
	return err
}

// IsValid implements driver.Validator: a lost connection is not used again.
func (c *pgConn) IsValid() bool { return !c.pg.IsClosed() }

// Ping implements driver.Pinger.
func (c *pgConn) Ping(ctx context.Context) error {
	if c.pg.IsClosed() {
		return driver.ErrBadConn
	}
	defer c.hurry()()
	return c.pg.Ping(ctx)
}

// ExecContext implements driver.ExecerContext. Without arguments text may hold
// several statements.
func (c *pgConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) > 0 {
		rows, err := c.query(ctx, text, args)
		if err != nil {
			return nil, err
		}
		return driver.RowsAffected(rows.affected), nil
	}
	if c.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	defer c.hurry()()
	all, err := c.pg.Exec(ctx, text).ReadAll()
	if err != nil || len(all) == 0 {
		return driver.RowsAffected(0), err
	}
	return driver.RowsAffected(all[len(all)-1].CommandTag.RowsAffected()), nil
}

// QueryContext implements driver.QueryerContext.
func (c *pgConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(ctx, text, args)
}

func (c *pgConn) query(ctx context.Context, text string, args []driver.NamedValue) (*pgRows, error) {
	if c.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	values, err := inText(args)
	if err != nil {
		return nil, err
	}
	defer c.hurry()()
	rows, err := readRows(c.pg.ExecParams(ctx, text, values, nil, nil, nil))
	return rows, c.lost(err)
}

// pgStmt is a prepared statement.
type pgStmt struct {
	conn *pgConn
	desc *pgconn.StatementDescription
}

// Close implements driver.Stmt.
func (s *pgStmt) Close() error {
	return nil // another may be of the same text; it ends with its connection
}

// NumInput implements driver.Stmt.
func (s *pgStmt) NumInput() int { return len(s.desc.ParamOIDs) }

// Exec implements driver.Stmt, which nobody uses: see ExecContext.
func (s *pgStmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements driver.Stmt, which nobody uses: see QueryContext.
func (s *pgStmt) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// ExecContext implements driver.StmtExecContext.
func (s *pgStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if s.desc.SQL == "COMMIT" {
		s.conn.commits.Store(true)
		defer s.conn.commits.Store(false)
	}
	rows, err := s.run(ctx, args)
	if err != nil {
		return nil, err
	}
	if s.desc.SQL == "COMMIT" && rows.tag == "ROLLBACK" {
		return nil, errors.New("the transaction had failed before, so COMMIT rolled it back")
	}
	return driver.RowsAffected(rows.affected), nil
}

// QueryContext implements driver.StmtQueryContext.
func (s *pgStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.run(ctx, args)
}

func (s *pgStmt) run(ctx context.Context, args []driver.NamedValue) (*pgRows, error) {
	if s.conn.pg.IsClosed() {
		return nil, driver.ErrBadConn
	}
	values, err := inText(args)
	if err != nil {
		return nil, err
	}
	c := s.conn
	if len(c.kept) > 0 {
		name := keptAs(s.desc.SQL, values)
		if rows, asked := c.kept[name]; asked {
			if rows == nil { // it is among what is queued
				if _, err := c.send(nil); err != nil {
					return nil, err
				}
				rows = c.kept[name]
			}
			delete(c.kept, name)
			return rows, nil
		}
	}
	if len(c.queue) > 0 {
		return c.send(&queued{desc: s.desc, values: values, must: anyNumber})
	}
	defer c.hurry()()
	rows, err := readRows(c.pg.ExecStatement(ctx, s.desc, values, nil, nil))
	return rows, c.lost(err)
}

// storable reports whether PostgreSQL can hold a text.
func storable(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

// inText gives arguments in PostgreSQL's text form. Text that PostgreSQL cannot
// hold is refused before it gets there.
func inText(args []driver.NamedValue) ([][]byte, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		switch v := a.Value.(type) {
		case nil:
		case int64:
			values[i] = strconv.AppendInt(nil, v, 10)
		case bool:
			values[i] = strconv.AppendBool(nil, v)
		case string:
			if !storable(v) {
				return nil, core.Refuse(core.CodeInvalidRequest, "Text with a NUL character or invalid UTF-8 in it cannot be stored or looked for.")
			}
			values[i] = []byte(v)
		default:
			return nil, fmt.Errorf("argument %d is %T, which this store never writes", i+1, v)
		}
	}
	return values, nil
}

// pgRows is a result, read to its end.
type pgRows struct {
	columns  []string
	values   [][]driver.Value
	affected int64
	tag      string
}

func readRows(r *pgconn.ResultReader) (*pgRows, error) {
	rows := &pgRows{}
	fields := r.FieldDescriptions()
	for _, f := range fields {
		rows.columns = append(rows.columns, f.Name)
	}
	for r.NextRow() {
		row := make([]driver.Value, len(fields))
		for i, b := range r.Values() {
			if b == nil {
				continue
			}
			var err error
			if row[i], err = value(fields[i].DataTypeOID, b); err != nil {
				r.Close()
				return nil, err
			}
		}
		rows.values = append(rows.values, row)
	}
	tag, err := r.Close()
	rows.tag, rows.affected = tag.String(), tag.RowsAffected()
	return rows, err
}

// value reads a column in text form; what is no number and no truth is text.
func value(oid uint32, b []byte) (driver.Value, error) {
	switch oid {
	case 20, 21, 23: // bigint, smallint, integer
		return strconv.ParseInt(string(b), 10, 64)
	case 16: // boolean
		return string(b) == "t", nil
	}
	return string(b), nil
}

// Columns implements driver.Rows.
func (r *pgRows) Columns() []string { return r.columns }

// Close implements driver.Rows.
func (r *pgRows) Close() error { return nil }

// Next implements driver.Rows.
func (r *pgRows) Next(dest []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(dest, r.values[0])
	r.values = r.values[1:]
	return nil
}
