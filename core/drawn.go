package core

import "sync"

// maxDrawn is how many drawings are remembered. They are for cards that go to
// many chats at about the same time.
const maxDrawn = 32

// drawn remembers the drawings of cards. Safe for concurrent use.
type drawn struct {
	mu   sync.Mutex
	kept [maxDrawn]struct {
		as   alike
		what Drawing
	}
	next int
}

// alike is all that a card depends on. The zero value stands for what is drawn
// for itself.
type alike struct {
	key     string
	version int64 // of the approval
	rules   *Rules
	posted  bool
	shown   bool
}

// alikeOf says as what a delivery is drawn. Files, and what is no card, are drawn
// for themselves.
func alikeOf(d Delivery, rules *Rules) alike {
	if d.Kind != CardDelivery || d.Version == 0 || d.Attached || d.DenyOnly {
		return alike{}
	}
	return alike{d.Key, d.Version, rules, d.MessageID != "", d.Shown}
}

func (m *drawn) find(as alike) (Drawing, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.kept {
		if m.kept[i].as == as && as != (alike{}) {
			return m.kept[i].what, true
		}
	}
	return Drawing{}, false
}

func (m *drawn) keep(as alike, what Drawing) {
	if as == (alike{}) || what.Card == nil || what.File != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[m.next].as, m.kept[m.next].what = as, what
	m.next = (m.next + 1) % maxDrawn
}
