package core

import (
	"cmp"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// vote counts one ballot. Refusals are part of the Change, because they are
// audited and their platform update is handled.
//
// adopted is the card it came from, when that copy was unknown so far; fresh is
// policy's new judgement, when the rules are others than at the time of asking.
func vote(a approval.Approval, b Ballot, adopted []approval.Delivery, fresh *approval.Judgement, rules *Rules, now int64) Change {
	before := underRules(withCards(a, adopted), rules)
	var c Change
	changed, further := rejudged(before, fresh, rules, now)
	if changed.Final() && !a.Final() {
		c = Change{Approval: changed, Events: rejudgement(changed, fresh, now)}.end(approval.EventResolved, now)
		c.Refusal = card.Ended(c.Approval)
	} else {
		c = count(changed, b, rules.People, now)
		if fresh != nil && !a.Final() {
			if c.Redraw = true; c.Unchanged {
				c.Unchanged, c.Approval = false, changed
			}
		}
		if !a.Final() {
			c.Events = append(rejudgement(changed, fresh, now), c.Events...)
		}
	}
	if c.Refusal != nil && c.Refusal.Code == approval.CodeAlreadyResolved && !people.Concerns(c.Approval, b.Voter, rules.People) {
		no := refused(c.Approval, rules.People.Identify(b.Voter), b, notAnApprover(), now)
		c.Refusal, c.Events = no.Refusal, append(c.Events, no.Events...)
	}
	c.Handled = b.Handled
	if !c.Approval.Final() {
		c.Deliveries, c.Open = append(c.Deliveries, further...), outgrown(c.Approval, a)
	}
	if len(adopted) > 0 && !knows(a, adopted[0]) {
		c.Deliveries = append(c.Deliveries, adopted...)
	}
	return c
}

// count is vote without the bookkeeping of the message it came in.
func count(a approval.Approval, b Ballot, d *people.Directory, now int64) Change {
	v := d.Identify(b.Voter)
	b.Reason = approval.CleanText(b.Reason, approval.MaxReason)
	if a.Final() {
		c := lateVote(a, v, b)
		if round := a.OpenRound(now); round != nil && b.Decision.Allows() {
			c.Refusal = roundAnswers(a, *round, d)
		}
		return c
	}
	if b.ReceivedMs >= a.ExpiresAtMs {
		c := expire(a, now)
		c.Refusal = card.Ended(c.Approval)
		return c
	}
	if refusal := admits(a, v, b, d); refusal != nil {
		if refusal.Code == approval.CodeSelfApproval && b.Decision == approval.Deny {
			return withdraw(looked(a, now), v.Name(), cmp.Or(b.Reason, approval.WithdrawnByRequester), now).coolDown("", now)
		}
		if refusal.Code == CodeUnconfirmed {
			return toConfirm(a, b, refusal, now)
		}
		return refused(a, v, b, refusal, now)
	}
	vote, refusal := ballotVote(a, v, b, d, now)
	if refusal != nil {
		return refused(a, v, b, refusal, now)
	}
	next := looked(a, now).Clone()
	i := slices.IndexFunc(next.Votes, func(o approval.Vote) bool { return o.By(v) })
	switch {
	case i < 0:
		next.Votes = append(next.Votes, vote)
	case next.Votes[i].Repeated(vote) && !people.CountsForMore(a, next.Votes[i], vote, d):
		// A person who has come back in the meantime fills a seat of their own: with this
		// yes it may be enough.
		if c := (Change{Approval: next, Redraw: true, Passkey: b.spent(vote.Signature, now)}).settle(d, now); c.Approval.Final() {
			return c
		}
		return Change{Approval: a, Unchanged: true, Passkey: b.spent(vote.Signature, now)}
	case vote.VerifierOnly && vote.Verdict == approval.Approve && people.FillsBoth(a, next.Votes[i], d):
		if b.Note != "" && b.Note != next.Votes[i].Note {
			return refused(a, v, b, noteLate(), now)
		}
		return Change{Approval: a, Unchanged: true} // the yes from before counts for the verifier, too
	default:
		next.Votes = append(slices.Delete(next.Votes, i, i+1), vote)
	}
	c := Change{Approval: next, Redraw: true, Passkey: b.spent(vote.Signature, now)}
	c.Events = []approval.Event{next.Event(approval.EventVote, now, approval.EventData{Vote: &vote, Solo: a.Solo})}
	if vote.Signature != nil {
		c.Events = append(c.Events, signedEvent(next, b.evidence.Passkey, now))
	}
	return c.settle(d, now)
}

// noteLate refuses a note with a yes that only repeats the one before it.
func noteLate() *approval.Error {
	return approval.Refuse(approval.CodeDecisionNotOffered, "Your earlier yes already counts for the verifier too, "+
		"so this yes and its note were not stored. Send the note with your earlier yes.")
}

// voteOf is the vote that an admitted ballot gives, or why its signature does not count.
func ballotVote(a approval.Approval, v approval.Voter, b Ballot, d *people.Directory, now int64) (vote approval.Vote, refusal *approval.Error) {
	vote = approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: b.Decision, Voter: &v, Reason: b.Reason,
		Note: b.Note, DecidedAtMs: now, VerifierOnly: people.VerifierOnly(a, v, d), OnDuty: d.OnDuty(v.Person), For: people.Lenders(a, v, d)}
	if b.Decision == approval.Deny {
		vote.Verdict, vote.For = approval.Reject, nil
	} else if a.Rule.StepUp || b.evidence != nil {
		vote.Signature, refusal = sign(a, v, b, now)
	}
	return vote, refusal
}

// admits says why this voter may not give this ballot, or nil.
func admits(a approval.Approval, v approval.Voter, b Ballot, d *people.Directory) *approval.Error {
	w := people.WeightOf(a, v, d)
	switch {
	case people.MayNotDecide(a, v, d):
		return approval.Refuse(approval.CodeSelfApproval, "You cannot approve your own request.")
	case !w.Deny, b.atVerifier && !w.Verifier:
		return notAnApprover()
	case !a.Rule.Admits(approval.UserRequest) && !w.Verifier:
		return approval.Refuse(approval.CodeDecisionNotOffered, "People cannot decide this request, because policy "+
			"decides it alone.")
	case b.Decision == approval.Deny:
		return nil
	case !slices.Contains(a.Offers, b.Decision) || a.Retrying != (b.Decision == approval.Retry) || !a.Retrying && !b.Decision.Allows():
		return approval.Refuse(approval.CodeDecisionNotOffered, "%s is not offered for this request.", display.Escape(string(b.Decision)))
	case !w.Approvers && w.Verifier && b.Decision != approval.AllowOnce && b.Decision != approval.Retry:
		return approval.Refuse(approval.CodeDecisionNotOffered,
			"You are asked on behalf of the verifier, so your yes can cover only this call: allow it once, or deny it.")
	case !w.Approvers && !w.Verifier && !a.Rule.AsksApprovers():
		return approval.Refuse(approval.CodeNotAnApprover, "Only the verifier's people can allow this request; you can deny it.")
	case !w.Approvers && !w.Verifier:
		return approval.Refuse(approval.CodeNotAnApprover,
			"This request needs %d approvals, and only approvals by people in the desk's configuration count.",
			a.Rule.MinApprovals)
	case a.Rule.StepUp && b.evidence == nil:
		return nil // the next answer is that it must be signed, in every place that showed it
	case b.Chat != nil && !a.ShownIn(*b.Chat):
		return a.UnseenIn(*b.Chat)
	case b.Unseen:
		return unseenOnWeb(a)
	}
	return unconfirmed(a, b)
}

func notAnApprover() *approval.Error {
	return approval.Refuse(approval.CodeNotAnApprover, "You are not authorized to approve/deny this request.")
}

// lateVote answers a ballot on an ended approval: the same person's same vote
// again is fine, unless it brings another note; anything else is told how it ended.
func lateVote(a approval.Approval, v approval.Voter, b Ballot) Change {
	c := Change{Approval: a, Unchanged: true}
	same := slices.ContainsFunc(a.Votes, func(o approval.Vote) bool {
		return o.By(v) && o.Decision == b.Decision && (b.Note == "" || o.Note == b.Note)
	})
	withdrew := a.Status == approval.Withdrawn && b.Decision == approval.Deny && slices.Contains(a.DecidedBy, v.Name())
	endedRound := b.Decision == approval.Deny && a.DeniedRound(v)
	switch n := len(a.RetriedBy); {
	case same || withdrew || endedRound:
	case b.Decision == approval.Deny && n > 0 && a.Status == approval.Approved && a.RevokedAtMs == 0:
		c.Refusal = approval.Refuse(approval.CodeAlreadyResolved, "Already decided: %s, and %s allowed a retry. "+
			"Until the retry is claimed, an operator can take it back: approvalbot revoke "+
			"%s", card.Ending(a), people.People(a.RetriedBy[n-1].By), a.Code)
	default:
		c.Refusal = card.Ended(a)
	}
	return c
}

// refused records an attempt that was not allowed.
func refused(a approval.Approval, v approval.Voter, b Ballot, why *approval.Error, now int64) Change {
	c := Change{Approval: looked(a, now), Unchanged: a.LookedAtMs != 0, Refusal: why, Passkey: b.spent(nil, now)}
	c.Events = []approval.Event{a.Event(approval.EventRefused, now, approval.EventData{
		Vote: &approval.Vote{Approver: approval.UserRequest, Verdict: approval.Errored, Decision: b.Decision, Voter: &v,
			ReasonCodes: []string{string(why.Code)}, DecidedAtMs: now},
	})}
	return c
}

// withCards is the approval with further cards known.
func withCards(a approval.Approval, more []approval.Delivery) approval.Approval {
	a.Deliveries = append(slices.Clone(a.Deliveries), more...)
	return a
}

// knows reports whether that very message is one of the approval's deliveries.
func knows(a approval.Approval, card approval.Delivery) bool {
	return slices.ContainsFunc(a.Deliveries, func(d approval.Delivery) bool {
		return d.MessageID == card.MessageID && d.Target.Chat() == card.Target.Chat()
	})
}

func unseenOnWeb(a approval.Approval) *approval.Error {
	return approval.Refuse(approval.CodeUnseenPayload, "You have not been shown all of what %s would run. Open the "+
		"request, and download the call if it is too long for the page.", a.Code)
}
