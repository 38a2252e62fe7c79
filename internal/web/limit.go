package web

import (
	"net/http"
	"sync"
	"time"
)

const (
	formsPerSecond = 10 // that one person may send, in however many browsers
	formsAtOnce    = 20

	maxStreams        = 2000 // pages and lists that are open and live
	reservedStreams   = 500  // of them, for people who may decide
	streamsOfASession = 8
	streamsOfAPerson  = 16
	streamsOfAViewer  = 16 // requests for the list of one session of an asker
)

// pace lets each person send forms at a rate: a token bucket a person. Safe for
// concurrent use.
type pace struct {
	now func() time.Time // nil: time.Now

	mu sync.Mutex
	by map[string]bucket // by person; a person who waited long enough has no entry
}

// bucket is what a person may still send at once, as of a time.
type bucket struct {
	left float64
	last time.Time
}

// take reports whether that person may send one more form now, and counts it if so.
func (p *pace) take(person string) bool {
	now := time.Now
	if p.now != nil {
		now = p.now
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now()
	b, seen := p.by[person]
	if !seen {
		b = bucket{formsAtOnce, at}
	}
	b.left = min(formsAtOnce, b.left+at.Sub(b.last).Seconds()*formsPerSecond)
	b.last = at
	ok := b.left >= 1
	if ok {
		b.left--
	}
	if p.by == nil {
		p.by = map[string]bucket{}
	}
	p.by[person] = b // people are as many as the configuration names
	return ok
}

// streams counts the pages and lists that are open and live. Safe for concurrent use.
type streams struct {
	mu    sync.Mutex
	total int
	by    map[share]int
}

// share names something that may have so many streams open: a session, a person.
type share struct {
	kind, owner, name string
	most              int
}

// enter counts one more stream until leave is called. A status other than 0 refuses it:
// 429 if one of the shares is used up, 503 if all places are taken; some places are
// reserved for people who may decide.
func (c *streams) enter(decides bool, shares ...share) (leave func(), status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range shares {
		if c.by[s] >= s.most {
			return nil, http.StatusTooManyRequests
		}
	}
	if c.total >= maxStreams || !decides && c.total >= maxStreams-reservedStreams {
		return nil, http.StatusServiceUnavailable
	}
	if c.by == nil {
		c.by = map[share]int{}
	}
	c.total++
	for _, s := range shares {
		c.by[s]++
	}
	return func() { c.leave(shares) }, 0
}

func (c *streams) leave(shares []share) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	for _, s := range shares {
		if c.by[s]--; c.by[s] == 0 {
			delete(c.by, s)
		}
	}
}
