package textcmd

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"approvalbot/core"
)

// Sleep waits for d or the end of ctx, and reports whether ctx goes on.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Backoff is how long to wait before try number n+1: doubling from first to most.
func Backoff(n int, first, most time.Duration) time.Duration {
	for ; n > 0 && first < most; n-- {
		first *= 2
	}
	return min(first, most)
}

// Outlive gives a context that ends d after ctx does, for work that has begun.
func Outlive(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
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

// Health is the state of a platform as its adapter reports it. Only changes are
// logged. Safe for concurrent use.
type Health struct {
	name string
	log  *slog.Logger
	mu   sync.Mutex
	now  core.ChannelState
}

// NewHealth makes a Health that says that the platform of that name has not been
// reached yet.
func NewHealth(name string, log *slog.Logger) *Health {
	return &Health{name: name, log: log, now: core.ChannelState{Detail: name + " has not been reached yet."}}
}

// State gives the channel's present state.
func (h *Health) State() core.ChannelState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// Set records the channel's state. cause is for the log and may be nil.
func (h *Health) Set(up bool, detail string, cause error) {
	h.mu.Lock()
	next := core.ChannelState{Up: up, Detail: detail}
	changed, wasUp := h.now != next, h.now.Up
	h.now = next
	h.mu.Unlock()
	switch {
	case !changed:
	case up && !wasUp:
		h.log.Info(h.name + " is connected")
	case cause != nil:
		h.log.Warn(h.name+" is not connected", "reason", detail, "cause", cause)
	}
}
