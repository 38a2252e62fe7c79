package store

import (
	"sync"

	"approvalbot/internal/approval"
)

// answering remembers the chats that are known to answer, so that an answer from one of
// them costs no write. The rows are the truth. If a chat is not known here (after a
// start, or after another instance may have served it), its next answer is written down.
type answering struct {
	mu    sync.Mutex
	known map[approval.Target]bool
}

// heard says whether a chat answered a try.
type heard struct {
	chat     approval.Target
	answered bool
}

func (a *answering) is(chat approval.Target) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[chat]
}

// learn takes over what a commit says.
func (a *answering) learn(all []heard) {
	if len(all) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = map[approval.Target]bool{}
	}
	for _, h := range all {
		if a.known[h.chat] = true; !h.answered {
			delete(a.known, h.chat)
		}
	}
}

func (a *answering) forget(chat approval.Target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, chat.Chat())
}

func (a *answering) forgetAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.known)
}
