package auth

import (
	"sync"
	"time"
)

// bucket is a token bucket: rate requests a second, and as many at once.
type bucket struct {
	rate float64

	mu   sync.Mutex
	left float64
	last time.Time
}

func newBucket(perSecond int) *bucket {
	return &bucket{rate: float64(perSecond), left: float64(perSecond), last: time.Now()}
}

// take reports whether one more request fits now, and counts it if so.
func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.left = min(b.rate, b.left+now.Sub(b.last).Seconds()*b.rate)
	b.last = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
