package watch

import (
	"context"
	"sync/atomic"
	"time"

	"approvalbot/api"
)

// How often watch looks for what is new: rarely while the desk tells it.
const (
	pollEvery = time.Second
	pollTold  = 15 * time.Second
)

// news says that something has happened at the desk, so that it is worth a look.
type news struct {
	come   chan struct{} // holds at most one
	pushed atomic.Bool   // the desk tells; else one has to look often
}

// listen hears of news until ctx ends. If the desk has no events, or refuses
// them, polling goes on as before.
func listen(ctx context.Context, c *api.Client, k *keyboard) *news {
	n := &news{come: make(chan struct{}, 1)}
	wake := func() {
		select {
		case n.come <- struct{}{}:
		default:
		}
	}
	go func() {
		defer k.guard()
		_ = c.Follow(ctx, "", func(open bool) { n.pushed.Store(open); wake() },
			func(api.Event) error { wake(); return nil })
		n.pushed.Store(false)
		wake()
	}()
	return n
}

// interval is how long it may take until the next look without news.
func (n *news) interval() time.Duration {
	if n.pushed.Load() {
		return pollTold
	}
	return pollEvery
}
