package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
)

// maxBatch is how many jobs one transaction takes at most.
const maxBatch = 256

var errEnded = errors.New("the store is closed: nothing was written")

// job is one caller's write.
type job struct {
	do    func(*tx) error
	taken atomic.Bool  // by whoever comes first: the loop to run it, or its caller to leave
	done  chan outcome // holds one
}

// outcome is what became of a job: its error, or the panic of its function.
type outcome struct {
	err      error
	panicked any
	stack    []byte // where it panicked
}

// do queues a write and waits for its commit. Its function runs in the
// goroutine of [Store.Run], and never after do has returned.
func (s *Store) do(ctx context.Context, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{do: do, done: make(chan outcome, 1)}
	select {
	case s.jobs <- j:
	case <-s.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case o := <-j.done:
		return o.result()
	case <-s.ended:
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return ctx.Err()
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
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
		case <-ctx.Done():
			s.finish()
			return nil
		case <-s.closing:
			s.finish()
			return nil
		}
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

// gather takes the jobs that wait beside the first, without waiting for more:
// the commit before was their chance to queue.
func (s *Store) gather(first *job) []*job {
	jobs := append(make([]*job, 0, len(s.jobs)+1), first)
	for len(jobs) < maxBatch {
		select {
		case j := <-s.jobs:
			jobs = append(jobs, j)
		default:
			return jobs
		}
	}
	return jobs
}

// commit runs jobs in one transaction and answers them. When the transaction
// fails, all of them have failed.
func (s *Store) commit(jobs []*job) {
	jobs = slices.DeleteFunc(jobs, func(j *job) bool { return !j.taken.CompareAndSwap(false, true) })
	outcomes, b, err := s.attempt(jobs, false)
	if errors.Is(err, errCareful) {
		outcomes, b, err = s.attempt(jobs, true)
	}
	if err != nil {
		err = fmt.Errorf("the store could not commit, nothing was written: %w", err)
		s.log.Error("store: commit failed", "error", err, "jobs", len(jobs))
		s.broken.Store(true)
	} else {
		if b.wrote {
			s.broken.Store(false)
		}
		s.chats.touch(b.done.chats)
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

// errCareful asks for another attempt with savepoints.
var errCareful = errors.New("a job failed after it had written")

// attempt runs jobs in one transaction. Savepoints cost a fifth of the time, and
// a job that fails has hardly ever written anything by then, so the first attempt
// does without: a job that would need one ends it, and a careful attempt follows.
func (s *Store) attempt(jobs []*job, careful bool) ([]outcome, *batch, error) {
	outcomes := make([]outcome, len(jobs))
	b, err := s.writer.begin(careful)
	if err == nil {
		for i, j := range jobs {
			outcomes[i] = b.run(j, s.keys)
		}
		if err = b.failed; err != nil {
			b.rollback()
		}
		if errors.Is(err, errCareful) {
			return nil, nil, err
		}
	}
	if err == nil {
		err = b.commit()
	}
	return outcomes, b, err
}

// Ping reports whether writes are carried out. It sends an empty job through,
// which touches no disk; once a batch has failed it writes a trifle instead,
// until that succeeds again.
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, func(t *tx) error {
		if s.broken.Load() {
			_, err := t.exec(probe, strconv.FormatInt(nowMs(), 10))
			return err
		}
		return nil
	})
}

const probe = `INSERT INTO meta (name, value) VALUES ('probe', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
