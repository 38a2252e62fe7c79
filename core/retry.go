package core

import (
	"context"

	"approvalbot/internal/fault"
)

// retry makes an approved call claimable again. hasCall: the sealed call is still
// there; policyDenies is the reason why policy would now refuse it.
func (a Approval) retry(by string, hasCall bool, policyDenies string, now int64) (Change, error) {
	switch {
	case a.Status == Pending:
		return Change{}, notClaimable(WhyPending, "The approval is still pending.")
	case a.Status != Approved:
		return Change{}, notClaimable(WhyDenied,
			"Only an approved request can be retried; this one is "+string(a.Status)+".")
	case a.RevokedAtMs != 0:
		return Change{}, notClaimable(WhyRevoked, "The approval was taken back.")
	case !hasCall:
		return Change{}, retryDataGone()
	case policyDenies != "":
		c := Change{Approval: a, Unchanged: true, Refusal: policyRefuses(policyDenies)}
		c.Events = []Event{a.event(EventRefused, now, eventData{By: by, Why: WhyPolicy})}
		return c, nil
	}
	next := a.clone()
	next.ClaimedAtMs, next.ClaimID, next.Result, next.ClaimUntilMs = 0, "", nil, now+claimWindowMs
	next.Retries++
	what := eventData{By: by, Until: next.ClaimUntilMs}
	return Change{Approval: next, Redraw: true,
		// The first says what the retry follows, a failed result for one.
		Events:     []Event{a.event(EventRetry, now, what), next.event(EventResolved, now, what)},
		Deliveries: append(next.notify(RetryDelivery, now), next.callBack(now)...),
	}, nil
}

// Retry makes an approved call claimable again for its owner, and tells it. The
// call itself is never in the answer. CodeRetryDataGone when it was deleted, or its
// time for that is over, and
// CodeSelfApproval for the token, or the person, that asked.
func (g *Gate) Retry(ctx context.Context, who Caller, ref string) (Approval, error) {
	if !who.MayDecide {
		return Approval{}, refuse(CodeForbidden, "This token may not retry: it needs the scope operator.approvals.")
	}
	rules, err := g.inForce()
	if err != nil {
		return Approval{}, err
	}
	key, err := g.Resolve(ctx, who, ref)
	if err != nil {
		return Approval{}, err
	}
	a, err := g.store.Get(ctx, key)
	if err != nil {
		return a, err
	}
	call, errSealed := g.openInTime(ctx, a, rules)
	if errSealed != nil && CodeOf(errSealed) != CodeRetryDataGone {
		return a, errSealed
	}
	denies := ""
	if errSealed == nil {
		denies = g.rejudge(ctx, a, call, rules)
	}
	fault.Point("before-retry-committed")
	defer fault.Point("after-retry-committed")
	return g.update(ctx, key, func(a Approval) (Change, error) {
		by := "token:" + who.Token
		if who.Person != "" {
			by = "person:" + who.Person
		}
		if a.mayNotRetry(who, rules) {
			return Change{Approval: a, Unchanged: true,
				Refusal: refuse(CodeSelfApproval, "You cannot make your own request run again."),
				Events:  []Event{a.event(EventRefused, nowMs(), eventData{By: by, Why: string(CodeSelfApproval)})}}, nil
		}
		now := nowMs()
		c, err := a.retry(by, errSealed == nil && !a.callGone(rules, now), denies, now)
		c.Policy = rules.Policy.Hash()
		return c, err
	})
}
