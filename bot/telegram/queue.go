package telegram

import (
	"context"
	"sync"
	"time"

	"approvalbot/core"
)

const (
	deskCalls   = 8                // how many updates the desk gets at a time
	inboxBatch  = 100              // how many updates are read from the inbox at a time
	inboxLook   = 2 * time.Second  // how often the inbox is looked at unasked: another instance may have filled it
	deskRetry   = time.Second      // first wait when the desk cannot work
	deskRetries = 30 * time.Second // longest wait
)

// job is an update on its way through the handlers.
type job struct {
	core.Inbound
	update update
	broken error         // why Body cannot be read
	tried  chan struct{} // closed after the first try
	once   sync.Once
	done   bool // handled; guarded by queue.mu
	told   bool // the tap has its answer
}

// queue holds the updates that are being handled. Each person has a lane, in
// which one update follows the other.
type queue struct {
	wake    chan struct{}
	slots   chan struct{} // one for each call of the desk
	workers sync.WaitGroup

	looking sync.Mutex // one look at the inbox at a time

	mu    sync.Mutex
	jobs  map[int64]*job   // by update id
	lanes map[int64][]*job // by user id; present: somebody works on it
}

func newQueue() *queue {
	return &queue{
		wake: make(chan struct{}, 1), slots: make(chan struct{}, deskCalls),
		jobs: map[int64]*job{}, lanes: map[int64][]*job{},
	}
}

// poke has the inbox looked at.
func (q *queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// pump moves updates from the inbox to the handlers until ctx ends; work is the
// context of what has begun.
func (b *Bot) pump(ctx, work context.Context) {
	look := time.NewTicker(inboxLook)
	defer look.Stop()
	for ctx.Err() == nil {
		if err := b.lookThrough(ctx, work); err != nil && ctx.Err() == nil {
			b.log.Warn("the inbox cannot be read", "reason", err)
		}
		select {
		case <-b.queue.wake:
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// lookThrough gives the handlers everything that is new in the inbox.
func (b *Bot) lookThrough(ctx, work context.Context) error {
	for {
		if more, err := b.look(ctx, work); err != nil || !more {
			return err
		}
	}
}

// look reads what is oldest in the inbox and gives the handlers what is new
// there. more reports that there may be more.
func (b *Bot) look(ctx, work context.Context) (more bool, err error) {
	q := b.queue
	q.looking.Lock()
	defer q.looking.Unlock()
	finished, known := q.count()
	rows, err := b.inbox.Inbound(ctx, b.source, known+inboxBatch)
	if err != nil {
		return false, err
	}
	for _, in := range rows {
		if finished[in.ID] {
			b.mark(ctx, in.InboundRef) // the handlers are through with it, but it is not marked
			delete(finished, in.ID)
			continue
		}
		b.enqueue(ctx, work, in)
	}
	q.forget(finished)
	return len(rows) == known+inboxBatch, nil
}

// count gives the ids that were finished before now and how many are known.
func (q *queue) count() (finished map[int64]bool, known int) {
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

func (q *queue) forget(ids map[int64]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id := range ids {
		delete(q.jobs, id)
	}
}

// enqueue puts a new update into its lane.
func (b *Bot) enqueue(ctx, work context.Context, in core.Inbound) {
	q := b.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.jobs[in.ID] != nil {
		return
	}
	j := &job{Inbound: in, tried: make(chan struct{})}
	j.update, j.broken = parseUpdate(in.Body)
	q.jobs[in.ID] = j
	user := j.update.user()
	_, busy := q.lanes[user]
	q.lanes[user] = append(q.lanes[user], j)
	if !busy {
		q.workers.Go(func() { b.work(ctx, work, user) })
	}
}

// next gives the first job of a lane, or nil when it is empty and abandoned.
func (q *queue) next(user int64) *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	lane := q.lanes[user]
	if len(lane) == 0 {
		delete(q.lanes, user)
		return nil
	}
	q.lanes[user] = lane[1:]
	return lane[0]
}

func (q *queue) finish(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j.done = true
}

// work handles a lane until it is empty or ctx ends.
func (b *Bot) work(ctx, work context.Context, user int64) {
	for ctx.Err() == nil {
		j := b.queue.next(user)
		if j == nil {
			return
		}
		for try := 0; !b.attempt(ctx, work, j); try++ {
			if !sleep(ctx, backoff(try, deskRetry, deskRetries)) {
				return
			}
		}
		b.queue.finish(j)
	}
}

// settleStart ends the catching up once everything that waited was tried. An
// update that the desk cannot take now does not hold it up for ever.
func (b *Bot) settleStart(ctx, work context.Context) {
	select {
	case <-b.start.drained:
	case <-ctx.Done():
		return
	}
	if b.lookThrough(ctx, work) != nil {
		return // patience will run out
	}
	for _, tried := range b.queue.untried() {
		select {
		case <-tried:
		case <-b.start.done:
			return
		case <-ctx.Done():
			return
		}
	}
	b.start.finish()
}

func (q *queue) untried() []<-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	var waits []<-chan struct{}
	for _, j := range q.jobs {
		waits = append(waits, j.tried)
	}
	return waits
}

// mark marks an update handled. What fails here is seen at the next look.
func (b *Bot) mark(ctx context.Context, ref core.InboundRef) {
	if err := b.handled(ctx, ref); err != nil && ctx.Err() == nil {
		b.log.Warn("an update could not be marked handled", "update", ref.ID, "reason", err)
	}
}
