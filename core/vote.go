package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"approvalbot/internal/assertion"
	"approvalbot/internal/display"
	"approvalbot/internal/fault"
)

// Ballot is one person's vote as it arrives from a chat, the API or a terminal.
type Ballot struct {
	Voter      Voter
	Decision   Decision
	Reason     string
	Chat       *Target     // where it was given; nil: by API or terminal, whose answers show the whole call, or a page
	Unseen     bool        // of a page, that did not show the whole call
	ReceivedMs int64       // when the desk (or the platform) took it; 0: it waited on the platform, undated
	Code       string      // of the tapped card; another approval's is CodeNotFound. Empty: it was not on a card
	Card       string      // message id of the tapped card, when the desk did not know that copy yet: it is adopted
	Handled    *InboundRef // the platform update it came in
	Signed     *SignedYes  // by the voter's passkey; nil: it was not
	Opens      bool        // with Retry: it opens a round if none is open
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
func (a Approval) vote(b Ballot, adopted []Delivery, fresh *Judgement, rules *Rules, now int64) Change {
	before := a.withCards(adopted).underRules(rules)
	var c Change
	changed, further := before.rejudged(fresh, rules, now)
	if changed.Final() && !a.Final() {
		c = Change{Approval: changed, Events: changed.rejudgement(fresh, now)}.end(EventResolved, now)
		c.Refusal = c.Approval.ended()
	} else {
		c = changed.count(b, rules.People, now)
		if fresh != nil && !a.Final() {
			if c.Redraw = true; c.Unchanged {
				c.Unchanged, c.Approval = false, changed
			}
		}
		if !a.Final() {
			c.Events = append(changed.rejudgement(fresh, now), c.Events...)
		}
	}
	if c.Refusal != nil && c.Refusal.Code == CodeAlreadyResolved && !c.Approval.Concerns(b.Voter, rules.People) {
		no := c.Approval.refused(rules.People.Identify(b.Voter), b, notAnApprover(), now)
		c.Refusal, c.Events = no.Refusal, append(c.Events, no.Events...)
	}
	c.Handled = b.Handled
	if !c.Approval.Final() {
		c.Deliveries, c.Open = append(c.Deliveries, further...), c.Approval.outgrown(a)
	}
	if len(adopted) > 0 && !a.knows(adopted[0]) {
		c.Deliveries = append(c.Deliveries, adopted...)
	}
	return c
}

// count is vote without the bookkeeping of the message it came in.
func (a Approval) count(b Ballot, d *Directory, now int64) Change {
	v := d.Identify(b.Voter)
	b.Reason = cleanText(b.Reason, maxReason)
	if a.Final() {
		c := a.lateVote(v, b)
		if round := a.openRound(now); round != nil && b.Decision.Allows() {
			c.Refusal = a.roundAnswers(*round, d)
		}
		return c
	}
	if b.ReceivedMs >= a.ExpiresAtMs {
		c := a.expire(now)
		c.Refusal = c.Approval.ended()
		return c
	}
	if refusal := a.admits(v, b, d); refusal != nil {
		if refusal.Code == CodeSelfApproval && b.Decision == Deny {
			return a.looked(now).withdraw(v.Name(), cmp.Or(b.Reason, withdrawnByRequester), now).coolDown("", now)
		}
		if refusal.Code == CodeUnconfirmed {
			return a.toConfirm(refusal, now)
		}
		return a.refused(v, b, refusal, now)
	}
	vote, refusal := a.voteOf(v, b, d, now)
	if refusal != nil {
		return a.refused(v, b, refusal, now)
	}
	next := a.looked(now).clone()
	i := slices.IndexFunc(next.Votes, func(o Vote) bool { return o.by(v) })
	switch {
	case i < 0:
		next.Votes = append(next.Votes, vote)
	case next.Votes[i].Decision == b.Decision && next.Votes[i].Voter.sameAccount(v) && !a.countsForMore(next.Votes[i], vote, d):
		// Who has come back since fills a seat of their own: with this yes it may be enough.
		if c := (Change{Approval: next, Redraw: true, Passkey: b.spent(vote.Signature, now)}).settle(d, now); c.Approval.Final() {
			return c
		}
		return Change{Approval: a, Unchanged: true, Passkey: b.spent(vote.Signature, now)}
	case vote.VerifierOnly && vote.Verdict == Approve && a.fillsBoth(next.Votes[i], d):
		return Change{Approval: a, Unchanged: true} // the yes that stands counts for the verifier, too
	default:
		next.Votes = append(slices.Delete(next.Votes, i, i+1), vote)
	}
	c := Change{Approval: next, Redraw: true, Passkey: b.spent(vote.Signature, now)}
	c.Events = []Event{next.event(EventVote, now, eventData{Vote: &vote, Solo: a.Solo})}
	if vote.Signature != nil {
		c.Events = append(c.Events, next.signedEvent(b.evidence.passkey, now))
	}
	return c.settle(d, now)
}

// voteOf is the vote that an admitted ballot gives, or why its signature does not count.
func (a Approval) voteOf(v Voter, b Ballot, d *Directory, now int64) (vote Vote, refusal *Error) {
	vote = Vote{Approver: UserRequest, Verdict: Approve, Decision: b.Decision, Voter: &v, Reason: b.Reason,
		DecidedAtMs: now, VerifierOnly: a.verifierOnly(v, d), OnDuty: d.onDuty(v.Person), For: a.lenders(v, d)}
	if b.Decision == Deny {
		vote.Verdict, vote.For = Reject, nil
	} else if a.Rule.StepUp || b.evidence != nil {
		vote.Signature, refusal = a.sign(v, b, now)
	}
	return vote, refusal
}

// admits says why this voter may not give this ballot, or nil.
func (a Approval) admits(v Voter, b Ballot, d *Directory) *Error {
	w := a.weight(v, d)
	switch {
	case a.MayNotDecide(v, d):
		return Refuse(CodeSelfApproval, "You cannot approve your own request.")
	case !w.Deny, b.atVerifier && !w.Verifier:
		return notAnApprover()
	case !a.Rule.Admits(UserRequest) && !w.Verifier:
		return Refuse(CodeDecisionNotOffered, "Policy does not let people decide this request.")
	case b.Decision == Deny:
		return nil
	case !slices.Contains(a.Offers, b.Decision) || a.Retrying != (b.Decision == Retry) || !a.Retrying && !b.Decision.Allows():
		return Refuse(CodeDecisionNotOffered, "%s is not offered for this request.", display.Escape(string(b.Decision)))
	case !w.Approvers && w.Verifier && b.Decision != AllowOnce && b.Decision != Retry:
		return Refuse(CodeDecisionNotOffered,
			"You are asked for the verifier, whose yes counts for this call alone: allow it once, or deny it.")
	case !w.Approvers && !w.Verifier && !a.Rule.AsksApprovers():
		return Refuse(CodeNotAnApprover, "Only the verifier's people can allow this request; you can deny it.")
	case !w.Approvers && !w.Verifier:
		return Refuse(CodeNotAnApprover,
			"This request needs %d approvals, and only people named in the configuration count for it.",
			a.Rule.MinApprovals)
	case a.Rule.StepUp && b.evidence == nil:
		return nil // the next word is that it must be signed, wherever it was shown
	case b.Chat != nil && !a.shownIn(*b.Chat):
		return a.unseenIn(*b.Chat)
	case b.Unseen:
		return a.unseenOnWeb()
	}
	return a.unconfirmed(b)
}

func notAnApprover() *Error {
	return Refuse(CodeNotAnApprover, "You are not authorized to approve/deny this request.")
}

// lateVote answers a ballot on an ended approval: the same person's same vote
// again is fine, anything else is told how it ended.
func (a Approval) lateVote(v Voter, b Ballot) Change {
	c := Change{Approval: a, Unchanged: true}
	same := slices.ContainsFunc(a.Votes, func(o Vote) bool {
		return o.by(v) && o.Decision == b.Decision
	})
	withdrew := a.Status == Withdrawn && b.Decision == Deny && slices.Contains(a.DecidedBy, v.Name())
	endedRound := b.Decision == Deny && a.DeniedRound(v)
	switch n := len(a.RetriedBy); {
	case same || withdrew || endedRound:
	case b.Decision == Deny && n > 0 && a.Status == Approved && a.RevokedAtMs == 0:
		c.Refusal = Refuse(CodeAlreadyResolved, "Already decided: %s, and %s let it run again; an operator takes that "+
			"back until it is claimed: approvalbot revoke %s", a.Ending(), People(a.RetriedBy[n-1].By), a.Code)
	default:
		c.Refusal = a.ended()
	}
	return c
}

// refused records an attempt that was not allowed.
func (a Approval) refused(v Voter, b Ballot, why *Error, now int64) Change {
	c := Change{Approval: a.looked(now), Unchanged: a.LookedAtMs != 0, Refusal: why, Passkey: b.spent(nil, now)}
	c.Events = []Event{a.event(EventRefused, now, eventData{
		Vote: &Vote{Approver: UserRequest, Verdict: Errored, Decision: b.Decision, Voter: &v,
			ReasonCodes: []string{string(why.Code)}, DecidedAtMs: now},
	})}
	return c
}

// withCards is the approval with further cards known.
func (a Approval) withCards(more []Delivery) Approval {
	a.Deliveries = append(slices.Clone(a.Deliveries), more...)
	return a
}

// knows reports whether that very message is one of the approval's deliveries.
func (a Approval) knows(card Delivery) bool {
	return slices.ContainsFunc(a.Deliveries, func(d Delivery) bool {
		return d.MessageID == card.MessageID && d.Target.Chat() == card.Target.Chat()
	})
}

// Vote counts one person's ballot on the approval of that key. The approval is
// as it stands after the ballot. A refused ballot (not_an_approver,
// self_approval, decision_not_offered, unseen_payload, already_resolved) is on
// record and comes with the approval, so that the voter can be told how it ended.
// Under rules that do not count only a deny does.
func (g *Gate) Vote(ctx context.Context, key string, b Ballot) (Approval, error) {
	b.site = g.rules.Load().Site
	adopted, err := g.adopt(ctx, key, b)
	if err != nil {
		return Approval{}, err
	}
	for range absenceTries {
		a, err := g.voteOnce(ctx, key, b, adopted)
		switch {
		case errors.Is(err, errReplaced):
			continue
		case !errors.Is(err, ErrAbsences):
			return a, err
		}
		if err := g.LearnAbsences(ctx); err != nil {
			g.log.Error("who is away cannot be read, so no yes counts", "approval", key, "reason", err)
			return Approval{}, Refuse(CodeUnavailable, "Who is away cannot be read now; try again in a moment.")
		}
	}
	return Approval{}, rulesChanged()
}

// clocksApartMs is by how much the clocks of instances and platforms may differ.
const clocksApartMs = 60 * 1000

// absenceTries is how often a vote is counted anew, since somebody left or came back, or a
// reload came in between.
const absenceTries = 5

func (g *Gate) voteOnce(ctx context.Context, key string, b Ballot, adopted []Delivery) (Approval, error) {
	if b.Decision == Retry {
		return g.voteAgain(ctx, key, b)
	}
	fault.Point("before-vote-committed")
	defer fault.Point("after-vote-committed")
	rules, outdated := g.inForce()
	b.site = rules.Site
	var err error
	if b.evidence, err = g.evidenceOf(ctx, b.Signed); err != nil {
		return Approval{}, err
	}
	var fresh *Judgement
	otherRules := false // it must be judged anew before a vote on it counts
	inRound := false    // it denies one more run
	vote := func(a Approval) (Change, error) {
		if b.Code != "" && b.Code != a.Code {
			return Change{}, notFound()
		}
		// A button is none of the round's, and neither is a word from before it.
		round := a.openRound(nowMs())
		since := round != nil && (b.Chat == nil || b.ReceivedMs == 0 || b.ReceivedMs >= round.OpenedAtMs-clocksApartMs)
		if inRound = b.Decision == Deny && b.Card == "" && b.Code == "" && since; inRound {
			return Change{Approval: a, Unchanged: true}, nil
		}
		open, allows := !a.Final(), b.Decision != Deny
		earlier := open && outdated == nil && fresh == nil // by the rules of when it was asked
		switch {
		case open && allows && outdated != nil:
			return Change{}, outdated
		case earlier && a.PolicyHash != rules.Policy.Hash():
			otherRules = true
			return Change{Approval: a, Unchanged: true}, nil
		}
		otherRules = false
		b.confirmed, b.atVerifier = g.confirms.confirms(b, a), rules.atVerifier(b, a)
		now := time.Now() // whoever was away may be back since the vote began to wait for its turn
		asOf := rules.at(now)
		c := a.vote(b, adopted, fresh, &asOf, now.UnixMilli()).spending(b, now.UnixMilli())
		if open && allows {
			c.Policy, c.Absences = rules.Policy.Hash(), rules.absences.Revision
		}
		return c, nil
	}
	commit := func() (Approval, error) {
		a, err := g.update(ctx, key, vote)
		if !errors.Is(err, ErrSpent) {
			return a, err
		}
		// What was signed counted elsewhere meanwhile: that is to be on record.
		if b.evidence, err = g.evidenceOf(ctx, b.Signed); err != nil {
			return Approval{}, err
		}
		return g.update(ctx, key, vote)
	}
	a, err := commit()
	if err == nil && inRound {
		return g.voteAgain(ctx, key, b)
	}
	if err != nil || !otherRules {
		return a, err
	}
	if fresh, err = g.judgeAgain(ctx, key, rules); err != nil {
		return Approval{}, err
	}
	if a, err = commit(); err == nil && otherRules {
		return a, rulesChanged()
	}
	return a, err
}

// adopt makes the delivery for a tapped card whose id was lost in a crash or a
// cut connection. It holds only in a chat that was to get a card of that
// approval. Since allows are on a card only after everything that would run was
// delivered there, the card counts as shown exactly when its chat has all of it.
func (g *Gate) adopt(ctx context.Context, key string, b Ballot) ([]Delivery, error) {
	if b.Card == "" || b.Chat == nil {
		return nil, nil
	}
	a, err := g.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	card := Delivery{}
	for _, d := range a.Deliveries {
		if d.Kind == CardDelivery && d.Target.Chat() == b.Chat.Normal().Chat() {
			card.Attached = card.Attached || d.Attached
			card.DenyOnly = card.DenyOnly || d.MessageID != "" && !d.Shown
			card.Key = a.Key
		}
	}
	if card.Key == "" {
		return nil, Refuse(CodeNotFound, "This button is not known here.")
	}
	facts, err := g.Payload(ctx, a)
	if err != nil {
		return nil, err
	}
	now := nowMs()
	attached, hidden := card.Attached, card.DenyOnly
	card = a.delivery(CardDelivery, b.Chat.Normal(), now)
	card.MessageID, card.State, card.Attached = b.Card, Sent, attached
	// Where another copy could not show it, neither can this one.
	card.Shown = a.draw(card, facts, reader{g.people(time.Now()), time.UTC, now, b.site}).Shown && !hidden
	return []Delivery{card}, nil
}

const decisionRule = "must be allow-once, allow-session, allow-always or deny, or retry while a retry round is open"

// VoteAs is Vote for an API token's person. The whole call is in every answer
// that such a token gets, so its vote counts as seen. after is as in a Ballot.
func (g *Gate) VoteAs(
	ctx context.Context, who Caller, ref string, d Decision, reason string, after ...int,
) (Approval, error) {
	if !who.MayDecide || who.Person == "" {
		return Approval{}, Refuse(CodeForbidden,
			"This token may not decide: it needs the scope operator.approvals and a person.")
	}
	key, err := g.Resolve(ctx, who, ref)
	if err != nil {
		return Approval{}, err
	}
	if d != Deny && d != Retry && !d.Allows() {
		return Approval{}, Invalid(FieldError{"decision", decisionRule})
	}
	return g.Vote(ctx, key, Ballot{
		Voter: Voter{Channel: "api", UserID: who.Token}, Decision: d, Reason: reason, After: said(after),
		ReceivedMs: nowMs(),
	})
}

// AddReason attaches a reason to the deny that this voter gave before.
func (g *Gate) AddReason(
	ctx context.Context, key string, v Voter, reason string, handled *InboundRef,
) (Approval, error) {
	return g.update(ctx, key, func(a Approval) (Change, error) {
		c, err := a.addReason(g.people(time.Now()).Identify(v), reason, nowMs())
		c.Handled = handled
		return c, err
	})
}

// addReason attaches the reason that a person gives after their deny counted.
func (a Approval) addReason(v Voter, reason string, now int64) (Change, error) {
	next := a.clone()
	if next.Status == Withdrawn && next.Reason == withdrawnByRequester && slices.Contains(next.DecidedBy, v.Name()) {
		next.Reason = cleanText(reason, maxReason) // their deny withdrew it
		given := next.event(EventReason, now, eventData{By: v.Name()})
		return Change{Approval: next, Redraw: true, Events: []Event{given}}, nil
	}
	if a.DeniedRound(v) {
		vote := *a.RoundDenied
		vote.Reason, next.RoundDenied = cleanText(reason, maxReason), &vote
		given := next.event(EventReason, now, eventData{Vote: &vote})
		return Change{Approval: next, Redraw: true, Events: []Event{given}}, nil
	}
	i := slices.IndexFunc(next.Votes, func(o Vote) bool { return o.Verdict == Reject && o.by(v) })
	if i < 0 {
		return Change{}, Refuse(CodeNotFound, "You have not denied this request.")
	}
	next.Votes[i].Reason = cleanText(reason, maxReason)
	if next.Status == Denied && slices.Contains(next.DecidedBy, v.Name()) {
		next.Reason = next.Votes[i].Reason
	}
	given := next.event(EventReason, now, eventData{Vote: &next.Votes[i]})
	return Change{Approval: next, Redraw: true, Events: []Event{given}, CoolDownReason: next.Reason}, nil
}
