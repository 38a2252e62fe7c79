package textcmd

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"approvalbot/internal/approval"
)

const (
	callsAtOnce  = 8                // how many updates the desk gets at a time
	inboxBatch   = 100              // how many updates are read from the inbox at a time
	inboxLook    = 2 * time.Second  // how often the inbox is read unasked: another instance may have filled it
	firstRetry   = time.Second      // first wait when the desk cannot work
	longestRetry = 30 * time.Second // longest wait

	settleTime = 20 * time.Millisecond // in which most updates are handled; with slower disks it checks once more
)

// Inbox keeps updates until they are handled.
type Inbox interface {
	// SaveInbound stores updates durably, in one transaction; known ones are not
	// changed.
	SaveInbound(ctx context.Context, in []approval.Inbound) error
	// Inbound gives at most limit updates that are not handled yet, in order of
	// arrival.
	Inbound(ctx context.Context, source string, limit int) ([]approval.Inbound, error)
}

// Handlers are an adapter's functions for the updates of its platform, of type
// U once they are read.
type Handlers[U any] struct {
	// Read reads a stored update and names its person: one person's updates are
	// handled one after the other.
	Read func(approval.Inbound) (u U, person string)
	// Attempt handles an update and reports whether it is over; if not, it is
	// tried again after a while. ctx ends when the adapter must stop, work a
	// while later, so that updates under way can be finished.
	Attempt func(ctx, work context.Context, j *Job[U]) (over bool)
	// Handled marks an update done.
	Handled func(context.Context, approval.InboundRef) error
}

// Intake hands the updates of one bot from the inbox to its adapter: in order for
// each person, people side by side. Updates that a crash left there come first.
type Intake[U any] struct {
	source   string
	inbox    Inbox
	handlers Handlers[U]
	log      *slog.Logger

	wake    chan struct{}
	slots   chan struct{} // one for each call of the desk
	workers sync.WaitGroup

	looking sync.Mutex  // one look at the inbox at a time
	unread  atomic.Bool // there may be updates in the inbox that no look has seen

	mu     sync.Mutex
	jobs   map[int64]*Job[U]    // by update id
	queues map[string][]*Job[U] // of each person; present while a goroutine works on it
}

// Job is an update on its way through the handlers.
type Job[U any] struct {
	approval.Inbound
	Update   U
	Answered bool // set by the adapter: the person has an answer

	tried   chan struct{} // closed after the first try
	once    sync.Once
	handled atomic.Bool // and stored on disk
	done    bool        // the handlers are done with it; guarded by Intake.mu
}

// Incoming is an update that has just come, in the form that Handlers.Read gives.
type Incoming[U any] struct {
	approval.Inbound
	Update U
	Person string
}

// NewIntake makes an Intake for the updates of a source. It starts no goroutines.
func NewIntake[U any](source string, inbox Inbox, h Handlers[U], log *slog.Logger) *Intake[U] {
	return &Intake[U]{
		source: source, inbox: inbox, handlers: h, log: log,
		wake: make(chan struct{}, 1), slots: make(chan struct{}, callsAtOnce),
		jobs: map[int64]*Job[U]{}, queues: map[string][]*Job[U]{},
	}
}

// Len gives how many updates wait, are handled, or were until the last look at
// the inbox.
func (q *Intake[U]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs)
}

// Poke has the inbox read.
func (q *Intake[U]) Poke() {
	q.unread.Store(true)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Handled records that the update was marked handled, as by [Handler.Handle].
func (j *Job[U]) Handled() { j.handled.Store(true) }

// Tried records that the desk has tried the update, and reports whether this
// was the first time.
func (j *Job[U]) Tried() (first bool) {
	j.once.Do(func() {
		first = true
		close(j.tried)
	})
	return first
}

// Run moves updates from the inbox to the handlers until ctx ends.
func (q *Intake[U]) Run(ctx, work context.Context) {
	look := time.NewTicker(inboxLook)
	defer look.Stop()
	for ctx.Err() == nil {
		if err := q.lookThrough(ctx, ctx, work); err != nil && ctx.Err() == nil {
			q.log.Warn("could not read the updates that wait in the inbox; trying again", "reason", err)
		}
		select {
		case <-q.wake:
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// Wait waits for the handlers that have begun; Run and CatchUp must have ended.
func (q *Intake[U]) Wait() { q.workers.Wait() }

// CatchUp returns once every update that is in the inbox now was tried. It
// returns an error if the inbox cannot be read, or if patience ends. ctx and work
// are as for Run: the goroutine that works on a person's updates goes on with
// those that come later.
func (q *Intake[U]) CatchUp(patience, ctx, work context.Context) error {
	if err := q.lookThrough(patience, ctx, work); err != nil {
		return err
	}
	for _, tried := range q.untried() {
		select {
		case <-tried:
		case <-patience.Done():
			return patience.Err()
		}
	}
	return nil
}

// LaterText is the answer to an update that could not be handled yet.
const LaterText = "The desk cannot record this right now, it will be tried again."

// PanicText is the answer to an update that made the desk panic.
const PanicText = "Something went wrong inside the desk. This was not recorded and will not be tried again; " +
	"please look at the request and decide again."

// Ask puts a message before the desk when its turn comes. After a panic of the desk
// it returns an answer too, so that the person who tapped gets one.
func (q *Intake[U]) Ask(
	ctx context.Context, j *Job[U], m Message, handle func(context.Context, Message) (Reply, error),
) (reply Reply, err error) {
	select {
	case q.slots <- struct{}{}:
		defer func() { <-q.slots }()
	case <-ctx.Done():
		return reply, ctx.Err()
	}
	panicked := false
	defer func() {
		if panicked {
			reply, err = Reply{Text: PanicText, Alert: true}, nil
		}
	}()
	defer q.Guard(ctx, j, &panicked)
	return handle(ctx, m)
}

// Guard is deferred by the handler of an update. After a panic the update is
// dropped: an update that makes the desk panic must not do so again and again.
func (q *Intake[U]) Guard(ctx context.Context, j *Job[U], over *bool) {
	if p := recover(); p != nil {
		q.log.Error("handling an update caused a panic; the update is not tried again",
			"update", j.ID, "reason", fmt.Sprint(p), "stack",
			string(debug.Stack()))
		q.Mark(ctx, j)
		*over = true
	}
}

// Settle has new updates handled that are not stored yet, by handlers that store
// what they mark handled: so a tap costs one commit, not two. It returns the
// updates that are not on disk after a moment; they are to be stored before the
// platform learns that they came. ctx and work are as for Run.
//
// It is only for updates that the platform certainly hands out for the first
// time. An adapter that may get one twice must store it first, and have it
// handled from the inbox, which knows the handled ones.
func (q *Intake[U]) Settle(ctx, work context.Context, in []Incoming[U]) (open []approval.Inbound) {
	jobs := q.handleFirst(ctx, work, in)
	patience := time.NewTimer(settleTime)
	defer patience.Stop()
	late := len(jobs) == 0
	for i, u := range in {
		if !late {
			select {
			case <-jobs[i].tried:
			case <-patience.C:
				late = true
			}
		}
		if len(jobs) == 0 || !jobs[i].handled.Load() {
			open = append(open, u.Inbound)
		}
	}
	return open
}

// handleFirst hands updates to the handlers before they are stored, unless older ones
// may still be in the inbox, which must come first.
func (q *Intake[U]) handleFirst(ctx, work context.Context, in []Incoming[U]) []*Job[U] {
	q.looking.Lock()
	defer q.looking.Unlock()
	if q.unread.Load() {
		return nil
	}
	var jobs []*Job[U]
	for _, u := range in {
		whole := u.Inbound
		u.Unstored = &whole
		jobs = append(jobs, q.enqueue(ctx, work, u.Inbound, func() (U, string) { return u.Update, u.Person }))
	}
	return jobs
}

// Mark marks a job's update handled. A failure here is noticed at the next look.
func (q *Intake[U]) Mark(ctx context.Context, j *Job[U]) {
	if q.mark(ctx, j.InboundRef) {
		j.Handled()
	}
}

func (q *Intake[U]) mark(ctx context.Context, ref approval.InboundRef) (ok bool) {
	err := q.handlers.Handled(ctx, ref)
	if err != nil && ctx.Err() == nil {
		q.log.Warn("could not mark an update as handled; trying again", "update", ref.ID, "reason", err)
	}
	return err == nil
}

// lookThrough gives the handlers everything that is new in the inbox.
func (q *Intake[U]) lookThrough(patience, ctx, work context.Context) error {
	for {
		if more, err := q.look(patience, ctx, work); err != nil || !more {
			return err
		}
	}
}

// look reads the oldest updates in the inbox and gives the handlers the new
// ones; patience bounds the reading. more reports that there may be more.
func (q *Intake[U]) look(patience, ctx, work context.Context) (more bool, err error) {
	q.looking.Lock()
	defer q.looking.Unlock()
	finished, known := q.count()
	q.unread.Store(false)
	rows, err := q.inbox.Inbound(patience, q.source, known+inboxBatch)
	if more = err != nil || len(rows) == known+inboxBatch; more {
		q.unread.Store(true)
	}
	if err != nil {
		return false, err
	}
	for _, in := range rows {
		if finished[in.ID] {
			q.mark(ctx, in.InboundRef) // the handlers are done with it, but it is not marked
			delete(finished, in.ID)
			continue
		}
		q.enqueue(ctx, work, in, func() (U, string) { return q.handlers.Read(in) })
	}
	q.forget(finished)
	return more, nil
}

// count gives the ids that were finished before now and how many are known.
func (q *Intake[U]) count() (finished map[int64]bool, known int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	finished = map[int64]bool{}
	for id, j := range q.jobs {
		if j.done {
			finished[id] = true
		}
	}
	return finished, len(q.jobs)
}

func (q *Intake[U]) forget(ids map[int64]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id := range ids {
		delete(q.jobs, id)
	}
}

// enqueue puts a new update behind the others of its person, as read reads it, and gives its
// job.
func (q *Intake[U]) enqueue(ctx, work context.Context, in approval.Inbound, read func() (U, string)) *Job[U] {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j := q.jobs[in.ID]; j != nil {
		return j
	}
	j := &Job[U]{Inbound: in, tried: make(chan struct{})}
	var person string
	j.Update, person = read()
	q.jobs[in.ID] = j
	_, busy := q.queues[person]
	q.queues[person] = append(q.queues[person], j)
	if !busy {
		q.workers.Go(func() { q.work(ctx, work, person) })
	}
	return j
}

// next gives the first job of a person, or nil if there is none: then no goroutine works on
// that person's updates.
func (q *Intake[U]) next(person string) *Job[U] {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.queues[person]
	if len(queue) == 0 {
		delete(q.queues, person)
		return nil
	}
	q.queues[person] = queue[1:]
	return queue[0]
}

func (q *Intake[U]) finish(j *Job[U]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j.done = true
}

// work handles a person's updates until there are no more or ctx ends.
func (q *Intake[U]) work(ctx, work context.Context, person string) {
	for ctx.Err() == nil {
		j := q.next(person)
		if j == nil {
			return
		}
		for try := 0; !q.handlers.Attempt(ctx, work, j); try++ {
			if !Sleep(ctx, Backoff(try, firstRetry, longestRetry)) {
				return
			}
		}
		j.Tried()
		q.finish(j)
	}
}

func (q *Intake[U]) untried() []<-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	var waits []<-chan struct{}
	for _, j := range q.jobs {
		waits = append(waits, j.tried)
	}
	return waits
}
