package core

import (
	"fmt"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// maxRetries is how often one approval may be made claimable again.
const maxRetries = 3

// today is what is known of a call when a person wants it to run again. The zero value is
// for a deny, which needs no such facts.
type today struct {
	judgement *approval.Judgement // nil: the call is no longer kept
	coolDown  *approval.Grant     // a person's deny of the very call that still counts; nil if there was none
}

// notAgain says why the call may not run again, independently of the voter, or nil. round
// is the open round, or nil.
func notAgain(a approval.Approval, b Ballot, round *approval.RetryRound, t today, rules *Rules, now int64) *approval.Error {
	unknown := a.MayRunOn()
	switch {
	case round == nil && !b.Opens:
		return approval.Refuse(approval.CodeDecisionNotOffered, "No retry of %s is open; open one with: approvalbot retry %s", a.Code, a.Code)
	case a.Status == approval.Pending:
		return approval.NotClaimable(approval.WhyPending, "The approval is still pending.")
	case a.Status != approval.Approved:
		return approval.NotClaimable(approval.WhyDenied, "Only an approved request can be retried; this one is "+string(a.Status)+".")
	case a.RevokedAtMs != 0:
		return approval.NotClaimable(approval.WhyRevoked, "The approval was taken back.")
	case a.ToolName == approval.DrillTool:
		return approval.NotClaimable(approval.WhyPolicy, approval.WasDrill)
	case a.RanWell():
		return approval.Refuse(approval.CodeRetryDataGone, "The call was reported as succeeded, so it does not "+
			"run again. The agent must ask again.")
	case a.ClaimedAtMs == 0 && now < a.ClaimUntilMs:
		return approval.NotClaimable(approval.WhyPending, "The call can still be claimed, so it needs no retry.")
	case a.ClaimedAtMs == 0 && wasSigned(a):
		return approval.NotClaimable(approval.WhyLate, "The call was allowed by a signed yes and not claimed in "+
			"time, so it cannot be retried. The agent must ask again.")
	case b.After != nil && *b.After != len(a.RetriedBy):
		return approval.NotClaimable(approval.WhyLate, fmt.Sprintf("That answer is for the call after %d retries, "+
			"but there are now %d. Look at %s again.", *b.After, len(a.RetriedBy), a.Code))
	case round == nil && a.ClaimedAtMs != 0 && unknown && b.namesNoRun() && saidRetry(a, rules.People.Identify(b.Voter)):
		return approval.NotClaimable(approval.WhyPending, fmt.Sprintf("You have already allowed a retry, and its run "+
			"has reported no result. To allow one more, send after: %d.", len(a.RetriedBy)))
	case t.judgement == nil || callGone(a, rules, now):
		return retryDataGone()
	case a.Retries >= maxRetries:
		return approval.NotClaimable(approval.WhyLate, fmt.Sprintf("The call was retried %d times, which is the "+
			"limit. The agent must ask again.", a.Retries))
	case unknown && round == nil && !b.WithoutResult:
		return approval.NotClaimable(approval.WhyPending, "No result was reported, so the call may still be "+
			"running. Wait for the result. If you know that the call has ended: "+
			"approvalbot retry "+a.Code+" --without-result")
	case t.coolDown != nil && people.Refuses(*t.coolDown, a, now):
		return deniedLately(*t.coolDown, now)
	}
	if why := askerGone(a, rules); why != "" {
		return approval.NotClaimable(approval.WhyPolicy, why)
	}
	return nil
}

// wasSigned reports whether a passkey had to sign the last yes, or did.
func wasSigned(a approval.Approval) bool {
	return a.Rule.StepUp || slices.ContainsFunc(a.Votes, func(v approval.Vote) bool { return v.Signature != nil })
}

// letAgain reports whether a retry waits to be claimed that the voter has voted for, with that note if there is one.
func letAgain(a approval.Approval, v approval.Voter, note string, now int64) bool {
	waits := a.ClaimedAtMs == 0 && now < a.ClaimUntilMs && a.RevokedAtMs == 0
	return waits && saidRetry(a, v) && (note == "" || slices.Contains(a.Notes(), approval.Note{By: v.Name(), Text: note}))
}

// saidRetry reports whether the voter has voted for the newest retry.
func saidRetry(a approval.Approval, v approval.Voter) bool {
	return slices.ContainsFunc(a.Votes, func(o approval.Vote) bool { return o.Decision == approval.Retry && o.By(v) })
}

// askerGone says why the askers could not ask for the call today; empty if they could.
func askerGone(a approval.Approval, rules *Rules) string {
	person, may := rules.Owners[a.Owner]
	switch {
	case !may:
		return "The token " + a.Owner + ", which asked for it, may no longer ask."
	case person != "" && !rules.People.IsAsker(approval.Voter{Person: person}, a.Askers):
		return "The token " + a.Owner + ", which asked for it, is another person's now; the agent must ask again."
	}
	for _, r := range a.Askers {
		if r.Person != "" && r.Person != person && !rules.People.Known(r.Person) {
			return r.Person + ", who asked for it, is no longer in the configuration."
		}
	}
	return ""
}

// voteAgain counts a ballot on whether an approved call runs once more: "retry", which
// opens a round if no round is open, or a deny, which ends it. The votes count as those on
// a pending approval do, see [Approval.again].
func voteAgain(a approval.Approval, b Ballot, t today, rules *Rules, now int64) (Change, error) {
	a = underRules(a, rules)
	d, round := rules.People, a.OpenRound(now)
	v := d.Identify(b.Voter)
	b.Reason = approval.CleanText(b.Reason, approval.MaxReason)
	asked := people.MayNotDecide(a, v, d) || people.AskedWith(a, v)
	asks := a // what says which of the verifier's people are asked
	if round != nil {
		asks = a.Again(*round)
	}
	switch {
	case b.Decision == approval.Deny && round == nil:
		return lateVote(a, v, b), nil
	case b.Decision == approval.Deny && asked:
		vote := approval.Vote{Approver: approval.UserRequest, Verdict: approval.Reject, Decision: approval.Deny, Voter: &v, Reason: b.Reason, DecidedAtMs: now}
		return deniedAgain(a, a.Again(*round), []string{v.Name()}, "", b, vote, now), nil
	case asked:
		return refusedAgain(a, v, b, approval.Refuse(approval.CodeSelfApproval,
			"You cannot allow a retry of your own request; another approver must."), now), nil
	case !people.WeightOf(asks, v, d).Deny:
		return refusedAgain(a, v, b, notAnApprover(), now), nil
	case b.Decision == approval.Retry && letAgain(a, v, b.Note, now):
		return Change{Approval: a, Unchanged: true}, nil // the answer to their vote was lost
	case b.Decision == approval.Retry && b.Code != "":
		return refusedAgain(a, v, b, approval.Refuse(approval.CodeDecisionNotOffered,
			"A card's button cannot vote for a retry: type retry %s, or reply retry to the message that asks for it.",
			a.Code), now), nil
	case b.Decision == approval.Retry && b.Chat != nil && round != nil &&
		b.ReceivedMs < round.OpenedAtMs:
		return refusedAgain(a, v, b, approval.Refuse(approval.CodeDecisionNotOffered,
			"Your answer came before this retry of %s was asked for. Look at the request for the retry, and answer "+
				"again.", a.Code), now), nil
	}
	var view approval.Approval
	if b.Decision == approval.Deny {
		view = a.Again(*round)
	} else {
		if no := notAgain(a, b, round, t, rules, now); no != nil {
			return Change{}, no
		}
		if round == nil {
			round = newRound(a, v.Name(), b.WithoutResult, *t.judgement, rules, now)
		}
		view = judgedForRound(a.Again(*round), t.judgement, rules, now)
	}
	if view.Final() { // policy refuses it, or no approver could allow it
		c := refusedAgain(a, v, b, approval.PolicyRefuses(view.Reason), now)
		c.Events = []approval.Event{a.Event(approval.EventRefused, now, approval.EventData{By: v.Name(), Why: approval.WhyPolicy})}
		return c, nil
	}
	if no := admits(view, v, b, d); no != nil {
		if no.Code == CodeUnconfirmed {
			return toConfirm(a, b, no, now), nil
		}
		return refusedAgain(a, v, b, no, now), nil
	}
	vote, no := ballotVote(view, v, b, d, now)
	if no != nil {
		return refusedAgain(a, v, b, no, now), nil
	}
	view, repeated := with(view, vote, d)
	tally := people.TallyOf(view, d)
	used := b.spent(vote.Signature, now)
	switch {
	case tally.Outcome == approval.Denied:
		return deniedAgain(a, view, tally.By, vote.Reason, b, vote, now), nil
	case tally.Outcome == approval.Approved:
		return runsAgain(a, view, *round, tally, b, vote, d, now), nil
	case repeated && b.Note != "" && !slices.ContainsFunc(view.Votes, vote.Repeated):
		return refusedAgain(a, v, b, noteLate(), now), nil
	case repeated:
		return Change{Approval: a, Unchanged: true, Passkey: used}, nil
	}
	next := a.Clone()
	next.Round, next.RoundDenied = round.Of(view), nil
	c := Change{Approval: next, Redraw: true, Passkey: used, Events: votedAgain(next, vote, b, now)}
	if a.OpenRound(now) == nil {
		c.Deliveries = tellOfRound(next, rules, now)
	}
	return c, nil
}

// with is the view with one more vote, in place of the same person's before it. repeated:
// that one was the same, and stays.
func with(a approval.Approval, vote approval.Vote, d *people.Directory) (_ approval.Approval, repeated bool) {
	i := slices.IndexFunc(a.Votes, func(o approval.Vote) bool { return o.By(*vote.Voter) })
	if i < 0 {
		a.Votes = append(slices.Clone(a.Votes), vote)
		return a, false
	}
	old := a.Votes[i]
	same := old.Repeated(vote) && people.WeightNow(a, old, d) != people.Weight{}
	weaker := vote.VerifierOnly && people.FillsBoth(a, old, d) && vote.Verdict == approval.Approve
	if same && !people.CountsForMore(a, old, vote, d) || weaker {
		return a, true
	}
	a.Votes = append(slices.Delete(slices.Clone(a.Votes), i, i+1), vote)
	return a, false
}

// runsAgain makes the call claimable once more, by the round's people, rule and policy.
// What was known of the run before goes behind.
func runsAgain(a approval.Approval, view approval.Approval, round approval.RetryRound, t people.Tally, b Ballot, vote approval.Vote, d *people.Directory, now int64) Change {
	voted := a.Clone()
	voted.Round = round.Of(view)
	next := a.Clone()
	next.RetriedBy = append(next.RetriedBy, approval.Retried{By: t.Deciders(), AtMs: now, WithoutResult: round.WithoutResult,
		Before: a.Run()})
	next.Retries++
	next.Votes, next.Rule, next.Assessment, next.PolicyHash = people.Standing(view, d), view.Rule, view.Assessment, view.PolicyHash
	next.DecidedBy, next.Reason = t.Deciders(), t.Reason
	next.ClaimedAtMs, next.ClaimID, next.ClaimedAs, next.Result, next.GoneAtMs = 0, "", "", nil, 0
	next.Round, next.RoundDenied, next.Drafts = nil, nil, nil
	next.ClaimUntilMs = now + approval.ClaimWindowMs
	what := approval.EventData{By: vote.Voter.Name(), Until: next.ClaimUntilMs}
	return Change{Approval: next, Redraw: true, Passkey: b.spent(vote.Signature, now),
		// The second says what the retry follows, a failed result for one.
		Events: append(votedAgain(voted, vote, b, now),
			a.Event(approval.EventRetry, now, what), next.Event(approval.EventResolved, now, what)),
		Deliveries: append(notify(next, approval.RetryDelivery, now), callBack(next, now)...),
	}
}

// deniedAgain ends a round: the approval stays as it is, and the same call is refused for
// a while, as after any deny of a person.
func deniedAgain(a approval.Approval, view approval.Approval, by []string, reason string, b Ballot, vote approval.Vote, now int64) Change {
	denied := view
	denied.DecidedBy = by
	cool := Change{Approval: denied}.coolDown(reason, now)
	next := a.Clone()
	next.Round, next.Drafts, next.CoolsUntilMs, next.AskAgainBy = nil, nil, cool.Approval.CoolsUntilMs, ""
	if vote.Verdict == approval.Reject {
		next.RoundDenied = &vote
	}
	what := approval.EventData{Vote: &vote, By: by[0], Round: a.Round}
	return Change{Approval: next, Redraw: true, Grants: cool.Grants, Ends: cool.Ends,
		Passkey: b.spent(nil, now),
		Events:  append([]approval.Event{next.Event(approval.EventVote, now, what)}, cool.Events...)}
}

// votedAgain is the log's word on a vote of a round.
func votedAgain(a approval.Approval, vote approval.Vote, b Ballot, now int64) []approval.Event {
	out := []approval.Event{a.Event(approval.EventVote, now, approval.EventData{Vote: &vote, Solo: a.Solo, Round: a.Round})}
	if vote.Signature != nil {
		out = append(out, signedEvent(a, b.evidence.Passkey, now))
	}
	return out
}

// refusedAgain is [Approval.refused] on an approval that has ended.
func refusedAgain(a approval.Approval, v approval.Voter, b Ballot, why *approval.Error, now int64) Change {
	c := refused(a, v, b, why, now)
	c.Approval, c.Unchanged = a, true
	return c
}
