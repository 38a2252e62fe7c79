package core

import "slices"

// Texts of what tools.verifier.failMode does where the verifier's chat cannot be reached.
const (
	failModeKey       = "tools.verifier.failMode"
	verifierPassed    = "the verifier's chat could not be reached, and " + failModeKey + " lets the call pass then"
	verifierMissing   = "the verifier's people could not be asked, since their chat could not be reached (" + failModeKey + ": deny)"
	verifierPassedWhy = "The verifier's chat could not be reached, so its people's yes is not needed (" + failModeKey + ": allow)."
)

// verifierChat is the step of a pending approval whose card in the verifier's chat may never arrive: failMode says
// what becomes of it then. A chat that has the card, or that is only late, is reached, and its silence allows
// nothing. unreachable is as in tick.
func (c Change) verifierChat(rules *Rules, unreachable map[Target]Unreachable, now int64) (_ Change, lookUp bool) {
	a := &c.Approval
	if a.Final() || a.VerifierLookMs == 0 || !a.Rule.AsksVerifier() {
		return c, false
	}
	cards := a.verifierCards()
	in := func(states ...DeliveryState) bool {
		return slices.ContainsFunc(cards, func(d Delivery) bool { return slices.Contains(states, d.State) })
	}
	waiting := in(Queued, Folded)
	afterMs := rules.Router.Route(*a).FallbackAfterMs
	switch {
	case len(cards) == 0, in(Sent, Settled, Listed), len(a.tally(rules.People).Verifier) > 0:
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
	c.Approval = c.Approval.clone()
	a.VerifierLookMs, c.Redraw = 0, true
	a.Assessment.ReasonCodes = append(a.Assessment.ReasonCodes, ReasonVerifierUnreached)
	// A signature is wanted of a person, and a call can be written so that the chat refuses its card.
	refused := slices.ContainsFunc(cards, func(d Delivery) bool { return d.State == Failed && d.DenyOnly })
	if !a.Rule.Verifier.FailOpen || a.Rule.StepUp || refused {
		a.Status, a.Decision, a.DecidedBy, a.Reason = Denied, Deny, []string{"policy"}, verifierMissing
		return c.end(EventResolved, now), false
	}
	need := *a.Rule.Verifier
	need.Passed, a.Rule.Verifier = true, &need
	a.Why = append(a.Why, verifierPassedWhy)
	c.Events = append(c.Events, a.event(EventFailOpen, now, eventData{Why: failModeKey}))
	if t := a.tally(rules.People); t.Outcome == Approved && len(t.deciders()) == 0 { // policy or a grant is their yes
		a.Status, a.Decision, a.DecidedBy, a.Reason = Approved, AllowOnce, []string{need.Instead}, verifierPassed
		return c.end(EventResolved, now), false
	}
	return c.settle(rules.People, now), false
}

// passed reports whether the verifier's need counts as met, since its chat could not be reached.
func (r Rule) passed() bool { return r.Verifier != nil && r.Verifier.Passed }

// verifierCards are the cards by which the verifier's people are asked: in its own chats, or as
// approvers' cards in the same group.
func (a Approval) verifierCards() (cards []Delivery) {
	for _, d := range a.Deliveries {
		here := d.Target.Normal()
		own := slices.ContainsFunc(a.Rule.Verifier.Chats, func(t Target) bool {
			return t.Normal() == here || t.IsGroup() && t.On("telegram").Normal() == here
		})
		if d.Kind == CardDelivery && own {
			cards = append(cards, d)
		}
	}
	return cards
}

// passesUnreached reports whether an approval that ran without the verifier's people, whose chat could not be
// reached, may do so under the rule of today.
func (r Rule) passesUnreached(today Rule) bool {
	return r.passed() && today.Verifier.FailOpen && !today.StepUp
}

// failsOpen reports whether the call runs if no approver, or none of the verifier's people, can be asked.
func (a Approval) failsOpen() bool {
	return a.Unreached || a.Rule.AsksVerifier() && a.Rule.Verifier.FailOpen
}
