package routing

import (
	"slices"
	"sync"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Mode says where cards go first.
type Mode string

// The modes of the contract's routing.mode.
const (
	Session Mode = "session"
	Targets Mode = "targets"
	Both    Mode = "both"
)

// Table is the operator's routing. It implements core.Router. Safe for
// concurrent use.
type Table struct {
	Mode            Mode
	Targets         []approval.Target
	Fallback        []approval.Target
	FallbackAfterMs int64
	AgentShield     []approval.Target // where cards of that dialect go instead, if any are named
	Escalate        []approval.Target // where cards go of what nobody decides
	Drills          []approval.Target // where only a drill's cards go beside those of all approvals

	mu    sync.RWMutex
	moved map[approval.Target]approval.Target // chats that live elsewhere now
}

// Route gives the places for an approval's cards, each once, in normal form. Where only
// the verifier's people are asked, it goes to their chats alone.
func (t *Table) Route(a approval.Approval) core.Routes {
	mode, targets, further, after := t.plan()
	if own := t.shield(); a.Dialect == approval.DialectAgentShield && len(own) > 0 {
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
		to, further = slices.Concat(to, t.drills(), further), nil
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
		return slices.Contains(targets, own) || own.IsGroup() && slices.Contains(targets, own.On("telegram"))
	})
}

// Use puts another routing in force; chats that have moved stay moved.
func (t *Table) Use(next *Table) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Mode, t.Targets, t.Fallback, t.FallbackAfterMs = next.Mode, next.Targets, next.Fallback, next.FallbackAfterMs
	t.AgentShield, t.Drills, t.Escalate = next.AgentShield, next.Drills, next.Escalate
}

// shield is where cards of the agentshield dialect go.
func (t *Table) shield() []approval.Target {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.AgentShield
}

// escalations is where cards go of what nobody decides.
func (t *Table) escalations() []approval.Target {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.Escalate
}

// drills is where only a drill's cards go beside those of all approvals.
func (t *Table) drills() []approval.Target {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.Drills
}

// plan is the routing in force.
func (t *Table) plan() (Mode, []approval.Target, []approval.Target, int64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.Mode, t.Targets, t.Fallback, t.FallbackAfterMs
}

// patience is how long nothing may arrive before fallback targets are asked.
func (t *Table) patience() time.Duration {
	if _, _, _, after := t.plan(); after > 0 {
		return time.Duration(after) * time.Millisecond
	}
	return longestWait
}

// Names reports whether the operator configured that place as a target, a fallback
// target, one of agentshield's, or one that an escalation asks.
func (t *Table) Names(place approval.Target) bool {
	covers := func(own approval.Target) bool {
		return own.Names(place) || t.now(own).Names(t.now(place))
	}
	_, targets, fallback, _ := t.plan()
	return slices.ContainsFunc(targets, covers) || slices.ContainsFunc(fallback, covers) ||
		slices.ContainsFunc(t.shield(), covers) || slices.ContainsFunc(t.escalations(), covers)
}

// Moved remembers that a chat lives elsewhere now. The thread is not part of it.
func (t *Table) Moved(from, to approval.Target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.moved == nil {
		t.moved = map[approval.Target]approval.Target{}
	}
	t.moved[from.Normal().Chat()] = to.Normal().Chat()
}

func (t *Table) distinct(places []approval.Target) []approval.Target {
	var out []approval.Target
	for _, p := range places {
		if p = t.now(p); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// now is the normal form of a place, with the chat's newest id.
func (t *Table) now(place approval.Target) approval.Target {
	t.mu.RLock()
	defer t.mu.RUnlock()
	place = place.Normal()
	if to, ok := t.moved[place.Chat()]; ok {
		to.ThreadID = place.ThreadID
		return to
	}
	return place
}
