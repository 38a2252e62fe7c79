package web

import (
	"sync"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// maxShown is how many calls are remembered as shown. Beyond it all are forgotten, and
// who wants to allow one opens it again.
const maxShown = 20_000

// shown remembers which calls were shown whole, to whose session. It is kept in memory:
// after a restart a page is to be opened again. Safe for concurrent use.
type shown struct {
	mu    sync.Mutex
	calls map[shownCall]bool
	more  chan struct{} // closed at the next download; nil if no one waits
}

type shownCall struct{ session, key, fingerprint string }

// note remembers that the whole call stood on a page of that session, or was downloaded.
func (m *shown) note(s signin.Session, a approval.Approval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil || len(m.calls) >= maxShown {
		m.calls = map[shownCall]bool{}
	}
	m.calls[shownCall{s.ID, a.Key, a.Fingerprint}] = true
}

// to reports whether that session was shown all that would run.
func (m *shown) to(s signin.Session, a approval.Approval) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[shownCall{s.ID, a.Key, a.Fingerprint}]
}

// downloaded is note for a file; the call's open page waits for it.
func (m *shown) downloaded(s signin.Session, a approval.Approval) {
	m.note(s, a)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.more != nil {
		close(m.more)
		m.more = nil
	}
}

// news is closed at the next download.
func (m *shown) news() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.more == nil {
		m.more = make(chan struct{})
	}
	return m.more
}
