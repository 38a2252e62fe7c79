package core

import (
	"context"

	"approvalbot/internal/fault"
)

// report stores what the owner says about the execution, once.
func (a Approval) report(r Result, now int64) (Change, error) {
	r.Summary, r.AtMs = cleanText(r.Summary, maxResultSummary), now
	switch {
	case a.ClaimedAtMs == 0:
		return Change{}, notClaimable(WhyPending, "Nothing was claimed yet, so there is no result to report.")
	case a.Result != nil && a.Result.same(r):
		return Change{Approval: a, Unchanged: true}, nil
	case a.Result != nil:
		return Change{}, refuse(CodeAlreadyUsed, "A result was reported before.")
	}
	next := a.clone()
	next.Result = &r
	return Change{
		Approval: next, Unseal: next.KeptSinceMs() == 0, Redraw: true,
		Events:     []Event{next.event(EventResult, now, eventData{By: "token:" + a.Owner})},
		Deliveries: next.notify(ResultDelivery, now),
	}, nil
}

func (r Result) same(o Result) bool {
	return r.Status == o.Status && r.Summary == o.Summary && equal(r.ExitCode, o.ExitCode)
}

func (a Approval) failed() bool { return a.Result != nil && a.Result.Status != "succeeded" }

// Report stores the owner's word on how the execution went, once, after the claim.
func (g *Gate) Report(ctx context.Context, who Caller, id string, r Result) (Approval, error) {
	if r.Status != "succeeded" && r.Status != "failed" {
		return Approval{}, Invalid(FieldError{"status", "must be succeeded or failed"})
	}
	key, err := g.ownKey(ctx, who, id)
	if err != nil {
		return Approval{}, err
	}
	fault.Point("before-result-committed")
	defer fault.Point("after-result-committed")
	return g.update(ctx, key, func(a Approval) (Change, error) { return a.report(r, nowMs()) })
}
