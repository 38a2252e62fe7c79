package telegram

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"approvalbot/core"
)

// state is what the bot says of itself. Only changes are logged.
type state struct {
	log *slog.Logger
	mu  sync.Mutex
	now core.ChannelState
}

func (s *state) get() core.ChannelState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// set notes how things stand. cause is for the log and may be nil.
func (s *state) set(up bool, detail string, cause error) {
	s.mu.Lock()
	next := core.ChannelState{Up: up, Detail: detail}
	changed, wasUp := s.now != next, s.now.Up
	s.now = next
	s.mu.Unlock()
	switch {
	case !changed:
	case up && !wasUp:
		s.log.Info("Telegram is connected")
	case cause != nil:
		s.log.Warn("Telegram is not connected", "reason", detail, "cause", cause)
	}
}

// start watches over catching up with what waited while the desk was down. done
// is closed when that is over, or when there is no hope for it.
type start struct {
	done    chan struct{}
	drained chan struct{} // closed when everything that waited on Telegram is stored

	mu     sync.Mutex
	once   sync.Once
	dry    sync.Once
	giveUp *time.Timer
}

// patience is how long Telegram may be silent before catching up is given up.
const patience = 5 * time.Second

func newStart() *start {
	return &start{done: make(chan struct{}), drained: make(chan struct{})}
}

// begin starts to watch; end stops it and leaves done as it is.
func (s *start) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp = time.AfterFunc(patience, s.finish)
}

func (s *start) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp.Stop()
}

// alive says that there is progress, and gives it another while.
func (s *start) alive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open(s.done) && s.giveUp != nil {
		s.giveUp.Reset(patience)
	}
}

func (s *start) dryUp()  { s.dry.Do(func() { close(s.drained) }) }
func (s *start) finish() { s.once.Do(func() { close(s.done) }) }

// waiting reports whether updates that come now may have waited on Telegram
// while the desk was down. An instance that only takes in a webhook's updates
// never begins.
func (s *start) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.giveUp != nil && open(s.drained) && open(s.done)
}

func open(c <-chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

// finishTime is how long what has begun may go on after Run is told to end.
const finishTime = 5 * time.Second

// outlive gives a context that ends d after ctx does, for work that has begun.
func outlive(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopWatching := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(d):
			cancel()
		case <-work.Done():
		}
	})
	return work, func() { stopWatching(); cancel() }
}

// sleep waits for d or the end of ctx, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// backoff is how long to wait before try number n+1: doubling from first to most.
func backoff(n int, first, most time.Duration) time.Duration {
	for ; n > 0 && first < most; n-- {
		first *= 2
	}
	return min(first, most)
}
