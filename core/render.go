package core

import (
	"context"
)

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

// Payload gives the whole call as people see it: redacted and escaped. Empty
// when the params are gone, and where only the fingerprint may be seen.
func (g *Gate) Payload(ctx context.Context, a Approval) ([]Fact, error) {
	if a.hidden() {
		return nil, nil
	}
	call, err := g.kept(ctx, a, g.rules.Load())
	if CodeOf(err) == CodeRetryDataGone {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return lines(call)
}

// Draw says what a delivery should show now. Cards that look alike are the same
// one: nobody may change it.
func (g *Gate) Draw(ctx context.Context, d Delivery) (Drawing, error) {
	rules := g.rules.Load()
	alike := alikeOf(d, rules)
	if drawing, ok := g.shown.find(alike); ok {
		return drawing, nil
	}
	a, err := g.store.Bare(ctx, d.Key) // a card shows nothing of the other cards
	if err != nil {
		return Drawing{}, err
	}
	var facts []Fact
	if !a.Final() {
		if facts, err = g.Payload(ctx, a); err != nil {
			return Drawing{}, err
		}
	}
	if d.Kind == UnreachedDelivery && a.Reached {
		return Drawing{Skip: "a card has arrived after all"}, nil
	}
	drawing := a.draw(d, facts, rules.People)
	if a.Version == d.Version {
		g.shown.keep(alike, drawing)
	}
	return drawing, nil
}
