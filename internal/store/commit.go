package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxBatch is how many jobs one transaction takes at most.
const maxBatch = 256

var errEnded = errors.New("the store is closed: nothing was written")

// job is one caller's write.
type job struct {
	do    func(*tx) error
	on    locks
	calm  func() bool  // whether it may wait a moment for company; nil: no
	taken atomic.Bool  // by whoever comes first: the loop to run it, or its caller to leave
	done  chan outcome // holds one
}

// outcome is what became of a job: its error, or the panic of its function.
type outcome struct {
	err      error
	failed   bool // the error is the database's
	panicked any
	stack    []byte // where it panicked
}

// do queues a write and waits for its commit. Its function runs in the
// goroutine of [Store.Run], and never after do has returned.
func (s *Store) do(ctx context.Context, do func(*tx) error) error {
	return s.doOn(ctx, locks{}, do)
}

// doOn is do, with what the write counts on. Where the database can be lost, a
// write that nothing has begun within two seconds is taken back: CodeUnavailable. So
// is one that comes while the database is known not to answer, at once.
func (s *Store) doOn(ctx context.Context, on locks, do func(*tx) error) error {
	if s.health.silent(silentAfter) {
		return unwritten(errSilent)
	}
	return s.queue(ctx, &job{do: do, on: on})
}

// queue is doOn, whatever is known of the database.
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
		// It has begun: whoever asked must learn how it ended, because what
		// follows from a commit (waking the dispatcher) is theirs to do.
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

// result gives the error, or goes on panicking where the function came from.
func (o outcome) result() error {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

// Run carries out writes until ctx ends or the store is closed, then finishes
// those that are queued; later ones are refused. It returns nil, or an error
// when it was called twice. Give it a context that outlives whatever writes.
func (s *Store) Run(ctx context.Context) error {
	if s.running.Swap(true) {
		select {
		case <-s.closing:
			return nil
		default:
			return errors.New("the store's Run was called twice")
		}
	}
	defer close(s.ended)
	defer s.writer.release(false)
	defer s.attend()()
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
		case <-ctx.Done():
			return nil
		case <-s.closing:
			return nil
		}
	}
}

// attend shows this instance to others, if there can be any, until the function
// it gives is called; that also finishes what is queued.
func (s *Store) attend() (end func()) {
	if !s.dialect.many {
		return s.finish
	}
	ctx, stop := context.WithCancel(context.Background())
	var alive sync.WaitGroup
	alive.Go(func() { s.live(ctx) })
	alive.Go(func() { s.keepLock(ctx) })
	alive.Go(func() { s.watchLocks(ctx) })
	alive.Go(func() {
		s.health.watch(ctx, &pgConnector{config: s.listen, patience: connectPatience, health: s.health})
	})
	return func() {
		stop()
		alive.Wait() // no job of theirs is running now, so it can leave
		s.finish()
		s.leave()
	}
}

func (s *Store) finish() {
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
		default:
			return
		}
	}
}

// How long a few calm jobs wait for another one, and how many do not: whoever
// queued them may be wanted elsewhere.
const (
	calmTime = 10 * time.Millisecond
	fewCalm  = 48
)

// gather takes the jobs that wait beside the first, without waiting for more:
// the commit before was their chance to queue. Only where all are calm it waits.
func (s *Store) gather(first *job) []*job {
	jobs := append(make([]*job, 0, len(s.jobs)+1), first)
	var over <-chan time.Time
	for len(jobs) < maxBatch {
		select {
		case j := <-s.jobs:
			jobs = append(jobs, j)
			continue
		default:
		}
		if len(jobs) >= fewCalm || slices.ContainsFunc(jobs, (*job).urgent) {
			break
		}
		if over == nil {
			over = time.After(calmTime)
		}
		select {
		case j := <-s.jobs:
			jobs = append(jobs, j)
		case <-over:
			return jobs
		case <-s.closing:
			return jobs
		}
	}
	return jobs
}

// urgent reports whether a job may not wait for company.
func (j *job) urgent() bool { return j.calm == nil || !j.calm() }

// maxAttempts is how often a batch is tried that other instances are in the way of.
const (
	maxAttempts = 8
	outrunRest  = 10 * time.Millisecond // at most, and for every attempt more
)

// commit runs jobs in one transaction and answers them. When the transaction
// fails, all of them have failed.
func (s *Store) commit(jobs []*job) {
	jobs = slices.DeleteFunc(jobs, func(j *job) bool { return !j.taken.CompareAndSwap(false, true) })
	outcomes, b, err := s.attempts(jobs)
	if err != nil {
		s.log.Error("store: commit failed", "error", err, "jobs", len(jobs))
		err = unwritten(err)
		s.broken.Store(true)
		s.answering.forgetAll()
		s.written.forget() // the commit's fate may be unknown
	} else {
		s.wrote(outcomes, b)
		s.written.learn(b.done.written)
		s.due.touch(b.done.stirred)
		s.answering.learn(b.done.heard)
	}
	for i, j := range jobs {
		switch o := &outcomes[i]; {
		case o.panicked != nil:
			s.log.Error("store: a change panicked, its caller goes on panicking", "panic", o.panicked, "stack", string(o.stack))
		case o.err == nil:
			o.err = err
		}
		j.done <- outcomes[i]
	}
}

// wrote notes what a committed batch says of the database: a job that it failed is left
// out of the batch.
func (s *Store) wrote(outcomes []outcome, b *batch) {
	switch i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.failed }); {
	case i >= 0:
		s.log.Error("store: a change could not be written", "error", outcomes[i].err)
		s.broken.Store(true)
	case b.wrote:
		s.broken.Store(false)
		s.wroteMs.Store(nowMs())
	}
}

// errCareful asks for another attempt with savepoints.
var errCareful = errors.New("a job failed after it had written")

// attempts tries until the transaction is committed or nothing more helps.
// Savepoints cost a fifth of the time, and a job that fails has hardly ever
// written anything by then, so the first attempt does without: a job that would
// need one ends it, and careful attempts follow.
func (s *Store) attempts(jobs []*job) (outcomes []outcome, b *batch, err error) {
	careful := false
	for n := 1; ; n++ {
		outcomes, b, err = s.attempt(jobs, careful)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded): // it was waited for long enough
			return outcomes, b, err
		case errors.Is(err, errCareful):
			careful, n = true, 0
		case err == nil || n == maxAttempts || errors.Is(err, errFate):
			return outcomes, b, err
		case isOutrun(err):
			s.log.Debug("store: another instance was in the way; trying again", "error", err, "jobs", len(jobs), "attempt", n)
			time.Sleep(rand.N(time.Duration(n) * outrunRest)) // lest both meet again
		case isLost(err) && n == 1 && s.dialect.many:
			s.writer.release(true)
		default:
			return outcomes, b, err
		}
	}
}

// attempt runs jobs in one transaction.
func (s *Store) attempt(jobs []*job, careful bool) ([]outcome, *batch, error) {
	outcomes := make([]outcome, len(jobs))
	b, err := s.writer.begin(careful)
	if err != nil {
		return outcomes, b, err
	}
	b.failed = b.lock(jobs)
	for i, j := range jobs {
		outcomes[i] = b.run(j, s.keys)
	}
	if err = b.failed; err != nil {
		b.rollback()
	} else {
		err = b.commit(s.heartbeat.id)
	}
	return outcomes, b, err
}
