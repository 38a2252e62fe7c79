package core

import (
	"slices"

	"approvalbot/internal/approval"
)

// openTries is how often a card itself must have gone unanswered before its call runs
// because no approver could be asked. That other messages to the chat fail is not enough.
const openTries = 2

// leastLookMs is how often at most is looked whether a card has arrived.
const leastLookMs = 1000

// nextLook says when to look whether a card has arrived; 0 if no approver can be asked. A
// card is only late if its chat is limited, or if it waits behind other cards or for its
// first try. A card cannot arrive if it has failed for good, or if its chat was tried after
// the card was made and has not answered for as long as fallback targets are waited for.
// The tries must cover half of that time: time in which the desk did not try, as while it
// was down, does not count. open: the call may run if no chat can be reached.
func nextLook(
	cards []approval.Delivery, open bool, unreachable map[approval.Target]approval.Unreachable, afterMs, again, now int64,
) (look int64) {
	for _, d := range cards {
		if d.Kind != approval.CardDelivery || d.State != approval.Queued && d.State != approval.Folded {
			continue
		}
		switch s, ok := unreachable[d.Target.Chat()]; {
		case ok && s.SinceMs+afterMs > now:
			look = max(look, s.SinceMs+afterMs)
		case !ok, s.TriedMs < d.CreatedMs, s.TriedMs-s.SinceMs < afterMs/2, open && d.Attempts < openTries:
			look = max(look, again)
		}
	}
	return look
}

// fallBack adds the fallback targets that have no card yet, if there are any.
func (c Change) fallBack(routes Routes, now int64) Change {
	a := &c.Approval
	a.FallbackDone = true
	for _, t := range routes.Fallback {
		if !a.HasCardAt(t) {
			d := furtherCard(*a, t.Normal(), now)
			d.Fallback = true
			c.Deliveries = append(c.Deliveries, d)
		}
	}
	if len(c.Deliveries) > 0 {
		a.FallbackAtMs = now + routes.FallbackAfterMs
		c.Events = append(c.Events, a.Event(approval.EventFallback, now, approval.EventData{}))
	}
	return c
}

// unreached says, once, that no approver could be asked.
func (c Change) unreached(now int64) Change {
	a := &c.Approval
	a.FallbackAtMs = 0
	if !a.Reached {
		return c
	}
	a.Reached = false
	if !slices.Contains(a.Assessment.ReasonCodes, approval.ReasonUnreached) {
		a.Assessment.ReasonCodes = append(slices.Clone(a.Assessment.ReasonCodes), approval.ReasonUnreached)
	}
	if a.Unreached && !a.CardRefused() {
		c.Events = append(c.Events, a.Event(approval.EventFailOpen, now, approval.EventData{Why: "approvals.exec.askFallback"}))
		a.Status, a.Decision, a.DecidedBy = approval.Approved, approval.AllowOnce, []string{"policy"}
		a.Reason = "nobody could be asked, and approvals.exec.askFallback lets it run then"
		return c.end(approval.EventResolved, now)
	}
	c.Events = append(c.Events, a.Event(approval.EventUnreached, now, approval.EventData{}))
	atOrigin := func(d approval.Delivery) bool { return d.Target.Normal() == a.Origin.Normal() }
	if a.Origin != nil && !slices.ContainsFunc(a.Deliveries, atOrigin) {
		c.Deliveries = append(c.Deliveries, a.Delivery(approval.UnreachedDelivery, a.Origin.Normal(), now))
	}
	return c
}
