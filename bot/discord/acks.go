package discord

import (
	"context"
	"sync"
)

// acks knows which interactions are about to get their first answer, before which
// no other answer about them is accepted.
type acks struct {
	mu sync.Mutex
	m  map[string]chan struct{}
}

func (a *acks) begin(id string) (done func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[string]chan struct{}{}
	}
	c := make(chan struct{})
	a.m[id] = c
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.m, id)
		close(c)
	}
}

// wait returns once the first answer is there, or if this process does not give
// one.
func (a *acks) wait(ctx context.Context, id string) {
	a.mu.Lock()
	c := a.m[id]
	a.mu.Unlock()
	if c == nil {
		return
	}
	select {
	case <-c:
	case <-ctx.Done():
	}
}
