package core

import (
	"slices"

	"approvalbot/internal/approval"
)

// atVerifier reports whether a ballot was given in a chat of the verifier's own, which gets the card
// only for the verifier's people. If approvers are asked in the chat too, it does not count as one.
func (r *Rules) atVerifier(b Ballot, a approval.Approval) bool {
	if b.Chat == nil || a.Rule.Verifier == nil || a.Rule.Verifier.Optional {
		return false
	}
	chat, routes := b.Chat.Normal().Chat(), r.Router.Route(a)
	here := func(t approval.Target) bool { return t.Chat() == chat }
	return slices.ContainsFunc(routes.Verifier, here) && !slices.ContainsFunc(routes.Targets, here) &&
		!slices.ContainsFunc(routes.Fallback, here)
}
