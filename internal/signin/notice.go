package signin

import (
	"sync"

	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func newNotice(t approval.Target, text, session string, now int64) core.Notice {
	return core.Notice{ID: uuid.NewString(), Target: t, Text: text, Session: session, CreatedMs: now, DueMs: now}
}

// NoticesDue gives a channel that gets a value when there is a new notice to post.
func (d *Door) NoticesDue() <-chan struct{} { return d.notices }

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
	news chan struct{} // closed by the next turn; nil if no one waits
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
