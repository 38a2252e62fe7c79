package fakechat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// stage is what the fakes have in common: one lock over all their state, a clock
// that can be moved, a way to wait for changes, and a transcript.
type stage struct {
	tb      TB // may be nil
	clock   func() time.Time
	running sync.WaitGroup // requests and everything else that runs

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every state change
	closed     bool
	ahead      time.Duration // what Advance added
	transcript []string
}

// errDeadline says that the fake's time reached the deadline of a wait.
var errDeadline = errors.New("fakechat: deadline")

// Now is the fake's time: the clock of the options plus all advances.
func (s *stage) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// Advance moves the fake's time forward and wakes everything that waits for it:
// long polls, delays of conflicts, webhook retries, slow bodies, windows that
// close.
func (s *stage) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
	s.wake()
}

func (s *stage) now() time.Time { return s.clock().Add(s.ahead) }

// wake tells all waiting goroutines that something changed.
func (s *stage) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// WaitFor blocks until cond is true and returns nil, or returns the error of ctx, or
// [ErrClosed]. cond runs without a lock, at once and after every change of the fake's
// state, and may call every method of the fake. It must depend on the fake only, because a
// change elsewhere does not wake it.
func (s *stage) WaitFor(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		changed, closed := s.changed, s.closed
		s.mu.Unlock()
		switch {
		case cond():
			return nil
		case closed:
			return ErrClosed
		case ctx.Err() != nil:
			return fmt.Errorf("fakechat: waiting: %w", ctx.Err())
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// wait is called without the lock. It blocks until ready, which runs under the
// lock, is true, or the fake's time reaches the deadline (zero: never).
func (s *stage) wait(ctx context.Context, deadline time.Time, ready func() bool) error {
	for {
		s.mu.Lock()
		done := ready()
		closed, changed, left := s.closed, s.changed, deadline.Sub(s.now())
		s.mu.Unlock()
		switch {
		case done:
			return nil
		case closed:
			return ErrClosed
		case !deadline.IsZero() && left <= 0:
			return errDeadline
		}
		if err := pause(ctx, changed, deadline, left); err != nil {
			return err
		}
	}
}

// pause waits for a change, for the rest of a deadline, or for ctx.
func pause(ctx context.Context, changed <-chan struct{}, deadline time.Time, left time.Duration) error {
	var timeUp <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(max(left, time.Millisecond))
		defer timer.Stop()
		timeUp = timer.C
	}
	select {
	case <-changed:
	case <-timeUp:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// sleepUntil is called without the lock.
func (s *stage) sleepUntil(ctx context.Context, at time.Time) {
	_ = s.wait(ctx, at, func() bool { return false })
}

// enter counts something that runs; it refuses after Close. It takes the lock.
func (s *stage) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begin()
}

func (s *stage) begin() bool {
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}

// fail reports a mistake in the test itself.
func (s *stage) fail(format string, args ...any) error {
	err := fmt.Errorf("fakechat: "+format, args...)
	if s.tb != nil {
		s.tb.Helper()
		s.tb.Errorf("%v", err)
	}
	return err
}

// Transcript tells what happened, a line for each event, for failure messages.
func (s *stage) Transcript() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Clone(s.transcript), "\n")
}

// note adds a line to the transcript.
func (s *stage) note(format string, args ...any) {
	at := s.now().UTC().Format("15:04:05.000 ")
	s.transcript = append(s.transcript, at+fmt.Sprintf(format, args...))
}
