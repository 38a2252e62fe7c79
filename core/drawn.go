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

// Bounds of what is remembered of approvals beside the store.
const (
	maxRecent      = 32
	maxRecentFacts = 16 << 10 // bytes of one approval's call
)

// recent remembers approvals and what people see of their calls, so that the
// cards of a new one, and the edits when it ends, are drawn without reading it
// again. Who asks names the version that the store has. Safe for concurrent use.
type recent struct {
	mu   sync.Mutex
	kept [maxRecent]struct {
		a     Approval
		facts []Fact
	}
	next int
}

func (r *recent) find(key string, version int64) (a Approval, facts []Fact, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.index(key); i >= 0 && r.kept[i].a.Version == version {
		return r.kept[i].a, r.kept[i].facts, true
	}
	return a, nil, false
}

func (r *recent) index(key string) int {
	for i := range r.kept {
		if r.kept[i].a.Key == key && key != "" {
			return i
		}
	}
	return -1
}

// keep remembers a new approval that people are asked about.
func (r *recent) keep(a Approval, facts []Fact) {
	size := 0
	for _, f := range facts {
		size += len(f.Name) + len(f.Value)
	}
	if a.Final() || size > maxRecentFacts {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[r.next].a, r.kept[r.next].facts = a, facts
	r.next = (r.next + 1) % maxRecent
}

// renew remembers what became of an approval: once it has ended, its cards show
// nothing of the call.
func (r *recent) renew(a Approval) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.index(a.Key)
	if i < 0 && a.Final() {
		i, r.next = r.next, (r.next+1)%maxRecent
	}
	if i < 0 || r.kept[i].a.Key == a.Key && r.kept[i].a.Version > a.Version {
		return // not known, or another change was faster to say so
	}
	if r.kept[i].a = a; a.Final() {
		r.kept[i].facts = nil
	}
}
