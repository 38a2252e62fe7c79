package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"approvalbot/internal/approval"
)

// pgConnector makes PostgreSQL connections for database/sql: pgx's own, with what
// this store knows of a database that may be lost or hang.
type pgConnector struct {
	config *pgx.ConnConfig
	// patience is how long one statement may take before the connection is given up, even
	// if the server is still busy with it. 0: for ever.
	patience time.Duration
	greet    string // run on every new connection, unless empty
	reads    bool   // these connections never write
	health   *health
}

// Connect implements driver.Connector.
func (c *pgConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.reads && c.health.silent(silentAfter) {
		return nil, errSilent
	}
	config := c.config.Copy()
	config.Tracer = watch{c.patience, c.health}
	greet := func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, c.greet)
		return err
	}
	// A ping would have no time limit: whether a connection lives is seen when it is
	// used.
	never := func(context.Context, stdlib.ShouldPingParams) bool { return false }
	c.health.asks(nil)
	conn, err := stdlib.GetConnector(*config, stdlib.OptionAfterConnect(greet),
		stdlib.OptionShouldPing(never)).Connect(ctx)
	c.health.ends(nil, err == nil || state(err) != "")
	if err != nil {
		return nil, connectFailure(err)
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c *pgConnector) Driver() driver.Driver { return stdlib.GetDefaultDriver() }

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

// watch gives a connection up when a question on it takes longer than its patience, and
// tells health of questions and answers. It implements pgx's tracers.
type watch struct {
	patience time.Duration
	health   *health
}

// asking is the context key of a question. A statement that is part of another question,
// as preparing can be, gets no question of its own.
type asking struct{}

func (w watch) begin(ctx context.Context, conn *pgx.Conn, commits bool) context.Context {
	var q *question
	if w.patience > 0 && ctx.Value(asking{}) == nil {
		q = &question{conn, commits}
		w.health.asks(q)
		conn.PgConn().Conn().SetDeadline(time.Now().Add(w.patience))
	}
	return context.WithValue(ctx, asking{}, q)
}

func (w watch) end(ctx context.Context, conn *pgx.Conn) {
	q, _ := ctx.Value(asking{}).(*question)
	if q == nil {
		return
	}
	answered := !conn.IsClosed()
	w.health.ends(q, answered)
	if answered {
		conn.PgConn().Conn().SetDeadline(time.Time{})
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (w watch) TraceQueryStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return w.begin(ctx, conn, d.SQL == "COMMIT")
}

// TraceQueryEnd implements pgx.QueryTracer.
func (w watch) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, _ pgx.TraceQueryEndData) {
	w.end(ctx, conn)
}

// TracePrepareStart implements pgx.PrepareTracer.
func (w watch) TracePrepareStart(ctx context.Context, conn *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return w.begin(ctx, conn, false)
}

// TracePrepareEnd implements pgx.PrepareTracer.
func (w watch) TracePrepareEnd(ctx context.Context, conn *pgx.Conn, _ pgx.TracePrepareEndData) {
	w.end(ctx, conn)
}

// TraceBatchStart implements pgx.BatchTracer.
func (w watch) TraceBatchStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	all := d.Batch.QueuedQueries
	return w.begin(ctx, conn, len(all) > 0 && all[len(all)-1].SQL == "COMMIT")
}

// TraceBatchQuery implements pgx.BatchTracer: patience is for each answer.
func (w watch) TraceBatchQuery(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchQueryData) {
	if q, _ := ctx.Value(asking{}).(*question); q != nil && !conn.IsClosed() {
		w.health.answer()
		conn.PgConn().Conn().SetDeadline(time.Now().Add(w.patience))
	}
}

// TraceBatchEnd implements pgx.BatchTracer.
func (w watch) TraceBatchEnd(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchEndData) {
	w.end(ctx, conn)
}

// storable reports whether PostgreSQL can hold a text.
func storable(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

// storableArgs refuses text that PostgreSQL cannot hold before it gets there.
func storableArgs(args []any) error {
	for _, a := range args {
		if s, is := a.(string); is && !storable(s) {
			return approval.Refuse(approval.CodeInvalidRequest,
				"Text with a NUL character or invalid UTF-8 in it cannot be stored or searched for.")
		}
	}
	return nil
}

// answer is a result of PostgreSQL's, read to its end: so a lost connection fails the
// call that runs the statement, and no later one.
type answer struct {
	rows [][]any
	at   int // after the current row
	tag  pgconn.CommandTag
}

func readAnswer(rows pgx.Rows) (*answer, error) {
	a := &answer{}
	defer rows.Close()
	for rows.Next() {
		row, err := rows.Values()
		if err != nil {
			return nil, err
		}
		a.rows = append(a.rows, row)
	}
	a.tag = rows.CommandTag()
	return a, rows.Err()
}

// Next implements result.
func (a *answer) Next() bool {
	a.at++
	return a.at <= len(a.rows)
}

// Scan implements result.
func (a *answer) Scan(dest ...any) error {
	row := a.rows[a.at-1]
	if len(dest) != len(row) {
		return fmt.Errorf("the database gave %d columns, but %d were expected; this is an error in approvalbot; "+
			"please report it", len(row), len(dest))
	}
	for i, d := range dest {
		v := row[i]
		if n, small := v.(int32); small {
			v = int64(n)
		}
		switch d := d.(type) {
		case *any:
			*d = v
		case sql.Scanner:
			if err := d.Scan(v); err != nil {
				return err
			}
		default:
			return fmt.Errorf("column %d cannot be read as %T; this is an error in approvalbot; please report "+
				"it", i+1, d)
		}
	}
	return nil
}

// Err implements result.
func (a *answer) Err() error { return nil }

// Close implements result.
func (a *answer) Close() error { return nil }

// Bounds of what a statement may take on the server, and then of how long the
// connection is waited for. A change that conflicts with another instance's waits for
// that one's commit, which is short. If that takes longer, two may be waiting for each
// other (what is locked in the middle of a batch, such as grants, is locked in no order),
// and trying again is quicker than PostgreSQL's search for deadlocks.
const (
	lockPatience      = 500 * time.Millisecond
	statementPatience = 3 * time.Second
	networkPatience   = 4 * time.Second
	connectPatience   = 2 * time.Second
	queuePatience     = 2 * time.Second  // of a change that is queued and not begun
	openPatience      = 15 * time.Second // while the desk starts, no caller waits for an answer
)
