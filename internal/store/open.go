package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Options says where a store is.
type Options struct {
	// URL is sqlite:<path>, or postgres://user:password@host:port/database with
	// the parameters that libpq knows, or sqlite::memory: for a store that lives
	// as long as the process (tests).
	URL string
	// KeyFile holds the key that seals calls: 32 bytes, raw or in hex, readable
	// by its owner alone. It is made together with a new store. Only a store in
	// memory may go without: it then makes a key of its own. All instances on one
	// database need the same.
	KeyFile string
	// Version is the program's, for [Store.Instances].
	Version string
	// Wait is how long a PostgreSQL is waited for that is starting, recovers, or takes
	// no connections yet. 0: not at all.
	Wait time.Duration
	// Build names what the program judges by, whatever it is configured to:
	// see [Store.Agree].
	Build string
	// Log gets what no caller can be told. Nil discards it.
	Log *slog.Logger
}

// Store is an open store. It is the [core.Stores], the outbox that the
// dispatcher drains and the inbox that the bots fill. Safe for concurrent use.
//
// Writes are carried out by [Store.Run] and wait until it runs. A write that
// returns nil is on disk; one that returns an error has written nothing, unless
// the error says that its fate is unknown: the caller's context ended between
// the change being made and its commit. The functions given to Create and
// Update never run after the call has returned.
//
// Reads check their context when they begin and are then too short to interrupt.
type Store struct {
	log       *slog.Logger
	lock      *os.File // of SQLite's file
	dialect   dialect
	schema    int64
	write     *pool // one connection, which the writer holds
	read      *pool // in memory the same as write
	writer    writer
	keys      keyring
	due       dueQueue
	answering answering
	posted    posted

	heartbeat heartbeat
	version   string
	build     string
	started   int64
	listen    *pgx.ConnConfig // for the connection that hears of others' changes
	opened    int64           // the log's newest entry then, for the same
	health    *health         // nil with SQLite

	jobs    chan *job
	running atomic.Bool
	closing chan struct{} // Close was called
	ended   chan struct{} // no job will run any more
	once    sync.Once
	put     bool         // it was put back from a backup, see [Store.PutBack]
	damage  *Damage      // of the write-ahead log that was found
	broken  atomic.Bool  // something could not be written, and nothing has been since
	wroteMs atomic.Int64 // when something was written last
}

// CoreStores gives the store as what a [core.Gate] keeps things in.
func (s *Store) CoreStores() core.Stores {
	return core.Stores{Changes: s, Queries: s, GrantStore: s, CallStore: s, DigestStore: s, AbsenceStore: s}
}

// Open opens the store, makes it if it is new, and brings an older schema up to
// date. It refuses a store that another process has open, a schema that is newer
// than the program, and a key that is missing, readable by others or not this
// store's. It starts nothing: see [Store.Run].
func Open(ctx context.Context, o Options) (_ *Store, err error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	s := &Store{
		heartbeat: newHeartbeat(id.String()),
		log:       o.Log,
		due:       dueQueue{known: map[approval.Target]*chat{}},
		posted:    posted{known: map[message]approval.Delivery{}, more: make(chan struct{})},
		version:   o.Version,
		build:     o.Build,
		started:   nowMs(),
		jobs:      make(chan *job, maxBatch),
		closing:   make(chan struct{}),
		ended:     make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	switch path, ok := strings.CutPrefix(o.URL, "sqlite:"); {
	case ok && path == memory:
		err = s.openMemory(ctx, o)
	case ok && path != "":
		err = s.openFile(ctx, path, o)
	case strings.HasPrefix(o.URL, "postgres://"), strings.HasPrefix(o.URL, "postgresql://"):
		err = s.openPostgres(ctx, o)
	default:
		err = errors.New("the store's URL is neither sqlite:<path> nor postgres://…")
	}
	if err != nil {
		return nil, err
	}
	s.due.alone, s.due.keys, s.due.fail = !s.dialect.many, s.keys, s.failDoubted
	w := &s.writer
	w.db, w.build, w.dialect, w.share = s.write.db, s.build, s.dialect, s.read == s.write
	return s, nil
}

// memory is the path of a store that has no file.
const memory = ":memory:"

func (s *Store) openMemory(ctx context.Context, o Options) (err error) {
	s.dialect = sqlite
	if s.write, err = openMemory(); err != nil {
		return err
	}
	s.read = s.write
	return s.prepare(ctx, s.write, memory, o.KeyFile)
}

func (s *Store) openFile(ctx context.Context, path string, o Options) (err error) {
	s.dialect = sqlite
	if path, err = realPath(path); err != nil {
		return err
	}
	if s.lock, err = lockFile(path + ".lock"); err != nil {
		return err
	}
	if err = makeFile(path); err != nil {
		return err
	}
	if s.damage, err = walDamage(path); err != nil {
		return err
	}
	if s.write, s.read, err = openFile(path); err != nil {
		return err
	}
	if err = checkEngine(ctx, s.write, path); err != nil {
		return err
	}
	if err = s.afterDamage(ctx, path); err != nil {
		return err
	}
	return s.prepare(ctx, s.write, path, o.KeyFile)
}

// afterDamage says what the write-ahead log has lost, and refuses a database that is not
// whole without that. It ends the log, lest the next start finds the same again.
func (s *Store) afterDamage(ctx context.Context, path string) error {
	if s.damage == nil {
		return nil
	}
	level := slog.LevelError
	if s.damage.LastOnly {
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, s.damage.String(), "store", path)
	var found string
	err := s.write.db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found)
	if err != nil || found != "ok" {
		return fmt.Errorf("store %s is not whole, because %s; restore a backup", path, s.damage)
	}
	_, err = s.write.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// Lost gives what the write-ahead log that Open found had lost; nil: nothing.
func (s *Store) Lost() *Damage { return s.damage }

// realPath gives the one name of a database file, so that two ways to write it
// meet at the same lock.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("store %s: its folder cannot be found; make it with: mkdir -p %s", path, filepath.Dir(path))
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// makeFile makes a new database file for its owner's eyes only. SQLite would let
// the umask decide; its side files copy the mode.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store %s cannot be made: %w", path, err)
	}
	return f.Close()
}

// Close ends the store: [Store.Run] finishes what is queued, later writes are
// refused, and the lock is given up. Call it last, when nothing reads any more.
// A second call does nothing.
func (s *Store) Close() error {
	var errs []error
	s.once.Do(func() {
		close(s.closing)
		if s.running.Swap(true) {
			<-s.ended
		} else {
			close(s.ended)
		}
		if s.read != nil && s.read != s.write {
			errs = append(errs, s.read.db.Close())
		}
		if s.write != nil {
			errs = append(errs, s.write.db.Close())
		}
		if s.lock != nil {
			errs = append(errs, s.lock.Close())
		}
	})
	return errors.Join(errs...)
}

// Statements is how many statements SQLite was given since the store was opened, BEGIN and COMMIT
// among them; of PostgreSQL it does not count. Package costs holds what a step takes.
func (s *Store) Statements() int64 {
	n := s.writer.ran.Load() + s.read.ran.Load()
	if s.read != s.write {
		n += s.write.ran.Load()
	}
	return n
}

// nowMs is the time as the store writes it.
func nowMs() int64 { return time.Now().UnixMilli() }
