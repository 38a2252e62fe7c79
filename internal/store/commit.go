package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"approvalbot/internal/approval"
)

// maxBatch is how many jobs one transaction takes at most.
const maxBatch = 256

// Run carries out writes until ctx ends or the store is closed, then finishes
// those that are queued; later ones are refused. It returns nil, or an error
// when it was called twice. Give it a context that outlives every writer.
func (s *Store) Run(ctx context.Context) error {
	if s.running.Swap(true) {
		select {
		case <-s.closing:
			return nil
		default:
			return errors.New("the store was started twice; this is an error in approvalbot; please report it")
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

// attend shows this instance to the others, if the engine allows several, until the
// function it gives is called; that function also finishes what is queued.
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

// How long a few calm jobs wait for another one, and how many no longer wait: their
// callers may have other work.
const (
	calmTime = 10 * time.Millisecond
	fewCalm  = 48
)

// gather takes the jobs that wait beside the first, without waiting for more:
// the commit before was their chance to queue. It waits only if all of them are calm.
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
		s.log.Error("store: could not store changes; the programs and people that asked for them got an error",
			"error", err, "jobs", len(jobs))
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
			s.log.Error("store: a change was not stored because of an error in approvalbot; please report "+
				"it", "panic", o.panicked, "stack", string(o.stack))
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
		s.log.Error("store: the database refused a change, so it was not made; the program or person that asked "+
			"for it got an error", "error", outcomes[i].err)
		s.broken.Store(true)
	case b.wrote:
		s.broken.Store(false)
		s.wroteMs.Store(nowMs())
	}
}

// attempts tries until the transaction is committed or another try cannot help.
// Savepoints cost a fifth of the time, and a job that fails has hardly ever written
// anything by then, so the first attempt does without: a job that would need one ends it,
// and careful attempts follow.
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
			s.log.Debug("store: a commit conflicted with another instance's; "+
				"trying again", "error", err, "jobs", len(jobs), "attempt", n)
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

// run carries out one job; if it fails, all that it wrote is undone.
func (b *batch) run(j *job, keys keyring) (o outcome) {
	if b.failed != nil {
		return outcome{} // it fails with the whole batch
	}
	t := &tx{batch: b, keys: keys}
	defer func() {
		if o.panicked = recover(); o.panicked != nil {
			o.stack, t.refused = debug.Stack(), true
		}
		if isOutrun(o.err) { // the transaction is to be tried again, with all in it
			b.failed, o.err = o.err, nil
			return
		}
		if o.panicked != nil || o.err != nil {
			t.refused = t.refused || approval.CodeOf(o.err) != ""
			o.failed = !t.refused && !errors.Is(o.err, errStale)
			if err := t.undo(); err != nil {
				b.failed, o.err = errors.Join(o.err, err), nil // the cause first
			}
			return
		}
		if t.update != "" && len(t.own.events) > 0 { // a job without events made no change
			t.own.events = append(t.own.events, approval.Event{AtMs: nowMs(), Type: approval.EventUpdate, Data: []byte(t.update)})
		}
		b.done.add(t.own)
	}()
	if err := b.savepoint("SAVEPOINT job"); err != nil {
		return outcome{err: err}
	}
	if err := j.do(t); err != nil {
		return outcome{err: err}
	}
	return outcome{err: b.savepoint("RELEASE SAVEPOINT job")}
}

// commit appends the log's events and makes everything durable.
func (b *batch) commit(from string) error {
	err := b.tally()
	if err == nil {
		err = b.notifyCommitted(from)
	}
	if err == nil {
		err = b.chain()
	}
	if err != nil {
		b.rollback()
	} else if err = b.close(); err == nil && b.moved != nil {
		b.head = b.moved
	}
	failed := err != nil && !isLost(err) && !isOutrun(err)
	if failed && b.dialect.many && !b.careful {
		err = errors.Join(err, errCareful) // some job's, and the others need not fail with it
	}
	return err
}

func (w *writer) begin(careful bool) (*batch, error) {
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("the database could not begin a transaction: %w", err)
	}
	return &batch{writer: w, counted: map[string]int{}, careful: careful}, nil
}
