package store

import (
	"sync"

	"approvalbot/internal/approval"
)

// maxWritten is how many approvals are kept as they were committed.
const maxWritten = 64

// written keeps the last approvals with deliveries as they were committed, because the dispatcher draws their cards
// at once. It is used only if this process alone writes. Safe for concurrent use.
type written struct {
	mu    sync.Mutex
	kept  map[string]*approval.Approval
	order [maxWritten]string // their keys, the oldest at next
	next  int
}

// learn takes over what a commit wrote, before anything that it made due can be drawn.
func (n *written) learn(all []*approval.Approval) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range all {
		if n.kept[a.Key] == nil {
			delete(n.kept, n.order[n.next])
			n.order[n.next] = a.Key
			n.next = (n.next + 1) % maxWritten
		}
		n.kept[a.Key] = a
	}
}

// forget drops all: the store may be otherwise.
func (n *written) forget() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept, n.order = map[string]*approval.Approval{}, [maxWritten]string{}
}

func (n *written) of(key string) *approval.Approval {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kept[key]
}
