package routing

import (
	"slices"
	"sync"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Mode says which chats get cards first.
type Mode string

// The modes of the contract's routing.mode.
const (
	Session Mode = "session"
	Targets Mode = "targets"
	Both    Mode = "both"
)

// Table is the operator's routing. It implements core.Router. It does not change, except
// for chats that move. Safe for concurrent use.
type Table struct {
	Mode            Mode
	Targets         []approval.Target
	Fallback        []approval.Target
	FallbackAfterMs int64
	AgentShield     []approval.Target // get cards of that dialect instead, if any are named
	Escalate        []approval.Target // get cards of undecided approvals
	Drills          []approval.Target // get only a drill's cards, beside those of all approvals

	own    moves
	shared *moves // those of the previous table, and so on; nil means own
}

// moves are the chats that live elsewhere now. Safe for concurrent use.
type moves struct {
	mu sync.RWMutex
	to map[approval.Target]approval.Target
}

// After is the table that follows another one: chats that have moved stay moved.
func (t *Table) After(before *Table) *Table {
	t.shared = before.moves()
	return t
}

func (t *Table) moves() *moves {
	if t.shared != nil {
		return t.shared
	}
	return &t.own
}

// Route gives the places for an approval's cards, each once, in normal form. If only
// the verifier's people are asked, only their chats get it.
func (t *Table) Route(a approval.Approval) core.Routes {
	mode, targets, further, after := t.Mode, t.Targets, t.Fallback, t.FallbackAfterMs
	if own := t.AgentShield; a.Dialect == approval.DialectAgentShield && len(own) > 0 {
		mode, targets = Targets, own
	}
	var to []approval.Target
	if a.Origin != nil && mode != Targets {
		to = append(to, *a.Origin)
	}
	if mode != Session {
		to = append(to, targets...)
	}
	if a.Drill() { // it tries every place at once, those too that only some approvals get to
		to, further = slices.Concat(to, t.Drills, further), nil
	}
	if !a.Rule.AsksApprovers() {
		to, further = nil, nil
	}
	first := t.distinct(to)
	fallback := slices.DeleteFunc(t.distinct(further), func(f approval.Target) bool { return slices.Contains(first, f) })
	originless := mode == Session && a.Origin == nil
	own := t.verifier(a, first)
	return core.Routes{Targets: first, Verifier: own, Fallback: fallback, FallbackAfterMs: after,
		Originless: originless}
}

// verifier gives the verifier's own chats that get no card as targets: neither from the
// same bot, nor from another one that is in the same group.
func (t *Table) verifier(a approval.Approval, targets []approval.Target) []approval.Target {
	if a.Rule.Verifier == nil {
		return nil
	}
	return slices.DeleteFunc(t.distinct(a.Rule.Verifier.Chats), func(own approval.Target) bool {
		return slices.Contains(targets, own) || own.IsGroup() && slices.Contains(targets, own.On(approval.Platform(own)))
	})
}

// patience is how long to wait for an arrival before fallback targets are asked.
func (t *Table) patience() time.Duration {
	if t.FallbackAfterMs > 0 {
		return time.Duration(t.FallbackAfterMs) * time.Millisecond
	}
	return longestWait
}

// Names reports whether the operator configured that place as a target, a fallback
// target, one of agentshield's, or one that an escalation asks.
func (t *Table) Names(place approval.Target) bool {
	covers := func(own approval.Target) bool {
		return own.Names(place) || t.now(own).Names(t.now(place))
	}
	return slices.ContainsFunc(t.Targets, covers) || slices.ContainsFunc(t.Fallback, covers) ||
		slices.ContainsFunc(t.AgentShield, covers) || slices.ContainsFunc(t.Escalate, covers)
}

// Moved remembers that a chat lives elsewhere now. The thread is not part of it.
func (t *Table) Moved(from, to approval.Target) {
	m := t.moves()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.to == nil {
		m.to = map[approval.Target]approval.Target{}
	}
	m.to[from.Normal().Chat()] = to.Normal().Chat()
}

func (t *Table) distinct(places []approval.Target) []approval.Target {
	var out []approval.Target
	var known map[approval.Target]bool
	if len(places) > fewPlaces {
		known = make(map[approval.Target]bool, len(places))
	}
	for _, p := range places {
		p = t.now(p)
		if known == nil && slices.Contains(out, p) || known[p] {
			continue
		}
		if known != nil {
			known[p] = true
		}
		out = append(out, p)
	}
	return out
}

// fewPlaces are compared one by one sooner than a map is made of them.
const fewPlaces = 16

// now is the normal form of a place, with the chat's newest id.
func (t *Table) now(place approval.Target) approval.Target {
	m := t.moves()
	m.mu.RLock()
	defer m.mu.RUnlock()
	place = place.Normal()
	if to, ok := m.to[place.Chat()]; ok {
		to.ThreadID = place.ThreadID
		return to
	}
	return place
}
