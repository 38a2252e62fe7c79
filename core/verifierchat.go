package core

import (
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// Texts of what tools.verifier.failMode does if the verifier's chat cannot be reached.
const (
	failModeKey       = "tools.verifier.failMode"
	verifierPassed    = "the verifier's chat could not be reached, and " + failModeKey + " lets the call pass then"
	verifierMissing   = "the verifier's people could not be asked, since their chat could not be reached (" + failModeKey + ": deny)"
	verifierPassedWhy = "The verifier's chat could not be reached, so its people's yes is not needed (" + failModeKey + ": allow)."
)

// verifierChat is the step of a pending approval whose card in the verifier's chat may never arrive: failMode says
// what happens then. A chat that has the card, or that is only late, is reached, and its silence allows no call.
// unreachable is as in tick.
func (c Change) verifierChat(rules *Rules, unreachable map[approval.Target]approval.Unreachable, now int64) (_ Change, lookUp bool) {
	a := &c.Approval
	if a.Final() || a.VerifierLookMs == 0 || !a.Rule.AsksVerifier() {
		return c, false
	}
	cards := verifierCards(*a)
	in := func(states ...approval.DeliveryState) bool {
		return slices.ContainsFunc(cards, func(d approval.Delivery) bool { return slices.Contains(states, d.State) })
	}
	waiting := in(approval.Queued, approval.Folded)
	afterMs := rules.Router.Route(*a).FallbackAfterMs
	switch {
	case len(cards) == 0, in(approval.Sent, approval.Settled, approval.Listed), len(people.TallyOf(*a, rules.People).Verifier) > 0:
		a.VerifierLookMs = 0
		return c, false
	case waiting && now < a.VerifierLookMs:
		return c, false
	case waiting && unreachable == nil:
		return Change{}, true
	}
	if look := nextLook(cards, true, unreachable, afterMs, now+max(afterMs, leastLookMs), now); look != 0 {
		a.VerifierLookMs = max(look, now+leastLookMs)
		return c, false
	}
	c.Approval = c.Approval.Clone()
	a.VerifierLookMs, c.Redraw = 0, true
	a.Assessment.ReasonCodes = append(a.Assessment.ReasonCodes, approval.ReasonVerifierUnreached)
	// A signature is wanted of a person, and a call can be written so that the chat refuses its card.
	refused := slices.ContainsFunc(cards, func(d approval.Delivery) bool { return d.State == approval.Failed && d.DenyOnly })
	if !a.Rule.Verifier.FailOpen || a.Rule.StepUp || refused {
		a.Status, a.Decision, a.DecidedBy, a.Reason = approval.Denied, approval.Deny, []string{"policy"}, verifierMissing
		return c.end(approval.EventResolved, now), false
	}
	need := *a.Rule.Verifier
	need.Passed, a.Rule.Verifier = true, &need
	a.Why = append(a.Why, verifierPassedWhy)
	c.Events = append(c.Events, a.Event(approval.EventFailOpen, now, approval.EventData{Why: failModeKey}))
	if t := people.TallyOf(*a, rules.People); t.Outcome == approval.Approved && len(t.Deciders()) == 0 { // policy or a grant is their yes
		a.Status, a.Decision, a.DecidedBy, a.Reason = approval.Approved, approval.AllowOnce, []string{need.Instead}, verifierPassed
		return c.end(approval.EventResolved, now), false
	}
	return c.settle(rules.People, now), false
}

// verifierCards are the cards by which the verifier's people are asked: in its own chats, or as
// approvers' cards in the same group.
func verifierCards(a approval.Approval) (cards []approval.Delivery) {
	for _, d := range a.Deliveries {
		here := d.Target.Normal()
		own := slices.ContainsFunc(a.Rule.Verifier.Chats, func(t approval.Target) bool {
			return t.Normal() == here || t.IsGroup() && t.On(approval.Platform(t)).Normal() == here
		})
		if d.Kind == approval.CardDelivery && own {
			cards = append(cards, d)
		}
	}
	return cards
}
