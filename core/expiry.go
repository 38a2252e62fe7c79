package core

import (
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// tick does what is due for a pending approval: expiry, fallback targets, and the message
// that no approver could be asked. It always gives a full change, so that the store
// computes the next timer anew. unreachable are the chats that leave tries unanswered; nil:
// not looked up. If tick needs them and they are nil, it gives no change and lookUp is
// true.
func tick(a approval.Approval, routes Routes, unreachable map[approval.Target]approval.Unreachable, now int64) (_ Change, lookUp bool) {
	if a.Final() {
		return unclaimed(a, now), false
	}
	if now >= a.ExpiresAtMs {
		return expire(a, now), false
	}
	c := Change{Approval: a.Clone()}
	sent, waiting := a.CardStates(nil)
	approvers, mayReach := a.CardStates(routes.Verifier)
	if !a.Rule.AsksApprovers() {
		approvers, mayReach = sent, waiting
	}
	switch {
	case approvers || sent && a.FallbackDone:
		c.Approval = c.Approval.ReachedAfterAll()
		c.Approval.FallbackAtMs = 0
		return c, false
	case a.FallbackAtMs == 0 || mayReach && now < a.FallbackAtMs:
		return c, false // the time is not over yet, or it was all said before
	case !a.FallbackDone:
		if c = c.fallBack(routes, now); len(c.Deliveries) > 0 {
			return c, false
		}
	}
	if sent { // the verifier's people are asked
		c.Approval = c.Approval.ReachedAfterAll()
		c.Approval.FallbackAtMs = 0
		return c, false
	}
	if waiting && unreachable == nil {
		return Change{}, true
	}
	again := now + max(routes.FallbackAfterMs, leastLookMs)
	if look := nextLook(a.Deliveries, a.Unreached, unreachable, routes.FallbackAfterMs, again, now); look != 0 {
		c.Approval.FallbackAtMs = max(look, now+leastLookMs)
		return c, false
	}
	if c = c.unreached(now); waiting && !c.Approval.Final() {
		c.Approval.FallbackAtMs = again // a card may arrive after all
	}
	return c, false
}

// expire ends a pending approval because it was not decided in time.
func expire(a approval.Approval, now int64) Change {
	next := a.Clone()
	next.Status, next.Reason = approval.Expired, approval.NobodyDecided
	if slices.ContainsFunc(a.Votes, approval.ByPeople) {
		next.Reason = "too few approvals in time"
		for _, n := range a.Rule.Needs {
			next.Reason += ", of which it needed " + people.Text(n, n.Min)
		}
	}
	return Change{Approval: next}.end(approval.EventExpired, now)
}

// TimerMs is when time next asks something of the approval; 0: never.
func TimerMs(a approval.Approval) int64 {
	if awaitsClaim(a) {
		return a.ClaimUntilMs
	}
	if a.Final() {
		return 0
	}
	next := a.ExpiresAtMs
	for _, at := range []int64{a.FallbackAtMs, a.VerifierLookMs, a.PlanMs} {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}
