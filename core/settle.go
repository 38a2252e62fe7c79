package core

import (
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// settle applies the tally and, when it is met, ends the approval.
func (c Change) settle(d *people.Directory, now int64) Change {
	t := people.TallyOf(c.Approval, d)
	if t.Outcome == approval.Pending {
		return c
	}
	c.Approval.Votes = people.Standing(c.Approval, d)
	c.Approval.Status, c.Approval.Decision = t.Outcome, t.Decision
	c.Approval.DecidedBy, c.Approval.Reason = t.Deciders(), t.Reason
	if n := c.Approval.Rule.Verifier; n != nil && t.Outcome == approval.Approved && strings.HasPrefix(n.Instead, "grant:") {
		c.Approval.DecidedBy = append([]string{n.Instead}, c.Approval.DecidedBy...)
	}
	return c.end(approval.EventResolved, now).leaveGrant(t.By, now)
}

// end finishes a change whose approval just got its final status.
func (c Change) end(event approval.EventType, now int64) Change {
	c.Approval = c.Approval.ReachedAfterAll()
	a := &c.Approval
	a.ResolvedAtMs, a.FallbackAtMs, a.VerifierLookMs, a.Drafts = now, 0, 0, nil
	if a.Status == approval.Approved {
		a.ClaimUntilMs = now + approval.ClaimWindowMs
	} else {
		c.Unseal = true
	}
	c.Redraw = !c.New
	c.Events = append(c.Events, a.Event(event, now, approval.EventData{}))
	if !c.New {
		c.Deliveries = append(c.Deliveries, notify(*a, approval.OutcomeDelivery, now)...)
	}
	c.Deliveries = append(c.Deliveries, callBack(*a, now)...)
	return c
}
