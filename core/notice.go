package core

import (
	"sync"

	"github.com/google/uuid"

	"approvalbot/internal/approval"
)

// Notice is a message to one person about themselves that belongs to no approval: that
// somebody signed in as them. It goes into their own direct chat, never into a group.
type Notice struct {
	ID        string // UUID
	Target    approval.Target
	Text      string // plain text, already safe
	Session   string // id of the session that its button ends; empty: no button
	CreatedMs int64
	DueMs     int64
	Attempts  int
}

func newNotice(t approval.Target, text, session string, now int64) Notice {
	return Notice{ID: uuid.NewString(), Target: t, Text: text, Session: session, CreatedMs: now, DueMs: now}
}

// NoticesDue gives a channel that gets a value when there is a new notice to post.
func (g *Gate) NoticesDue() <-chan struct{} { return g.notices }

// bell wakes one who waits; ringing it never blocks.
type bell chan struct{}

func (b bell) wake() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// turnstile tells any number of people who wait that something has changed. Safe for
// concurrent use; the zero value is ready.
type turnstile struct {
	mu   sync.Mutex
	news chan struct{} // closed by the next turn; nil: nobody waits
}

func (t *turnstile) next() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.news == nil {
		t.news = make(chan struct{})
	}
	return t.news
}

func (t *turnstile) turn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}
