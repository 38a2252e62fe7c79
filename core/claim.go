package core

import (
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// ClaimInput is what an owner says when it claims an approved call.
type ClaimInput struct {
	Params  []byte         // what it is about to run, if it says so; must be what was approved
	Bind    *approval.Bind // the place in which it is about to run it, likewise
	Confine string         // the profile by which the run will be confined; empty: it will not be
	ClaimID string         // names this claim, so that a lost answer can be asked for again

	as string // as in Approval.ClaimedAs
}

// claim hands an approved call out, once. call is what was sealed, policyDenies the
// reason why policy would now refuse it.
func claim(a approval.Approval, in ClaimInput, call approval.Call, policyDenies string, now int64) (Change, error) {
	switch {
	case a.Status == approval.Pending:
		return Change{}, approval.NotClaimable(approval.WhyPending, "The approval is still pending.")
	case a.Status != approval.Approved:
		return Change{}, approval.NotClaimable(approval.WhyDenied, "The request was not approved; its "+
			"status is "+string(a.Status)+".")
	case a.RevokedAtMs != 0:
		return Change{}, approval.NotClaimable(approval.WhyRevoked, "The approval was taken back.")
	case a.ToolName == approval.DrillTool:
		return Change{}, approval.NotClaimable(approval.WhyPolicy, approval.WasDrill)
	case a.Overtaken():
		return Change{}, approval.NotClaimable(approval.WhyRevoked,
			"An earlier run was reported as succeeded after all, so the retry was taken back.")
	case a.EarlierRun(in.ClaimID) >= 0:
		return Change{}, approval.Refuse(approval.CodeAlreadyUsed, "That claimId names an earlier run of this call; "+
			"use a new claimId to claim the retry.")
	}
	sameID := in.ClaimID != "" && in.ClaimID == a.ClaimID
	repeat := a.ClaimedAtMs != 0 && a.Result == nil && sameID
	if repeat && (a.Round != nil || a.RoundDenied != nil) { // opened because a person said that it has ended
		return Change{}, approval.Refuse(approval.CodeAlreadyUsed, "The approval was claimed before, and people were told that its run ended.")
	}
	if a.ClaimedAtMs != 0 && !repeat {
		return Change{}, approval.Refuse(approval.CodeAlreadyUsed, "The approval was claimed before.")
	}
	if !repeat && now >= a.ClaimUntilMs {
		return Change{}, approval.NotClaimable(approval.WhyLate, "The time to claim this approval is over. Ask "+
			"again, or ask people to vote for a retry.")
	}
	if err := sameCall(a.Fingerprint, in, call); err != nil {
		return Change{}, err
	}
	if a.Confined != nil && in.Confine != a.Confined.Profile {
		return Change{}, approval.NotClaimable(approval.WhyPolicy, "This call may only run confined. Claim it "+
			"with confine [\""+a.Confined.Profile+"\"], and run it so.")
	}
	if policyDenies != "" {
		c := Change{Approval: a, Unchanged: true, Refusal: approval.PolicyRefuses(policyDenies)}
		c.Events = []approval.Event{a.Event(approval.EventRefused, now, approval.EventData{By: "token:" + a.Owner, Why: approval.WhyPolicy})}
		return c, nil
	}
	if repeat {
		return Change{Approval: a, Unchanged: true, HandsOut: true}, nil
	}
	next := a.Clone()
	next.ClaimedAtMs, next.ClaimID, next.ClaimedAs, next.GoneAtMs = now, in.ClaimID, in.as, 0
	claimed := next.Event(approval.EventClaimed, now, approval.EventData{By: "token:" + a.Owner})
	return Change{Approval: next, Events: []approval.Event{claimed}, HandsOut: true, Tool: next.ToolSeen(),
		Redraw: a.MayBeTakenBack(now)}, nil
}

// fallen says why an approval that people gave no longer has its quorum, or "": a yes counts by
// the authority that its voter has now, also while the approval waits to be claimed.
func fallen(a approval.Approval, rules *Rules) string {
	if !slices.ContainsFunc(a.Votes, approval.ByPeople) || slices.Contains(a.DecidedBy, "policy") {
		return "" // people did not settle it; see [Gate.rejudge]
	}
	d, view := rules.People, underRules(a, rules)
	view.Votes = people.LentStill(view, d)
	if people.TallyOf(view, d).Outcome == approval.Approved {
		return ""
	}
	var lost []string
	for _, v := range a.Votes {
		if approval.ByPeople(v) && v.Verdict == approval.Approve && people.WeightNow(view, v, d) == (people.Weight{}) {
			lost = append(lost, v.Voter.Name())
		}
	}
	if len(lost) == 0 {
		return a.Code + " has too few approvals under the rules of now; ask again."
	}
	return people.People(lost) + " may no longer decide " + a.Code + ", so its approval was taken back; ask again."
}

// takenBack revokes an approval that was to be claimed, and refuses the claim.
func takenBack(a approval.Approval, why string, now int64) (Change, error) {
	c, err := revoke(a, "policy", why, now)
	if err != nil {
		return c, err
	}
	c.Refusal = approval.NotClaimable(approval.WhyRevoked, why)
	c.Events = append(c.Events, a.Event(approval.EventRefused, now, approval.EventData{By: "token:" + a.Owner, Why: approval.WhyRevoked}))
	return c, nil
}

// sameCall refuses a claim for other bytes, or for another place, than approved.
func sameCall(fingerprint string, in ClaimInput, call approval.Call) error {
	if in.Params == nil && in.Bind == nil {
		return nil
	}
	if in.Params != nil {
		call.Params = in.Params
	}
	if in.Bind != nil {
		call.Bind = in.Bind
	}
	got, err := approval.Canonical(call.ToolName, call.Params, call.Bind)
	if err != nil {
		return approval.Invalid(approval.FieldError{Field: "params", Problem: err.Error()})
	}
	if got.Fingerprint != fingerprint {
		return approval.Refuse(approval.CodeFingerprintMismatch,
			"This is not the call that was approved: its fingerprint is different.")
	}
	return nil
}

// notDenied refuses a retry that waits to be claimed, or one more vote for it, if a person's
// deny of the very call counts at that moment. Grants are those that could speak about the call.
func notDenied(a approval.Approval, now int64) func(grants []approval.Grant) error {
	return func(grants []approval.Grant) error {
		for _, cool := range grants {
			if people.Refuses(cool, a, now) {
				return deniedLately(cool, now)
			}
		}
		return nil
	}
}

func deniedLately(cool approval.Grant, now int64) *approval.Error {
	return approval.NotClaimable(approval.WhyDenied, deniedText(cool, now)+"; it does not run again until "+
		approval.TimeText(cool.ExpiresAtMs, time.Local))
}
