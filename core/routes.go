package core

import "approvalbot/internal/approval"

// Router says to which places a new approval's cards go. Targets are normal and distinct.
type Router interface {
	Route(a approval.Approval) Routes
	// Names reports whether the operator configured that place as a target.
	Names(place approval.Target) bool
}

// Routes are the places to which cards go at once, and those to which they go if no target
// could be reached within FallbackAfterMs. If only the verifier's people are asked, there
// are no other places than theirs. Originless: a card would go to the chat that the asker
// names, but the asker names no chat.
type Routes struct {
	Targets         []approval.Target
	Verifier        []approval.Target // the verifier's own chats, that are no targets
	Fallback        []approval.Target
	FallbackAfterMs int64
	Originless      bool
}
