package core

import (
	"context"

	"approvalbot/internal/approval"
	"approvalbot/internal/fault"
)

// report stores what the owner says about the execution of one run, once: the run that was
// claimed by that claimId, or without one that of the id that the result is addressed by, see runOf.
func report(a approval.Approval, id, claimID string, r approval.Result, now int64) (Change, error) {
	r.Summary, r.AtMs = approval.CleanText(r.Summary, approval.MaxResultSummary), now
	r.Confined = ranConfined(a, r.Confined)
	earlier := a.EarlierRun(claimID)
	newest := a.ClaimedAtMs != 0 && claimID == a.ClaimID
	if claimID == "" {
		newest, earlier = a.RunOf(a.Alias(id))
	}
	run := a.Run()
	if !newest && earlier >= 0 {
		run = a.RetriedBy[earlier].Before
	}
	r.Unnamed = claimID == "" && (run.ClaimID != "" || len(a.RetriedBy) > 0)
	// The run's own word counts for more; but a success stays one, whichever run's it was.
	replaces := run.Result != nil && run.Result.Unnamed && claimID != "" && (r.Status == "succeeded" || !run.RanWell())
	switch {
	case !newest && earlier < 0 && claimID != "":
		return Change{}, approval.Refuse(approval.CodeNotFound, "No run of %s was claimed with that claimId.", a.Code)
	case !newest && earlier < 0:
		return Change{}, approval.NotClaimable(approval.WhyPending, "The call was not claimed yet, so it has no result to report.")
	case run.Result != nil && same(*run.Result, r):
		if claimID == "" || !run.Result.Unnamed {
			return Change{Approval: a, Unchanged: true}, nil
		}
		r.AtMs = run.Result.AtMs
		return Change{Approval: withResult(a, newest, earlier, r)}, nil
	case run.Result != nil && !replaces:
		return Change{}, approval.Refuse(approval.CodeAlreadyUsed, "A different result was already reported for this "+
			"run.")
	}
	next := withResult(a, newest, earlier, r)
	said := next // as the log has it: with the result of the run that it is of
	said.Result = &r
	c := Change{
		Approval: next, Unseal: KeptSinceMs(next) == 0, Redraw: true,
		Events: []approval.Event{said.Event(approval.EventResult, now, approval.EventData{By: "token:" + a.Owner, ClaimID: run.ClaimID})},
	}
	if failedConfined(said) {
		c.TriedUntilMs = now + triedConfinedMs
	}
	if newest {
		c.Deliveries = notify(next, approval.ResultDelivery, now)
	} else if next.Overtaken() {
		c.Approval.ClaimUntilMs = now
		c.Deliveries = callBack(next, now) // what it was told may be claimed no longer may
	}
	return c, nil
}

// withResult is the approval with a result of its newest run, or of an earlier one.
func withResult(a approval.Approval, newest bool, earlier int, r approval.Result) approval.Approval {
	next := a.Clone()
	if newest {
		next.Result = &r
	} else {
		next.RetriedBy[earlier].Before.Result = &r
	}
	return next
}

func same(r approval.Result, o approval.Result) bool {
	return r.Status == o.Status && r.Summary == o.Summary && equal(r.ExitCode, o.ExitCode)
}

// Report stores the owner's word on how the execution of a run went, once, after its
// claim. claimID names the run; empty: it is the newest that was claimed under that id, else
// the newest that was claimed.
func (g *Gate) Report(ctx context.Context, who Caller, id, claimID string, r approval.Result) (approval.Approval, error) {
	if r.Status != "succeeded" && r.Status != "failed" {
		return approval.Approval{}, approval.Invalid(approval.FieldError{Field: "status", Problem: "must be succeeded or failed"})
	}
	key, err := g.ownKey(ctx, who, id)
	if err != nil {
		return approval.Approval{}, err
	}
	fault.Point("before-result-committed")
	defer fault.Point("after-result-committed")
	return g.update(ctx, key, func(a approval.Approval) (Change, error) { return report(a, id, claimID, r, nowMs()) })
}
