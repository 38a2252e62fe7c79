package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/fault"
	"approvalbot/internal/people"
)

// Ballot is one person's vote as it arrives from a chat, the API or a terminal.
type Ballot struct {
	Voter      approval.Voter
	Decision   approval.Decision
	Reason     string
	Chat       *approval.Target     // where it was given; nil: by API or terminal, whose answers show the whole call, or a page
	Unseen     bool                 // of a page, that did not show the whole call
	ReceivedMs int64                // when the desk (or the platform) took it; 0: it waited on the platform, undated
	Code       string               // of the tapped card; another approval's is CodeNotFound. Empty: it was not on a card
	Card       string               // message id of the tapped card, when the desk did not know that copy yet: it is adopted
	Handled    *approval.InboundRef // the platform update it came in
	Signed     *SignedYes           // by the voter's passkey; nil: it was not
	Opens      bool                 // with Retry: it opens a round if none is open
	// WithoutResult: with Opens, although no result says that the run before has ended.
	WithoutResult bool
	After         *int   // with Retry: how many retries the run that it follows had; nil: it is not said
	Unconfirmed   bool   // of a page, that did not ask a second time
	Proof         string // see [Gate.Confirmation]; empty: the person was not asked a second time

	confirmed  bool // Proof is right
	atVerifier bool // Chat is the verifier's own: only its people are asked there

	evidence *evidence      // what the desk has of Signed
	site     assertion.Site // where a yes can be signed
}

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
			return toConfirm(a, refusal, now)
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
	case next.Votes[i].Decision == b.Decision && next.Votes[i].Voter.SameAccount(v) && !people.CountsForMore(a, next.Votes[i], vote, d):
		// Who has come back since fills a seat of their own: with this yes it may be enough.
		if c := (Change{Approval: next, Redraw: true, Passkey: b.spent(vote.Signature, now)}).settle(d, now); c.Approval.Final() {
			return c
		}
		return Change{Approval: a, Unchanged: true, Passkey: b.spent(vote.Signature, now)}
	case vote.VerifierOnly && vote.Verdict == approval.Approve && people.FillsBoth(a, next.Votes[i], d):
		return Change{Approval: a, Unchanged: true} // the yes that stands counts for the verifier, too
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

// voteOf is the vote that an admitted ballot gives, or why its signature does not count.
func ballotVote(a approval.Approval, v approval.Voter, b Ballot, d *people.Directory, now int64) (vote approval.Vote, refusal *approval.Error) {
	vote = approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: b.Decision, Voter: &v, Reason: b.Reason,
		DecidedAtMs: now, VerifierOnly: people.VerifierOnly(a, v, d), OnDuty: d.OnDuty(v.Person), For: people.Lenders(a, v, d)}
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
		return approval.Refuse(approval.CodeDecisionNotOffered, "Policy does not let people decide this request.")
	case b.Decision == approval.Deny:
		return nil
	case !slices.Contains(a.Offers, b.Decision) || a.Retrying != (b.Decision == approval.Retry) || !a.Retrying && !b.Decision.Allows():
		return approval.Refuse(approval.CodeDecisionNotOffered, "%s is not offered for this request.", display.Escape(string(b.Decision)))
	case !w.Approvers && w.Verifier && b.Decision != approval.AllowOnce && b.Decision != approval.Retry:
		return approval.Refuse(approval.CodeDecisionNotOffered,
			"You are asked for the verifier, whose yes counts for this call alone: allow it once, or deny it.")
	case !w.Approvers && !w.Verifier && !a.Rule.AsksApprovers():
		return approval.Refuse(approval.CodeNotAnApprover, "Only the verifier's people can allow this request; you can deny it.")
	case !w.Approvers && !w.Verifier:
		return approval.Refuse(approval.CodeNotAnApprover,
			"This request needs %d approvals, and only people named in the configuration count for it.",
			a.Rule.MinApprovals)
	case a.Rule.StepUp && b.evidence == nil:
		return nil // the next word is that it must be signed, wherever it was shown
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
// again is fine, anything else is told how it ended.
func lateVote(a approval.Approval, v approval.Voter, b Ballot) Change {
	c := Change{Approval: a, Unchanged: true}
	same := slices.ContainsFunc(a.Votes, func(o approval.Vote) bool {
		return o.By(v) && o.Decision == b.Decision
	})
	withdrew := a.Status == approval.Withdrawn && b.Decision == approval.Deny && slices.Contains(a.DecidedBy, v.Name())
	endedRound := b.Decision == approval.Deny && a.DeniedRound(v)
	switch n := len(a.RetriedBy); {
	case same || withdrew || endedRound:
	case b.Decision == approval.Deny && n > 0 && a.Status == approval.Approved && a.RevokedAtMs == 0:
		c.Refusal = approval.Refuse(approval.CodeAlreadyResolved, "Already decided: %s, and %s let it run again; an operator takes that "+
			"back until it is claimed: approvalbot revoke %s", card.Ending(a), people.People(a.RetriedBy[n-1].By), a.Code)
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

// Vote counts one person's ballot on the approval of that key. The approval is
// as it stands after the ballot. A refused ballot (not_an_approver,
// self_approval, decision_not_offered, unseen_payload, already_resolved) is on
// record and comes with the approval, so that the voter can be told how it ended.
// Under rules that do not count only a deny does.
func (g *Gate) Vote(ctx context.Context, key string, b Ballot) (approval.Approval, error) {
	b.site = g.rules.Load().Site
	adopted, err := g.adopt(ctx, key, b)
	if err != nil {
		return approval.Approval{}, err
	}
	var today judged
	return anew(ctx, g, key, func() (approval.Approval, error) {
		a, err := g.voteOnce(ctx, key, b, adopted, today)
		switch {
		case errors.Is(err, errOtherRound):
			return g.voteAgain(ctx, key, b)
		case errors.Is(err, errOtherRules):
			if today, err = g.judgedToday(ctx, key); err == nil {
				err = errOtherRules
			}
		}
		return a, err
	})
}

// clocksApartMs is by how much the clocks of instances and platforms may differ.
const clocksApartMs = 60 * 1000

// judged is what a policy says of a call; the zero one says nothing.
type judged struct {
	policy    string // its hash
	judgement *approval.Judgement
}

// by gives the judgement if it is that policy's, or nil.
func (j judged) by(policy string) *approval.Judgement {
	if j.policy != policy {
		return nil
	}
	return j.judgement
}

// judgedToday asks the policy in force about the call of an approval.
func (g *Gate) judgedToday(ctx context.Context, key string) (judged, error) {
	rules, outdated := g.inForce()
	if outdated != nil {
		return judged{}, outdated
	}
	j, err := g.judgeAgain(ctx, key, rules)
	return judged{rules.Policy.Hash(), j}, err
}

// voteOnce is one try of a vote. today is what policy says of the call, if that was asked.
// errOtherRules: it must be asked before the vote counts. errOtherRound: it denies one more run.
func (g *Gate) voteOnce(
	ctx context.Context, key string, b Ballot, adopted []approval.Delivery, today judged,
) (approval.Approval, error) {
	if b.Decision == approval.Retry {
		return g.voteAgain(ctx, key, b)
	}
	fault.Point("before-vote-committed")
	defer fault.Point("after-vote-committed")
	rules, outdated := g.inForce()
	b.site = rules.Site
	var err error
	if b.evidence, err = g.evidenceOf(ctx, b.Signed); err != nil {
		return approval.Approval{}, err
	}
	policy := rules.Policy.Hash()
	fresh := today.by(policy)
	if fresh != nil { // what policy wants today may want signatures: who could give one?
		if err := g.withHolders(ctx, approval.Rule{StepUp: true}, rules); err != nil {
			return approval.Approval{}, err
		}
	}
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		if b.Code != "" && b.Code != a.Code {
			return Change{}, approval.NotFound()
		}
		if b.deniesRound(a, nowMs()) {
			return Change{}, errOtherRound
		}
		open, allows := !a.Final(), b.Decision != approval.Deny
		switch {
		case open && allows && outdated != nil:
			return Change{}, outdated
		case open && outdated == nil && fresh == nil && a.PolicyHash != policy:
			return Change{}, errOtherRules
		}
		b.confirmed, b.atVerifier = g.confirms.confirms(b, a), rules.atVerifier(b, a)
		now := time.Now() // people may be back since the vote began to wait for its turn
		asOf := rules.at(now)
		c := vote(a, b, adopted, fresh, &asOf, now.UnixMilli()).spending(b, now.UnixMilli())
		if open && allows {
			c.Policy, c.Absences = policy, rules.absences.Revision
		}
		return c, nil
	})
}

// deniesRound reports whether the ballot is a deny of the approval's open round. A button is none of the
// round's, and neither is a word from before it.
func (b Ballot) deniesRound(a approval.Approval, now int64) bool {
	round := a.OpenRound(now)
	since := round != nil && (b.Chat == nil || b.ReceivedMs == 0 || b.ReceivedMs >= round.OpenedAtMs-clocksApartMs)
	return b.Decision == approval.Deny && b.Card == "" && b.Code == "" && since
}

// adopt makes the delivery for a tapped card whose id was lost in a crash or a
// cut connection. It holds only in a chat that was to get a card of that
// approval. Since allows are on a card only after everything that would run was
// delivered there, the card counts as shown exactly when its chat has all of it.
func (g *Gate) adopt(ctx context.Context, key string, b Ballot) ([]approval.Delivery, error) {
	if b.Card == "" || b.Chat == nil {
		return nil, nil
	}
	a, err := g.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	drawn := approval.Delivery{}
	for _, d := range a.Deliveries {
		if d.Kind == approval.CardDelivery && d.Target.Chat() == b.Chat.Normal().Chat() {
			drawn.Attached = drawn.Attached || d.Attached
			drawn.DenyOnly = drawn.DenyOnly || d.MessageID != "" && !d.Shown
			drawn.Key = a.Key
		}
	}
	if drawn.Key == "" {
		return nil, approval.Refuse(approval.CodeNotFound, "This button is not known here.")
	}
	facts, err := g.Payload(ctx, a)
	if err != nil {
		return nil, err
	}
	now := nowMs()
	attached, hidden := drawn.Attached, drawn.DenyOnly
	drawn = a.Delivery(approval.CardDelivery, b.Chat.Normal(), now)
	drawn.MessageID, drawn.State, drawn.Attached = b.Card, approval.Sent, attached
	// Where another copy could not show it, neither can this one.
	drawn.Shown = card.Draw(a, drawn, facts, card.Reader{People: g.people(time.Now()), Zone: time.UTC, Now: now, Site: b.site}).Shown && !hidden
	return []approval.Delivery{drawn}, nil
}

const decisionRule = "must be allow-once, allow-session, allow-always or deny, or retry while a retry round is open"

// VoteAs is Vote for an API token's person. The whole call is in every answer
// that such a token gets, so its vote counts as seen. after is as in a Ballot.
func (g *Gate) VoteAs(
	ctx context.Context, who Caller, ref string, d approval.Decision, reason string, after ...int,
) (approval.Approval, error) {
	if !who.MayDecide || who.Person == "" {
		return approval.Approval{}, approval.Refuse(approval.CodeForbidden,
			"This token may not decide: it needs the scope operator.approvals and a person.")
	}
	key, err := g.Resolve(ctx, who, ref)
	if err != nil {
		return approval.Approval{}, err
	}
	if d != approval.Deny && d != approval.Retry && !d.Allows() {
		return approval.Approval{}, approval.Invalid(approval.FieldError{Field: "decision", Problem: decisionRule})
	}
	return g.Vote(ctx, key, Ballot{
		Voter: approval.Voter{Channel: "api", UserID: who.Token}, Decision: d, Reason: reason, After: said(after),
		ReceivedMs: nowMs(),
	})
}

// AddReason attaches a reason to the deny that this voter gave before.
func (g *Gate) AddReason(
	ctx context.Context, key string, v approval.Voter, reason string, handled *approval.InboundRef,
) (approval.Approval, error) {
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		c, err := addReason(a, g.people(time.Now()).Identify(v), reason, nowMs())
		c.Handled = handled
		return c, err
	})
}

// addReason attaches the reason that a person gives after their deny counted.
func addReason(a approval.Approval, v approval.Voter, reason string, now int64) (Change, error) {
	next := a.Clone()
	if next.Status == approval.Withdrawn && next.Reason == approval.WithdrawnByRequester && slices.Contains(next.DecidedBy, v.Name()) {
		next.Reason = approval.CleanText(reason, approval.MaxReason) // their deny withdrew it
		given := next.Event(approval.EventReason, now, approval.EventData{By: v.Name()})
		return Change{Approval: next, Redraw: true, Events: []approval.Event{given}}, nil
	}
	if a.DeniedRound(v) {
		vote := *a.RoundDenied
		vote.Reason, next.RoundDenied = approval.CleanText(reason, approval.MaxReason), &vote
		given := next.Event(approval.EventReason, now, approval.EventData{Vote: &vote})
		return Change{Approval: next, Redraw: true, Events: []approval.Event{given}}, nil
	}
	i := slices.IndexFunc(next.Votes, func(o approval.Vote) bool { return o.Verdict == approval.Reject && o.By(v) })
	if i < 0 {
		return Change{}, approval.Refuse(approval.CodeNotFound, "You have not denied this request.")
	}
	next.Votes[i].Reason = approval.CleanText(reason, approval.MaxReason)
	if next.Status == approval.Denied && slices.Contains(next.DecidedBy, v.Name()) {
		next.Reason = next.Votes[i].Reason
	}
	given := next.Event(approval.EventReason, now, approval.EventData{Vote: &next.Votes[i]})
	return Change{Approval: next, Redraw: true, Events: []approval.Event{given}, CoolDownReason: next.Reason}, nil
}
