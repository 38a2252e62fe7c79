package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"approvalbot/internal/fault"
)

// maxRetries is how often one approval may be made claimable again.
const maxRetries = 3

// today is what is known of a call when somebody wants it to run again. The zero one is
// for a deny, which needs none of it.
type today struct {
	judgement *Judgement // nil: the call is no longer kept
	coolDown  *Grant     // a person's deny of the very call that still counts; nil: none
}

// notAgain says why the call may not run again, whoever says so, or nil. round is the one
// that is open, or nil.
func (a Approval) notAgain(b Ballot, round *RetryRound, t today, rules *Rules, now int64) *Error {
	unknown := a.mayRunOn()
	switch {
	case round == nil && !b.Opens:
		return Refuse(CodeDecisionNotOffered, "No retry of %s is open; open one with: approvalbot retry %s", a.Code, a.Code)
	case a.Status == Pending:
		return notClaimable(WhyPending, "The approval is still pending.")
	case a.Status != Approved:
		return notClaimable(WhyDenied, "Only an approved request can be retried; this one is "+string(a.Status)+".")
	case a.RevokedAtMs != 0:
		return notClaimable(WhyRevoked, "The approval was taken back.")
	case a.ToolName == DrillTool:
		return notClaimable(WhyPolicy, WasDrill)
	case a.ranWell():
		return Refuse(CodeRetryDataGone, "It was reported as succeeded, so it does not run again; the agent must ask again.")
	case a.ClaimedAtMs == 0 && now < a.ClaimUntilMs:
		return notClaimable(WhyPending, "It was not claimed yet, and still can be; there is nothing to retry.")
	case a.ClaimedAtMs == 0 && a.wasSigned():
		return notClaimable(WhyLate, "A signed yes that was not claimed in time is not opened again; the agent must ask again.")
	case b.After != nil && *b.After != len(a.RetriedBy):
		return notClaimable(WhyLate, fmt.Sprintf("That was said after %d retries of it, and there are %d by now; "+
			"look at %s again.", *b.After, len(a.RetriedBy), a.Code))
	case round == nil && a.ClaimedAtMs != 0 && unknown && b.namesNoRun() && a.saidRetry(rules.People.Identify(b.Voter)):
		return notClaimable(WhyPending, fmt.Sprintf("You let it run again before, and that run has reported no result; "+
			"to let it run once more name the run (after: %d).", len(a.RetriedBy)))
	case t.judgement == nil || a.callGone(rules, now):
		return retryDataGone()
	case a.Retries >= maxRetries:
		return notClaimable(WhyLate, fmt.Sprintf("It was retried %d times, which is the most; the agent must ask again.", a.Retries))
	case unknown && round == nil && !b.WithoutResult:
		return notClaimable(WhyPending, "No result was reported, so it may still be running. Wait for its result, or "+
			"if you know that it has ended: approvalbot retry "+a.Code+" --without-result")
	case t.coolDown != nil && t.coolDown.refuses(a, now):
		return deniedLately(*t.coolDown, now)
	}
	if why := a.askerGone(rules); why != "" {
		return notClaimable(WhyPolicy, why)
	}
	return nil
}

// namesNoRun reports whether it does not say which run it follows; a signature does.
func (b Ballot) namesNoRun() bool { return b.After == nil && b.Signed == nil }

// wasSigned reports whether a passkey had to sign the last yes, or did.
func (a Approval) wasSigned() bool {
	return a.Rule.StepUp || slices.ContainsFunc(a.Votes, func(v Vote) bool { return v.Signature != nil })
}

// letAgain reports whether a retry waits to be claimed that the voter has voted for.
func (a Approval) letAgain(v Voter, now int64) bool {
	waits := a.ClaimedAtMs == 0 && now < a.ClaimUntilMs && a.RevokedAtMs == 0
	return waits && a.saidRetry(v)
}

// saidRetry reports whether the voter has voted for the newest retry.
func (a Approval) saidRetry(v Voter) bool {
	return slices.ContainsFunc(a.Votes, func(o Vote) bool { return o.Decision == Retry && o.by(v) })
}

// askerGone says that those who asked could not ask for the call today, or empty.
func (a Approval) askerGone(rules *Rules) string {
	person, may := rules.Owners[a.Owner]
	switch {
	case !may:
		return "The token " + a.Owner + ", which asked for it, may not ask any more."
	case person != "" && !rules.People.isAsker(Voter{Person: person}, a.Askers):
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
// opens the round where none is open, or a deny, which ends it. The votes count as those
// on a pending approval do, see [Approval.again].
func (a Approval) voteAgain(b Ballot, t today, rules *Rules, now int64) (Change, error) {
	a = a.underRules(rules)
	d, round := rules.People, a.openRound(now)
	v := d.Identify(b.Voter)
	b.Reason = cleanText(b.Reason, maxReason)
	asked := a.MayNotDecide(v, d) || a.askedWith(v)
	asks := a // what says which of the verifier's people are asked
	if round != nil {
		asks = a.again(*round)
	}
	switch {
	case b.Decision == Deny && round == nil:
		return a.lateVote(v, b), nil
	case b.Decision == Deny && asked:
		vote := Vote{Approver: UserRequest, Verdict: Reject, Decision: Deny, Voter: &v, Reason: b.Reason, DecidedAtMs: now}
		return a.deniedAgain(a.again(*round), []string{v.Name()}, "", b, vote, now), nil
	case asked:
		return a.refusedAgain(v, b, Refuse(CodeSelfApproval, "You cannot make your own request run again."), now), nil
	case !asks.weight(v, d).Deny:
		return a.refusedAgain(v, b, notAnApprover(), now), nil
	case b.Decision == Retry && a.letAgain(v, now):
		return Change{Approval: a, Unchanged: true}, nil // the answer to their vote was lost
	case b.Decision == Retry && b.Code != "":
		return a.refusedAgain(v, b, Refuse(CodeDecisionNotOffered, "No button of a card votes for a retry."), now), nil
	case b.Decision == Retry && b.Chat != nil && round != nil &&
		b.ReceivedMs < round.OpenedAtMs:
		return a.refusedAgain(v, b, Refuse(CodeDecisionNotOffered,
			"That was said before this retry of %s was asked for; look at it, and say it again.", a.Code), now), nil
	}
	var view Approval
	if b.Decision == Deny {
		view = a.again(*round)
	} else {
		if no := a.notAgain(b, round, t, rules, now); no != nil {
			return Change{}, no
		}
		if round == nil {
			round = a.newRound(v.Name(), b.WithoutResult, *t.judgement, rules, now)
		}
		view = a.again(*round).judgedForRound(t.judgement, rules, now)
	}
	if view.Final() { // policy refuses it, or nobody could allow it
		c := a.refusedAgain(v, b, policyRefuses(view.Reason), now)
		c.Events = []Event{a.event(EventRefused, now, eventData{By: v.Name(), Why: WhyPolicy})}
		return c, nil
	}
	if no := view.admits(v, b, d); no != nil {
		if no.Code == CodeUnconfirmed {
			return a.toConfirm(no, now), nil
		}
		return a.refusedAgain(v, b, no, now), nil
	}
	vote, no := view.voteOf(v, b, d, now)
	if no != nil {
		return a.refusedAgain(v, b, no, now), nil
	}
	view, repeated := view.with(vote, d)
	tally := view.tally(d)
	used := b.spent(vote.Signature, now)
	switch {
	case tally.Outcome == Denied:
		return a.deniedAgain(view, tally.By, vote.Reason, b, vote, now), nil
	case tally.Outcome == Approved:
		return a.runsAgain(view, *round, tally, b, vote, d, now), nil
	case repeated:
		return Change{Approval: a, Unchanged: true, Passkey: used}, nil
	}
	next := a.clone()
	next.Round, next.RoundDenied = round.of(view), nil
	c := Change{Approval: next, Redraw: true, Passkey: used, Events: next.votedAgain(vote, b, now)}
	if a.openRound(now) == nil {
		c.Deliveries = next.tellOfRound(rules, now)
	}
	return c, nil
}

// with is the view with one more vote, in place of the same person's before it. repeated:
// that one was the same, and stays.
func (a Approval) with(vote Vote, d *Directory) (_ Approval, repeated bool) {
	i := slices.IndexFunc(a.Votes, func(o Vote) bool { return o.by(*vote.Voter) })
	if i < 0 {
		a.Votes = append(slices.Clone(a.Votes), vote)
		return a, false
	}
	old := a.Votes[i]
	same := old.Decision == vote.Decision && old.Voter.sameAccount(*vote.Voter) && a.weightNow(old, d) != Weight{}
	weaker := vote.VerifierOnly && a.fillsBoth(old, d) && vote.Verdict == Approve
	if same && !a.countsForMore(old, vote, d) || weaker {
		return a, true
	}
	a.Votes = append(slices.Delete(slices.Clone(a.Votes), i, i+1), vote)
	return a, false
}

// runsAgain makes the call claimable once more, by the round's people, rule and policy.
// What was known of the run before goes behind.
func (a Approval) runsAgain(view Approval, round RetryRound, t Tally, b Ballot, vote Vote, d *Directory, now int64) Change {
	voted := a.clone()
	voted.Round = round.of(view)
	next := a.clone()
	next.RetriedBy = append(next.RetriedBy, Retried{By: t.deciders(), AtMs: now, WithoutResult: round.WithoutResult,
		Before: a.run()})
	next.Retries++
	next.Votes, next.Rule, next.Assessment, next.PolicyHash = view.standing(d), view.Rule, view.Assessment, view.PolicyHash
	next.DecidedBy, next.Reason = t.deciders(), t.Reason
	next.ClaimedAtMs, next.ClaimID, next.ClaimedAs, next.Result = 0, "", "", nil
	next.Round, next.RoundDenied = nil, nil
	next.ClaimUntilMs = now + claimWindowMs
	what := eventData{By: vote.Voter.Name(), Until: next.ClaimUntilMs}
	return Change{Approval: next, Redraw: true, Passkey: b.spent(vote.Signature, now),
		// The second says what the retry follows, a failed result for one.
		Events: append(voted.votedAgain(vote, b, now),
			a.event(EventRetry, now, what), next.event(EventResolved, now, what)),
		Deliveries: append(next.notify(RetryDelivery, now), next.callBack(now)...),
	}
}

// deniedAgain ends a round: the approval stays as it is, and the same call is refused for
// a while, as after any deny of a person.
func (a Approval) deniedAgain(view Approval, by []string, reason string, b Ballot, vote Vote, now int64) Change {
	denied := view
	denied.DecidedBy = by
	cool := Change{Approval: denied}.coolDown(reason, now)
	next := a.clone()
	next.Round, next.CoolsUntilMs, next.AskAgainBy = nil, cool.Approval.CoolsUntilMs, ""
	if vote.Verdict == Reject {
		next.RoundDenied = &vote
	}
	what := eventData{Vote: &vote, By: by[0], Round: a.Round}
	return Change{Approval: next, Redraw: true, Grants: cool.Grants, Ends: cool.Ends,
		Passkey: b.spent(nil, now),
		Events:  append([]Event{next.event(EventVote, now, what)}, cool.Events...)}
}

// votedAgain is the log's word on a vote of a round.
func (a Approval) votedAgain(vote Vote, b Ballot, now int64) []Event {
	out := []Event{a.event(EventVote, now, eventData{Vote: &vote, Solo: a.Solo, Round: a.Round})}
	if vote.Signature != nil {
		out = append(out, a.signedEvent(b.evidence.passkey, now))
	}
	return out
}

// refusedAgain is [Approval.refused] on an approval that has ended.
func (a Approval) refusedAgain(v Voter, b Ballot, why *Error, now int64) Change {
	c := a.refused(v, b, why, now)
	c.Approval, c.Unchanged = a, true
	return c
}

// Retry opens a round on whether an approved call runs once more, with the vote of the
// token's person, or votes in the open one. withoutResult: although no result says that
// the run before has ended. Once the rule's quorum said so, the owner may claim the call
// again, and is told. The call itself is never in the answer. after is as in a Ballot.
func (g *Gate) Retry(ctx context.Context, who Caller, ref string, withoutResult bool, after ...int) (Approval, error) {
	if !who.MayDecide {
		return Approval{}, Refuse(CodeForbidden, "This token may not retry: it needs the scope operator.approvals.")
	}
	key, err := g.Resolve(ctx, who, ref)
	if err != nil {
		return Approval{}, err
	}
	return g.Vote(ctx, key, Ballot{Voter: Voter{Channel: "api", UserID: who.Token}, Decision: Retry,
		Opens: true, WithoutResult: withoutResult, After: said(after), ReceivedMs: nowMs()})
}

// said is Ballot.After of who may have said it.
func said(after []int) *int {
	if len(after) == 0 {
		return nil
	}
	return &after[0]
}

// voteAgain is [Gate.Vote] on whether an approved call runs once more.
func (g *Gate) voteAgain(ctx context.Context, key string, b Ballot) (Approval, error) {
	rules, outdated := g.inForce()
	allows := b.Decision != Deny
	if allows && outdated != nil {
		return Approval{}, outdated
	}
	var t today
	if allows {
		var err error
		if t, err = g.today(ctx, key, rules); err != nil {
			return Approval{}, err
		}
	}
	fault.Point("before-retry-committed")
	defer fault.Point("after-retry-committed")
	step := func(a Approval) (Change, error) {
		now := time.Now()
		asOf := rules.at(now)
		b.confirmed, b.atVerifier = g.confirms.confirms(b, a), rules.atVerifier(b, a)
		c, err := a.voteAgain(b, t, &asOf, now.UnixMilli())
		if no, is := errors.AsType[*Error](err); is && b.evidence != nil { // what was signed is used up
			c, err = Change{Approval: a, Unchanged: true, Refusal: no}, nil
		}
		c = c.spending(b, now.UnixMilli())
		if c.Handled = b.Handled; allows {
			c.Policy, c.Absences = rules.Policy.Hash(), rules.absences.Revision
			if !c.Unchanged {
				c.NotDenied = a.notDenied(now.UnixMilli())
			}
		}
		return c, err
	}
	var err error
	if b.evidence, err = g.evidenceOf(ctx, b.Signed); err != nil {
		return Approval{}, err
	}
	a, err := g.update(ctx, key, step)
	if !errors.Is(err, ErrSpent) {
		return a, err
	}
	if b.evidence, err = g.evidenceOf(ctx, b.Signed); err != nil {
		return Approval{}, err
	}
	return g.update(ctx, key, step)
}

// today is what policy and the record say of an approved call now. The classifier and the
// verifier's webhook are not asked again.
func (g *Gate) today(ctx context.Context, key string, rules *Rules) (t today, err error) {
	a, err := g.store.Bare(ctx, key)
	if err != nil {
		return t, err
	}
	call, err := g.openInTime(ctx, a, rules)
	switch {
	case CodeOf(err) == CodeRetryDataGone:
		return t, nil
	case err != nil:
		return t, err
	}
	j := Judgement{Outcome: OutcomeDeny, Reason: "approvals are disabled"}
	if rules.Enabled {
		j = rules.judgeStored(ctx, a, call)
	}
	t.judgement = &j
	if err := g.withHolders(ctx, Rule{StepUp: j.Rule.StepUp || a.Rule.StepUp}, rules); err != nil {
		return t, err
	}
	now := nowMs()
	found, err := g.store.Covering(ctx, Lookup{Owner: a.Owner, AgentID: a.AgentID, Fingerprint: a.Fingerprint})
	for _, cool := range found {
		if cool.refuses(a, now) {
			t.coolDown = &cool
		}
	}
	return t, err
}
