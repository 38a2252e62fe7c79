package core

import (
	"sync"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// maxRendered is how many drawings are remembered. They are for cards that go to
// many chats at about the same time.
const maxRendered = 32

// renderCache remembers the drawings of cards. Safe for concurrent use.
type renderCache struct {
	mu   sync.Mutex
	kept [maxRendered]struct {
		as   renderKey
		what card.Drawing
	}
	next int
}

// renderKey is all that a card depends on. The zero value means that the drawing is not
// shared.
type renderKey struct {
	key     string
	version int64 // of the approval
	rules   *Rules
	away    int64 // the revision of the absences
	posted  bool
	shown   bool
	zone    *time.Location
	minute  int64 // in which it is drawn: it says how long is left
}

// renderKeyOf says as what a delivery is drawn. Files, what is no card, and a new card for
// one person, who may have lost the right to decide, are drawn for themselves.
func renderKeyOf(d approval.Delivery, rules *Rules, away int64) renderKey {
	plain := d.Kind == approval.CardDelivery && !d.Attached && !d.DenyOnly
	_, private := d.Target.Direct()
	if forWhom := private && d.MessageID == ""; forWhom || !plain || d.Version == 0 {
		return renderKey{}
	}
	minute := nowMs() / time.Minute.Milliseconds()
	return renderKey{d.Key, d.Version, rules, away, d.MessageID != "", d.Shown, rules.zone(d.Target), minute}
}

func (m *renderCache) get(as renderKey) (card.Drawing, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.kept {
		if m.kept[i].as == as && as != (renderKey{}) {
			return m.kept[i].what, true
		}
	}
	return card.Drawing{}, false
}

func (m *renderCache) put(as renderKey, what card.Drawing) {
	if as == (renderKey{}) || what.Card == nil || what.File != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[m.next].as, m.kept[m.next].what = as, what
	m.next = (m.next + 1) % maxRendered
}
