package core

import "approvalbot/internal/approval"

// Router says where a new approval's cards go. Targets are normal and distinct.
type Router interface {
	Route(a approval.Approval) Routes
	// Names reports whether the operator configured that place as a target.
	Names(place approval.Target) bool
}

// Routes is where cards go at once, and where they go when none of the targets could
// be reached within FallbackAfterMs. Where only the verifier's people are asked, there
// are no other places than theirs. Originless: a card would go to the chat that the
// asker names, and none is named.
type Routes struct {
	Targets         []approval.Target
	Verifier        []approval.Target // the verifier's own chats, that are no targets
	Fallback        []approval.Target
	FallbackAfterMs int64
	Originless      bool
}
