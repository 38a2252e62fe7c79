package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A database that hangs (its machine swaps, the network drops what is sent) refuses
// nothing: everybody who asks it waits until their patience is over. So once it has
// answered nothing for a while, who waits is told so, but for who waits for a commit,
// and who comes then is refused at once, until it takes a new connection.
const (
	askAfter    = 500 * time.Millisecond  // without an answer, a connection is tried
	silentAfter = 1500 * time.Millisecond // without an answer, nothing else is
	lookEvery   = 250 * time.Millisecond
)

var errSilent = errors.New("the database does not answer")

// pulse is what is known of the database's answers on all connections. Nil, it
// knows nothing.
type pulse struct {
	mu    sync.Mutex
	open  int       // questions under way
	since time.Time // nothing was answered, and something asked; zero: nothing is overdue
	on    map[*question]struct{}
}

// asks notes a question on a connection, or for one (nil); it is to be followed by
// ends.
func (p *pulse) asks(c *question) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open++; p.since.IsZero() {
		p.since = time.Now()
	}
	if c != nil {
		if p.on == nil {
			p.on = map[*question]struct{}{}
		}
		p.on[c] = struct{}{}
	}
}

// ends notes that a question is no longer under way, answered or given up.
func (p *pulse) ends(c *question, answered bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	delete(p.on, c)
	p.heard(answered)
}

// hears notes an answer to a question that goes on.
func (p *pulse) hears() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard(true)
}

func (p *pulse) heard(answered bool) {
	switch {
	case answered && p.open > 0:
		p.since = time.Now()
	case answered:
		p.since = time.Time{}
	}
}

// silent reports whether the database owes its answers for longer than that.
func (p *pulse) silent(than time.Duration) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.since.IsZero() && time.Since(p.since) > than
}

// listenFor tries a new connection whenever the database is silent, until ctx ends.
func (p *pulse) listenFor(ctx context.Context, on *pgConnector) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if p.silent(askAfter) {
			p.try(ctx, on)
		}
		if p.silent(silentAfter) {
			p.cut()
		}
	}
}

func (p *pulse) try(ctx context.Context, on *pgConnector) {
	ctx, cancel := context.WithTimeout(ctx, silentAfter-askAfter)
	defer cancel()
	if c, err := on.Connect(ctx); err == nil {
		c.Close()
	}
}

// cut ends all waiting but that for a commit, whose fate would be unknown.
func (p *pulse) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.on {
		if !c.commits {
			c.conn.PgConn().Conn().SetDeadline(time.Now())
		}
	}
}
