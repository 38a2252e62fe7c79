package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options are what [Open] needs to find and open a store.
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
	// Build identifies how the program judges, apart from its configuration: see
	// [Store.Agree].
	Build string
	// Log gets what no caller can be told. Nil discards it.
	Log *slog.Logger
	// Saying, if not nil, is called with the progress of work that may take long, such as a
	// migration.
	Saying Saying
}

// Saying is told what is being done, and how far it is: part of so many; if of is 0, the total is not known.
type Saying func(what string, part, of int64)

func (s Saying) say(what string, part, of int64) {
	if s != nil {
		s(what, part, of)
	}
}

// Store is an open store. It is the [core.Stores], the outbox that the
// dispatcher drains and the inbox that the bots fill. Safe for concurrent use.
//
// Writes are carried out by [Store.Run] and wait until it runs. A write that
// returns nil is on disk; one that returns an error has not written, unless the error
// says that its fate is unknown: the caller's context ended between the change being made
// and its commit. The functions given to Create and Update never run after the call has
// returned.
//
// Reads check their context when they begin and are then too short to interrupt.
type Store struct {
	log       *slog.Logger
	saying    Saying
	lock      *fileLock // of SQLite's file
	dialect   dialect
	schema    int64
	write     *pool // one connection, which the writer holds
	read      *pool // in memory the same as write
	writer    writer
	keys      keyring
	due       dueQueue
	granted   *grantNames // nil: others write too
	written   *written    // nil: others write too
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
	broken  atomic.Bool  // the last write failed
	wroteMs atomic.Int64 // when something was written last
}

// Close ends the store: [Store.Run] finishes what is queued, later writes are
// refused, and the lock is given up. Call it last, after the last read. A second call has
// no effect.
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

// Disbelieved gives how many rows were met since the start that something else than the desk
// wrote.
func (s *Store) Disbelieved() int64 {
	if s.keys.rows == nil {
		return 0
	}
	return s.keys.rows.doubts.rows.Load()
}

// do queues a write and waits for its commit. Its function runs in the
// goroutine of [Store.Run], and never after do has returned.
func (s *Store) do(ctx context.Context, do func(*tx) error) error {
	return s.doOn(ctx, locks{}, do)
}

// doOn is do, with what the write counts on. If the database can be lost, a write that
// has not begun within two seconds is taken back: CodeUnavailable. A write that comes
// while the database is known not to answer is refused at once, with the same code.
func (s *Store) doOn(ctx context.Context, on locks, do func(*tx) error) error {
	if s.health.silent(silentAfter) {
		return unwritten(errSilent)
	}
	return s.queue(ctx, &job{do: do, on: on})
}

// queue is doOn, even if the database is known not to answer.
func (s *Store) queue(ctx context.Context, j *job) error {
	if s.dialect.many { // SQLite's database cannot be lost
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, queuePatience, unwritten(errLate))
		defer cancel()
	}
	return s.wait(ctx, j, func() {})
}

// wait queues a job, calls queued, and waits for the job's commit for as long as
// ctx lasts. Jobs are carried out in the order in which they were queued.
func (s *Store) wait(ctx context.Context, j *job, queued func()) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j.done = make(chan outcome, 1)
	select {
	case s.jobs <- j:
	case <-s.ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	queued()
	select {
	case o := <-j.done:
		return o.result()
	case <-s.ended:
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		// It has begun: the caller must learn how it ended, because what follows from a
		// commit (waking the dispatcher) is the caller's to do.
		select {
		case o := <-j.done:
			return o.result()
		case <-s.ended:
		}
	}
	select {
	case o := <-j.done:
		return o.result()
	default:
		return errEnded
	}
}

// result gives the error, or panics again in the caller's goroutine.
func (o outcome) result() error {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

// readPolicy learns which policy counts. One reads at a time: an answer from before
// a change must not be taken over after the answer from behind it.
func (s *Store) readPolicy(ctx context.Context) error {
	s.heartbeat.reading.Lock()
	defer s.heartbeat.reading.Unlock()
	now, err := policyThatCounts(ctx, s.read)
	if err != nil {
		return err
	}
	s.heartbeat.mu.Lock()
	defer s.heartbeat.mu.Unlock()
	now.own = s.heartbeat.policy.own
	s.heartbeat.policy = now
	return nil
}

func (s *Store) sweep(ctx context.Context, statement string, before int64, n *int) error {
	return s.sweepAfter(ctx, func(*tx, int64) error { return nil }, statement, before, n)
}

// sweepAfter is sweep with something before each transaction's statement.
func (s *Store) sweepAfter(
	ctx context.Context, first func(t *tx, before int64) error, statement string, before int64, n *int,
) error {
	for {
		var gone int64
		err := s.do(ctx, func(t *tx) (err error) {
			if err := first(t, before); err != nil {
				return err
			}
			gone, err = t.exec(statement, before, sweepChunk)
			return err
		})
		if err != nil {
			return err
		}
		*n += int(gone)
		if gone < sweepChunk {
			return nil
		}
	}
}

const (
	// sweepChunk is how many rows one transaction deletes: other writers wait
	// for no more than that.
	sweepChunk = 200
	// clocksApart is by how much the clocks of instances may differ: what one of them
	// still hands out, another does not delete.
	clocksApartMs = 60 * 1000
)
