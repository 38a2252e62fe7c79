package discord

import (
	"context"
	"sync"
	"time"
)

func limited(ctx context.Context, limit time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}

// self is who the bot is, known after it has introduced itself.
type self struct {
	once  sync.Once
	known chan struct{}
	user  string // its user id
	app   string // its application's id
	name  string
}

// tasks counts goroutines that are begun from outside of Run's own.
type tasks struct {
	mu   sync.Mutex
	over bool
	wg   sync.WaitGroup
}

// start runs f, unless the end has come.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.wg.Go(f)
	}
	return !t.over
}

// end refuses new tasks and waits for those that have begun.
func (t *tasks) end() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.wg.Wait()
}
