package core

import (
	"context"

	"approvalbot/internal/fault"
)

// report stores what the owner says about the execution of one run, once: the run that was
// claimed by that claimId, or without one that of the id that the result is addressed by, see runOf.
func (a Approval) report(id, claimID string, r Result, now int64) (Change, error) {
	r.Summary, r.AtMs = cleanText(r.Summary, maxResultSummary), now
	earlier := a.earlierRun(claimID)
	newest := a.ClaimedAtMs != 0 && claimID == a.ClaimID
	if claimID == "" {
		newest, earlier = a.runOf(a.alias(id))
	}
	run := a.run()
	if !newest && earlier >= 0 {
		run = a.RetriedBy[earlier].Before
	}
	r.Unnamed = claimID == "" && (run.ClaimID != "" || len(a.RetriedBy) > 0)
	// The run's own word counts for more; but a success stays one, whichever run's it was.
	replaces := run.Result != nil && run.Result.Unnamed && claimID != "" && (r.Status == "succeeded" || !run.ranWell())
	switch {
	case !newest && earlier < 0 && claimID != "":
		return Change{}, Refuse(CodeNotFound, "No run of %s was claimed under that claimId.", a.Code)
	case !newest && earlier < 0:
		return Change{}, notClaimable(WhyPending, "Nothing was claimed yet, so there is no result to report.")
	case run.Result != nil && run.Result.same(r):
		if claimID == "" || !run.Result.Unnamed {
			return Change{Approval: a, Unchanged: true}, nil
		}
		r.AtMs = run.Result.AtMs
		return Change{Approval: a.withResult(newest, earlier, r)}, nil
	case run.Result != nil && !replaces:
		return Change{}, Refuse(CodeAlreadyUsed, "A result was reported before.")
	}
	next := a.withResult(newest, earlier, r)
	said := next // as the log has it: with the result of the run that it is of
	said.Result = &r
	c := Change{
		Approval: next, Unseal: next.KeptSinceMs() == 0, Redraw: true,
		Events: []Event{said.event(EventResult, now, eventData{By: "token:" + a.Owner, ClaimID: run.ClaimID})},
	}
	if newest {
		c.Deliveries = next.notify(ResultDelivery, now)
	} else if next.Overtaken() {
		c.Approval.ClaimUntilMs = now
		c.Deliveries = next.callBack(now) // what it was told may be claimed no longer may
	}
	return c, nil
}

// withResult is the approval with a result of its newest run, or of an earlier one.
func (a Approval) withResult(newest bool, earlier int, r Result) Approval {
	next := a.clone()
	if newest {
		next.Result = &r
	} else {
		next.RetriedBy[earlier].Before.Result = &r
	}
	return next
}

func (r Result) same(o Result) bool {
	return r.Status == o.Status && r.Summary == o.Summary && equal(r.ExitCode, o.ExitCode)
}

func (a Approval) failed() bool { return a.Result != nil && a.Result.Status != "succeeded" }

// Report stores the owner's word on how the execution of a run went, once, after its
// claim. claimID names the run; empty: it is the newest that was claimed under that id, else
// the newest that was claimed.
func (g *Gate) Report(ctx context.Context, who Caller, id, claimID string, r Result) (Approval, error) {
	if r.Status != "succeeded" && r.Status != "failed" {
		return Approval{}, Invalid(FieldError{"status", "must be succeeded or failed"})
	}
	key, err := g.ownKey(ctx, who, id)
	if err != nil {
		return Approval{}, err
	}
	fault.Point("before-result-committed")
	defer fault.Point("after-result-committed")
	return g.update(ctx, key, func(a Approval) (Change, error) { return a.report(id, claimID, r, nowMs()) })
}
