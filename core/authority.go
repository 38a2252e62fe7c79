package core

import (
	"slices"

	"approvalbot/internal/approval"
)

// atVerifier reports whether a ballot was given in a chat of the verifier's own, which gets the card
// for its people alone. A chat where approvers are asked as well is none.
func (r *Rules) atVerifier(b Ballot, a approval.Approval) bool {
	if b.Chat == nil || a.Rule.Verifier == nil || a.Rule.Verifier.Optional {
		return false
	}
	chat, routes := b.Chat.Normal().Chat(), r.Router.Route(a)
	here := func(t approval.Target) bool { return t.Chat() == chat }
	return slices.ContainsFunc(routes.Verifier, here) && !slices.ContainsFunc(routes.Targets, here) &&
		!slices.ContainsFunc(routes.Fallback, here)
}
