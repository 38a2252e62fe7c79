package routing

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// DueKeys finds approvals whose timer is due; the store implements it.
type DueKeys interface {
	Due(ctx context.Context, now int64, limit int) (keys []string, next int64, err error)
}

// Ticker does what time asks of one approval; the Gate implements it.
type Ticker interface {
	Tick(ctx context.Context, key string) error
}

// Timers fires expiries and fallbacks when they are due.
type Timers struct {
	due  DueKeys
	gate Ticker
	log  *slog.Logger
	wake chan struct{}
	next atomic.Int64 // when it looks again, ms; 0 if it may be looking now
}

// NewTimers makes the timers.
func NewTimers(due DueKeys, gate Ticker, log *slog.Logger) *Timers {
	return &Timers{due: due, gate: gate, log: log, wake: make(chan struct{}, 1)}
}

// Wake says that a timer may have been set. It never blocks.
func (t *Timers) Wake() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// WakeBy tells Timers that a timer was set to that time (ms; 0: no timer).
func (t *Timers) WakeBy(at int64) {
	if next := t.next.Load(); at != 0 && (next == 0 || at < next) {
		t.Wake()
	}
}

// Run fires timers until ctx ends. It waits for ready first: the taps that
// waited on the platforms while the desk was down count before overdue timers
// fire.
func (t *Timers) Run(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
	case <-ctx.Done():
		return nil
	}
	for {
		t.next.Store(0)
		keys, next, err := t.due.Due(ctx, time.Now().UnixMilli(), 100)
		failed := ""
		for _, key := range keys {
			if err = t.gate.Tick(ctx, key); err != nil {
				failed = key
				break
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			t.log.Error("could not run due expiries, reminders and fallbacks; trying again in a second",
				"approval", failed, "reason", err)
			next = time.Now().Add(time.Second).UnixMilli()
		} else if len(keys) > 0 {
			continue
		}
		if !t.sleep(ctx, next) {
			return nil
		}
	}
}

func (t *Timers) sleep(ctx context.Context, next int64) bool {
	// It also looks again now and then, in case a wake-up was lost: the store is
	// the truth.
	wait := lookAgain
	if next > 0 {
		wait = min(wait, max(time.Millisecond, time.Until(time.UnixMilli(next))))
	}
	t.next.Store(time.Now().Add(wait).UnixMilli())
	alarm := time.NewTimer(wait)
	defer alarm.Stop()
	select {
	case <-t.wake:
	case <-alarm.C:
	case <-ctx.Done():
		return false
	}
	return true
}
