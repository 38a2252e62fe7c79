package core

import "strings"

// claimWindowMs is how long after approval a call may be claimed.
const claimWindowMs = 5 * 60 * 1000

// settle applies the tally and, when it is met, ends the approval.
func (c Change) settle(d *Directory, now int64) Change {
	t := c.Approval.tally(d)
	if t.Outcome == Pending {
		return c
	}
	c.Approval.Votes = c.Approval.standing(d)
	c.Approval.Status, c.Approval.Decision = t.Outcome, t.Decision
	c.Approval.DecidedBy, c.Approval.Reason = t.deciders(), t.Reason
	if n := c.Approval.Rule.Verifier; n != nil && t.Outcome == Approved && strings.HasPrefix(n.Instead, "grant:") {
		c.Approval.DecidedBy = append([]string{n.Instead}, c.Approval.DecidedBy...)
	}
	return c.end(EventResolved, now).leaveGrant(t.By, now)
}

// end finishes a change whose approval just got its final status.
func (c Change) end(event EventType, now int64) Change {
	c.Approval = c.Approval.reachedAfterAll()
	a := &c.Approval
	a.ResolvedAtMs, a.FallbackAtMs, a.VerifierLookMs = now, 0, 0
	if a.Status == Approved {
		a.ClaimUntilMs = now + claimWindowMs
	} else {
		c.Unseal = true
	}
	c.Redraw = !c.New
	c.Events = append(c.Events, a.event(event, now, eventData{}))
	if !c.New {
		c.Deliveries = append(c.Deliveries, a.notify(OutcomeDelivery, now)...)
	}
	c.Deliveries = append(c.Deliveries, a.callBack(now)...)
	return c
}
