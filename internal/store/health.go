package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A database that hangs (its machine swaps, the network drops what is sent) does not
// refuse: each caller waits until its patience is over. So once it has not answered for a
// while, the callers that wait get an error, except those that wait for a commit. New
// callers are refused at once, until the database accepts a new connection.
const (
	askAfter    = 500 * time.Millisecond  // without an answer, a connection is tried
	silentAfter = 1500 * time.Millisecond // without an answer, the database is taken to hang
	lookEvery   = 250 * time.Millisecond
)

// health is what is known of the database's answers on all connections. A nil health
// never reports silence.
type health struct {
	mu    sync.Mutex
	open  int       // questions under way
	since time.Time // questions are open and not one was answered; zero: no answer is overdue
	on    map[*question]struct{}
}

// asks notes a question on a connection, or for one (nil); it is to be followed by
// ends.
func (h *health) asks(c *question) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open++; h.since.IsZero() {
		h.since = time.Now()
	}
	if c != nil {
		if h.on == nil {
			h.on = map[*question]struct{}{}
		}
		h.on[c] = struct{}{}
	}
}

// ends notes that a question is no longer under way, answered or given up.
func (h *health) ends(c *question, answered bool) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	delete(h.on, c)
	h.note(answered)
}

// answer notes an answer to a question that is still under way.
func (h *health) answer() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(true)
}

func (h *health) note(answered bool) {
	switch {
	case answered && h.open > 0:
		h.since = time.Now()
	case answered:
		h.since = time.Time{}
	}
}

// silent reports whether the database owes its answers for longer than that.
func (h *health) silent(than time.Duration) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.since.IsZero() && time.Since(h.since) > than
}

// watch tries a new connection whenever the database is silent, until ctx ends.
func (h *health) watch(ctx context.Context, on *pgConnector) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		if h.silent(askAfter) {
			h.try(ctx, on)
		}
		if h.silent(silentAfter) {
			h.cut()
		}
	}
}

func (h *health) try(ctx context.Context, on *pgConnector) {
	ctx, cancel := context.WithTimeout(ctx, silentAfter-askAfter)
	defer cancel()
	if c, err := on.Connect(ctx); err == nil {
		c.Close()
	}
}

// cut ends all waiting but that for a commit, whose fate would be unknown.
func (h *health) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.on {
		if !c.commits {
			c.conn.PgConn().Conn().SetDeadline(time.Now())
		}
	}
}

// question is what is asked on a connection.
type question struct {
	conn    *pgx.Conn
	commits bool
}
