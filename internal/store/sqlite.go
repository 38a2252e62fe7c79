package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver
)

// oldestSQLite is the first version without the bug that could corrupt a
// write-ahead log used by several connections (3.7.0 to 3.51.2).
var oldestSQLite = [3]int{3, 51, 3}

// pool is a set of connections and the statements prepared on them.
type pool struct {
	db     *sql.DB
	stmts  sync.Map     // SQL text -> *sql.Stmt
	many   bool         // PostgreSQL
	size   int          // connections, of PostgreSQL's
	health *health      // nil: the database cannot be lost
	ran    atomic.Int64 // statements, of SQLite
}

// prepared gives the statement of that text.
func (p *pool) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	p.ran.Add(1)
	if st, ok := p.stmts.Load(text); ok {
		return st.(*sql.Stmt), nil
	}
	st, err := p.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("the database cannot prepare the statement %.60q: %w", text, err)
	}
	if other, had := p.stmts.LoadOrStore(text, st); had {
		st.Close()
		return other.(*sql.Stmt), nil
	}
	return st, nil
}

// queryLong runs a read that may take seconds, which SQLite gives up if ctx ends: a desk that stops does not wait for
// it.
func (p *pool) queryLong(ctx context.Context, text string, args ...any) (result, error) {
	if p.many {
		return p.query(ctx, text, args...)
	}
	st, err := p.prepared(ctx, text)
	if err != nil {
		return nil, unreadable(err)
	}
	rows, err := st.QueryContext(ctx, args...)
	return rows, unreadable(err)
}

// query runs a short read; ctx counts only before it begins.
func (p *pool) query(ctx context.Context, text string, args ...any) (result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.health.silent(silentAfter) {
		return nil, unreadable(errSilent)
	}
	ctx = context.WithoutCancel(ctx)
	if p.many {
		a, err := p.ask(ctx, text, args)
		if err != nil {
			return nil, unreadable(err) // not a result that is nil
		}
		return a, nil
	}
	st, err := p.prepared(ctx, text)
	if err != nil {
		return nil, unreadable(err)
	}
	rows, err := st.QueryContext(ctx, args...)
	return rows, unreadable(err)
}

// openFile opens a database file twice: for the one writer, and for readers that cannot
// write. A commit is on disk when it returns (synchronous FULL).
func openFile(path string) (write, read *pool, err error) {
	common := []string{"busy_timeout(5000)"}
	write, err = openPool(path, 1, append(common, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		"secure_delete(1)",             // an unsealed call leaves no bytes behind
		"cache_size(-16000)",           // at most 16 MB: a batch touches pages all over the indexes
		"temp_store(MEMORY)",           // what a savepoint may have to restore
		"journal_size_limit(33554432)", // a log that grew beside a long reader is cut again when it begins anew
		"wal_autocheckpoint(4000)",     // 16 MB: the pages that every batch writes go to the database less often
	))
	if err != nil {
		return nil, nil, err
	}
	read, err = openPool(path, max(4, runtime.NumCPU()), append(common, "query_only(1)"))
	if err != nil {
		write.db.Close()
		return nil, nil, err
	}
	return write, read, nil
}

// openMemory opens a database that is its one connection: readers and the
// writer take turns on it.
func openMemory() (*pool, error) {
	return openPool("", 1, []string{"foreign_keys(1)"})
}

func openPool(path string, size int, pragmas []string) (*pool, error) {
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	dsn := u.String()
	if path == "" {
		dsn = "file::memory:?" + u.RawQuery
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size) // never close one: a store in memory would end with it
	return &pool{db: db}, nil
}

// checkEngine refuses what the store could lose data on.
func checkEngine(ctx context.Context, p *pool, path string) error {
	var version, journal string
	if err := p.db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return fmt.Errorf("store %s cannot be opened: %w; it must be a file that this user may read and write, in a "+
			"folder in which this user may make files", path, err)
	}
	if !atLeast(version, oldestSQLite) {
		return fmt.Errorf("SQLite %s can corrupt a write-ahead log; build with 3.51.3 or newer", version)
	}
	if err := p.db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return err
	}
	if journal != "wal" {
		return fmt.Errorf("store %s has journal mode %q instead of a "+
			"write-ahead log; put it on a local file system", path, journal)
	}
	return nil
}

func atLeast(version string, oldest [3]int) bool {
	parts := strings.Split(version, ".")
	for i, want := range oldest {
		if i >= len(parts) {
			return false
		}
		if have, err := strconv.Atoi(parts[i]); err != nil || have != want {
			return err == nil && have > want
		}
	}
	return true
}

// ask reads on one of the pool's connections, and on another if that was lost.
func (p *pool) ask(ctx context.Context, text string, args []any) (a *answer, err error) {
	if err := storableArgs(args); err != nil {
		return nil, err
	}
	for range p.size + 1 {
		var c *sql.Conn
		if c, err = p.db.Conn(ctx); err != nil {
			return nil, err
		}
		lost := c.Raw(func(raw any) error {
			conn := raw.(*stdlib.Conn).Conn()
			rows, failed := conn.Query(ctx, text, args...)
			if err = failed; err == nil {
				a, err = readAnswer(rows)
			}
			if conn.IsClosed() {
				return driver.ErrBadConn
			}
			return nil
		})
		c.Close()
		if lost == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%.40q: %w", text, err)
	}
	return a, nil
}
