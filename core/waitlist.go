package core

import (
	"sync"

	"approvalbot/internal/approval"
)

// waitlist wakes the callers that wait for an approval in this process.
type waitlist struct {
	mu sync.Mutex
	m  map[string]*waiter
}

// waiter is an approval that some wait for.
type waiter struct {
	n     int                // how many
	fired chan struct{}      // closed by the next wake
	ended *approval.Approval // as it was when this process heard of its end, or changed it after that
}

func (w *waitlist) join(key string) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.m[key]
	if e == nil {
		e = &waiter{fired: make(chan struct{})}
		w.m[key] = e
	}
	e.n++
	return e
}

func (w *waitlist) leave(key string, e *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.n--; e.n == 0 {
		delete(w.m, key)
	}
}

func (w *waitlist) next(e *waiter) (fired <-chan struct{}, ended *approval.Approval) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return e.fired, e.ended
}

// awaited gives those of the keys that some wait for.
func (w *waitlist) awaited(keys []string) (some []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if w.m[key] != nil {
			some = append(some, key)
		}
	}
	return some
}

// wake wakes the callers that wait for an approval. a is its state, nil if they are to look
// it up. A state that is older than the known one wakes no caller.
func (w *waitlist) wake(key string, a *approval.Approval) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.m[key]; e != nil {
		if a != nil && e.ended != nil && a.Version < e.ended.Version {
			return
		}
		if e.ended = nil; a != nil && a.Final() {
			ended := *a
			e.ended = &ended
		}
		close(e.fired)
		e.fired = make(chan struct{})
	}
}
