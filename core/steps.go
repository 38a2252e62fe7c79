package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"approvalbot/display"
)

// claimWindowMs is how long after approval a call may be claimed.
const claimWindowMs = 5 * 60 * 1000

// ReasonInsufficient is the reason code of an approval that could never be met,
// ReasonUnreached of one whose cards reached nobody.
const (
	ReasonInsufficient = "insufficient-factors"
	ReasonUnreached    = "no-approver-reachable"
)

// Ballot is one person's vote as it arrives from a chat, the API or a terminal.
type Ballot struct {
	Voter      Voter
	Decision   Decision
	Reason     string
	Chat       *Target     // where it was given; nil: by API or terminal, whose answers show the whole call
	ReceivedMs int64       // when the desk (or the platform) took it; 0: it waited on the platform, undated
	Code       string      // of the tapped card; another approval's is CodeNotFound. Empty: it was not on a card
	Card       string      // message id of the tapped card, when the desk did not know that copy yet: it is adopted
	Handled    *InboundRef // the platform update it came in
}

// vote counts one ballot. Refusals are part of the Change, because they are
// audited and their platform update is handled.
//
// adopted is the card it came from, when that copy was unknown so far; fresh is
// policy's new judgement, when the rules are others than at the time of asking.
func (a Approval) vote(b Ballot, adopted []Delivery, fresh *Judgement, rules *Rules, now int64) Change {
	before := a.withCards(adopted).today(rules)
	var c Change
	changed, further := before.rejudged(fresh, rules, now)
	if changed.Final() && !a.Final() {
		c = Change{Approval: changed, Events: changed.rejudgement(fresh, now)}.end(EventResolved, now)
		c.Refusal = c.Approval.ended()
	} else {
		c = changed.count(b, rules.People, now)
		if fresh != nil && c.Unchanged && !a.Final() {
			c.Unchanged, c.Approval, c.Redraw = false, changed, true
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
		c.Deliveries = append(c.Deliveries, further...)
	}
	if len(adopted) > 0 && !a.knows(adopted[0]) {
		c.Deliveries = append(c.Deliveries, adopted...)
	}
	return c
}

// rejudgement is the log's word that other rules count now.
func (a Approval) rejudgement(j *Judgement, now int64) []Event {
	if j == nil {
		return nil
	}
	return []Event{a.event(EventRejudged, now, eventData{Why: j.Outcome.String()})}
}

// judgedAgain is the step of a pending approval when the rules change while
// nobody votes.
func (a Approval) judgedAgain(j *Judgement, rules *Rules, now int64) Change {
	if j == nil || a.Final() {
		return Change{Approval: a, Unchanged: true}
	}
	next, further := a.rejudged(j, rules, now)
	c := Change{Approval: next, Redraw: true, Events: next.rejudgement(j, now)}
	if next.Final() {
		return c.end(EventResolved, now)
	}
	c.Deliveries = further
	return c
}

// rejudged brings a pending approval up to the rules of today. They only tighten:
// a deny ends it, where class, rule or offers changed the votes so far are void,
// the larger quorum and the fewer offers count, and a looser policy never allows
// by itself. Where approvers must say yes from now on, further are their cards.
func (a Approval) rejudged(j *Judgement, rules *Rules, now int64) (_ Approval, further []Delivery) {
	if j == nil || a.Final() {
		return a, nil
	}
	was, next := a, a.clone()
	next.PolicyHash = rules.Policy.Hash()
	if j.Outcome != OutcomeAllow { // which changes nothing
		next.Assessment.ReasonCodes = slices.Clone(next.Assessment.ReasonCodes)
		for _, code := range j.Assessment.ReasonCodes {
			if !slices.Contains(next.Assessment.ReasonCodes, code) {
				next.Assessment.ReasonCodes = append(next.Assessment.ReasonCodes, code)
			}
		}
	}
	if why, denied := j.denies(false); denied {
		next.Status, next.Decision, next.DecidedBy, next.Reason = Denied, Deny, []string{"policy"}, why
		return next, nil
	}
	if j.Outcome == OutcomeAsk {
		if !slices.ContainsFunc(j.Votes, byRules) { // the rule that said yes is gone
			next.Votes = slices.DeleteFunc(next.Votes, byRules)
		}
		next.Rule.Effective = slices.DeleteFunc(slices.Clone(next.Rule.Effective), func(f Factor) bool { return !j.Rule.Admits(f) })
		next.Rule.MinApprovals = max(next.Rule.MinApprovals, j.Rule.MinApprovals)
		next.Rule.RequiresHuman = next.Rule.RequiresHuman || j.Rule.RequiresHuman
		next.Rule.Needs = mergeNeeds(next.Rule.Needs, j.Rule.Needs)
		next.Offers = slices.DeleteFunc(slices.Clone(next.Offers), func(d Decision) bool { return !slices.Contains(j.Offers, d) })
		if !next.Rule.AsksApprovers() {
			next.Rule = next.Rule.instead("")
		}
		next = next.sparingApprovers(rules.People)
	}
	next.Unreached = next.Unreached && j.Unreached == OutcomeAllow
	if j.Assessment.RiskClass > next.Assessment.RiskClass {
		next.Assessment, next.Why = j.Assessment, j.Why
	}
	asked := next.Rule.AsksApprovers() && !was.Rule.AsksApprovers()
	if asked || next.Assessment.RiskClass != was.Assessment.RiskClass || next.Rule.MinApprovals != was.Rule.MinApprovals ||
		next.Rule.RequiresHuman != was.Rule.RequiresHuman || len(next.Rule.Needs) != len(was.Rule.Needs) || len(next.Rule.Effective) != len(was.Rule.Effective) || len(next.Offers) != len(was.Offers) {
		next.Votes = slices.DeleteFunc(next.Votes, func(v Vote) bool { return v.Approver == UserRequest })
		next.Why = append([]string{"The rules changed while this waited; earlier votes no longer count."}, next.Why...)
	}
	if why := next.unreachable(rules.People); why != "" && !(rules.Clamp && next.clamp(rules.People)) {
		return next.insufficient(why), nil
	}
	if asked {
		further = next.askFurther(rules.Router.Route(next), now)
	}
	return next, further
}

// askFurther gives cards for the places that have none yet, and has it looked anew
// whether they arrive.
func (a *Approval) askFurther(routes Routes, now int64) (cards []Delivery) {
	places := routes.Targets
	if a.FallbackDone = len(places) == 0; a.FallbackDone {
		places = routes.Fallback
	}
	for _, t := range places {
		if !a.hasCardAt(t) {
			cards = append(cards, a.delivery(CardDelivery, t, now))
		}
	}
	a.FallbackAtMs = now + routes.FallbackAfterMs
	return cards
}

// sparingApprovers is the approval without the approvers' need where a rule's yes
// meets that already: then nobody but the verifier's people is asked. What people voted
// spares nobody, since that counts by the authority that they have at the settlement.
func (a Approval) sparingApprovers(d *Directory) Approval {
	automatic := a
	automatic.Votes = slices.DeleteFunc(slices.Clone(a.Votes), byPeople)
	if a.Rule.AsksVerifier() && a.Rule.AsksApprovers() && automatic.tally(d).Enough {
		return a.onlyVerifier("policy")
	}
	return a
}

// onlyVerifier is the approval that only the verifier's people are asked about,
// since something else stands for the approvers' yes. There is nothing to grant.
func (a Approval) onlyVerifier(instead string) Approval {
	a.Rule, a.Offers, a.Unreached = a.Rule.instead(instead), []Decision{AllowOnce, Deny}, false
	return a
}

// denies says why policy's new judgement ends what was asked or allowed under
// other rules. Where people are not to be asked, only a grant still counts.
func (j Judgement) denies(granted bool) (why string, denied bool) {
	switch {
	case j.Outcome != OutcomeAllow && j.Outcome != OutcomeAsk:
		return j.Reason, true
	case j.Outcome == OutcomeAsk && j.OnMiss != "" && !granted:
		return j.OnMiss, true
	}
	return "", false
}

func byRules(v Vote) bool { return v.Approver == RulesBased }

// count is vote without the bookkeeping of the message it came in.
func (a Approval) count(b Ballot, d *Directory, now int64) Change {
	v := d.Identify(b.Voter)
	b.Reason = words(b.Reason, maxReason)
	if a.Final() {
		return a.lateVote(v, b)
	}
	if b.ReceivedMs >= a.ExpiresAtMs {
		c := a.expire(now)
		c.Refusal = c.Approval.ended()
		return c
	}
	if refusal := a.admits(v, b, d); refusal != nil {
		if refusal.Code == CodeSelfApproval && b.Decision == Deny {
			return a.withdraw(v.Name(), cmp.Or(b.Reason, withdrawnByRequester), now).coolDown(now)
		}
		return a.refused(v, b, refusal, now)
	}
	vote := Vote{Approver: UserRequest, Verdict: Approve, Decision: b.Decision, Voter: &v, Reason: b.Reason,
		DecidedAtMs: now, VerifierOnly: a.verifierOnly(v, d)}
	if b.Decision == Deny {
		vote.Verdict = Reject
	}
	next := a.clone()
	i := slices.IndexFunc(next.Votes, func(o Vote) bool { return o.Voter != nil && o.Voter.Name() == v.Name() })
	switch {
	case i < 0:
		next.Votes = append(next.Votes, vote)
	case next.Votes[i].Decision == b.Decision && next.Votes[i].Voter.Channel == v.Channel && next.Votes[i].Voter.UserID == v.UserID:
		return Change{Approval: a, Unchanged: true}
	case vote.VerifierOnly && vote.Verdict == Approve && a.fillsBoth(next.Votes[i], d):
		return Change{Approval: a, Unchanged: true} // the yes that stands counts for the verifier, too
	default:
		next.Votes = append(slices.Delete(next.Votes, i, i+1), vote)
	}
	c := Change{Approval: next, Redraw: true, Events: []Event{next.event(EventVote, now, eventData{Vote: &vote, Solo: a.Solo})}}
	return c.settle(d, now)
}

// withdrawnByRequester is the reason where the requester gave none.
const withdrawnByRequester = "withdrawn by the requester"

// worth says toward what the voter's vote counts now. A deny is open to everybody who
// may decide; a yes counts toward each need that the voter is entitled to fill.
func (a Approval) worth(v Voter, d *Directory) (w Weight) {
	approver := d.MayDecide(v)
	w.Verifier = d.verifies(a.Rule.Verifier, a.AgentID, v)
	w.Deny = approver || w.Verifier
	if w.Verifier && a.Rule.Verifier.Optional { // a drill's: they answer as approvers do
		approver = true
	}
	counted := a.Rule.MinApprovals <= 1 || v.Person != ""
	w.Approvers = approver && counted && a.Rule.AsksApprovers() && a.Rule.Admits(UserRequest)
	return w
}

// verifierOnly reports whether the voter's vote counts for the verifier alone.
func (a Approval) verifierOnly(v Voter, d *Directory) bool {
	w := a.worth(v, d)
	return w.Verifier && !w.Approvers
}

// admits says why this voter may not give this ballot, or nil.
func (a Approval) admits(v Voter, b Ballot, d *Directory) *Error {
	w := a.worth(v, d)
	switch {
	case a.MayNotDecide(v, d):
		return refuse(CodeSelfApproval, "You cannot approve your own request.")
	case !w.Deny:
		return notAnApprover()
	case !a.Rule.Admits(UserRequest) && !w.Verifier:
		return refuse(CodeDecisionNotOffered, "Policy does not let people decide this request.")
	case b.Decision == Deny:
		return nil
	case !b.Decision.Allows() || !slices.Contains(a.Offers, b.Decision):
		return refuse(CodeDecisionNotOffered, "%s is not offered for this request.", display.Escape(string(b.Decision)))
	case !w.Approvers && w.Verifier && b.Decision != AllowOnce:
		return refuse(CodeDecisionNotOffered,
			"You are asked for the verifier, whose yes counts for this call alone: allow it once, or deny it.")
	case !w.Approvers && !w.Verifier && !a.Rule.AsksApprovers():
		return refuse(CodeNotAnApprover, "Only the verifier's people can allow this request; you can deny it.")
	case !w.Approvers && !w.Verifier:
		return refuse(CodeNotAnApprover, "This request needs %d approvals, and only people named in the configuration count for it.", a.Rule.MinApprovals)
	case b.Chat != nil && !a.shownIn(*b.Chat):
		return a.unseenIn(*b.Chat)
	}
	return nil
}

func notAnApprover() *Error {
	return refuse(CodeNotAnApprover, "You are not authorized to approve/deny this request.")
}

// lateVote answers a ballot on an ended approval: the same person's same vote
// again is fine, anything else is told how it ended.
func (a Approval) lateVote(v Voter, b Ballot) Change {
	c := Change{Approval: a, Unchanged: true}
	same := slices.ContainsFunc(a.Votes, func(o Vote) bool {
		return o.Voter != nil && o.Voter.Name() == v.Name() && o.Decision == b.Decision
	})
	withdrew := a.Status == Withdrawn && b.Decision == Deny && slices.Contains(a.DecidedBy, v.Name())
	if !same && !withdrew {
		c.Refusal = a.ended()
	}
	return c
}

// ended is the refusal that says how the approval ended.
func (a Approval) ended() *Error {
	return refuse(CodeAlreadyResolved, "Already decided: %s", a.Ending())
}

// refused records an attempt that was not allowed.
func (a Approval) refused(v Voter, b Ballot, why *Error, now int64) Change {
	c := Change{Approval: a, Unchanged: true, Refusal: why}
	c.Events = []Event{a.event(EventRefused, now, eventData{
		Vote: &Vote{Approver: UserRequest, Verdict: Errored, Decision: b.Decision, Voter: &v, ReasonCodes: []string{string(why.Code)}, DecidedAtMs: now},
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

// settle applies the tally and, when it is met, ends the approval.
func (c Change) settle(d *Directory, now int64) Change {
	t := c.Approval.tally(d)
	if t.Outcome == Pending {
		return c
	}
	c.Approval.Votes = c.Approval.standing(d)
	c.Approval.Status, c.Approval.Decision = t.Outcome, t.Decision
	c.Approval.DecidedBy, c.Approval.Reason = t.deciders(), t.Reason
	if n := c.Approval.Rule.Verifier; n != nil && t.Outcome == Approved && strings.HasPrefix(n.Instead, "grant:") {
		c.Approval.DecidedBy = append([]string{n.Instead}, c.Approval.DecidedBy...)
	}
	return c.end(EventResolved, now).leave(t.By, now)
}

// MayBeDecidedBy reports whether the voter may vote on this approval: an approver on
// that channel, or one of the verifier's people whom it asks.
func (a Approval) MayBeDecidedBy(v Voter, d *Directory) bool { return a.worth(d.Identify(v), d).Deny }

// Concerns reports whether the voter may know how the approval ended: whoever
// could decide it, and whoever asked.
func (a Approval) Concerns(v Voter, d *Directory) bool {
	return a.MayBeDecidedBy(v, d) || a.AskedBy(v, d)
}

// tally counts the votes whose authority stands now: a voter who has lost it, or
// who turned out to be an asker, counts for nothing.
func (a Approval) tally(d *Directory) Tally {
	return Count(a.Rule, a.Votes, func(v Vote) Weight { return a.worthNow(v, d) }, d.Meets)
}

// worthNow says toward what a vote counts, by the authority that stands now.
func (a Approval) worthNow(v Vote, d *Directory) Weight {
	switch {
	case v.Approver == LLMEvaluation && v.Verdict == Approve:
		return Weight{Approvers: a.Assessment.RiskClass < R3}
	case v.Approver != UserRequest:
		return Weight{Deny: true, Approvers: true}
	}
	// Identify again: the account may belong to somebody else by now.
	who := d.Identify(*v.Voter)
	if who.Person != v.Voter.Person || a.MayNotDecide(who, d) {
		return Weight{}
	}
	return a.worth(who, d)
}

// fillsBoth reports whether a vote is a yes that counts toward both needs now.
func (a Approval) fillsBoth(v Vote, d *Directory) bool {
	w := a.worthNow(v, d)
	return v.Verdict == Approve && w.Approvers && w.Verifier
}

// standing are the votes without those of people who have lost their authority, or
// who turned out to be askers. Each says toward what it counts now.
func (a Approval) standing(d *Directory) []Vote {
	out := slices.DeleteFunc(slices.Clone(a.Votes), func(v Vote) bool {
		return byPeople(v) && a.worthNow(v, d) == Weight{}
	})
	for i, v := range out {
		w := a.worthNow(v, d)
		out[i].VerifierOnly = w.Verifier && !w.Approvers
	}
	return out
}

// AsOfNow is a pending approval as it stands under these people: with the votes that
// count, and reached where a card stands in a chat. What has ended stays as it ended.
func (a Approval) AsOfNow(d *Directory) Approval {
	if a.Final() {
		return a
	}
	a.Votes = a.standing(d)
	return a.reachedAfterAll()
}

// TallyText says the votes so far: "1 of 2: alice".
func (a Approval) TallyText(d *Directory) string { return a.tally(d).Text() }

// end finishes a change whose approval just got its final status.
func (c Change) end(event EventType, now int64) Change {
	c.Approval = c.Approval.reachedAfterAll()
	a := &c.Approval
	a.ResolvedAtMs, a.FallbackAtMs = now, 0
	if a.Status == Approved {
		a.ClaimUntilMs = now + claimWindowMs
	} else {
		c.Unseal = true
	}
	c.Redraw = !c.New
	c.Events = append(c.Events, a.event(event, now, eventData{}))
	if !c.New {
		c.Deliveries = append(c.Deliveries, a.tell(OutcomeDelivery, now)...)
	}
	c.Deliveries = append(c.Deliveries, a.callBack(now)...)
	return c
}

// callBack gives the delivery that tells the owner how the approval stands, if it
// wants to be called. The approval's key is its chat: calls for one approval
// keep their order, and another's that hangs holds up none of them.
func (a Approval) callBack(now int64) []Delivery {
	if a.CallbackURL == "" {
		return nil
	}
	return []Delivery{a.delivery(CallbackDelivery, Target{Channel: CallbackChannel, To: a.Key}, now)}
}

// tell gives the delivery that tells the session chat something, unless a card
// there shows it already or it was told before. Each retry is another one, and so is
// each result.
func (a Approval) tell(kind DeliveryKind, now int64) []Delivery {
	if a.Origin == nil {
		return nil
	}
	place := a.Origin.Normal()
	once := kind != RetryDelivery && kind != ResultDelivery
	for _, d := range a.Deliveries {
		card := d.Kind == CardDelivery && d.State != Failed
		if d.Target.Normal() == place && (card || once && d.Kind == kind) {
			return nil
		}
	}
	return []Delivery{a.delivery(kind, place, now)}
}

// hasCardAt reports whether a card was made for that very place.
func (a Approval) hasCardAt(t Target) bool {
	return slices.ContainsFunc(a.Deliveries, func(d Delivery) bool {
		return d.Kind == CardDelivery && d.Target.Normal() == t.Normal()
	})
}

func (a Approval) delivery(kind DeliveryKind, t Target, now int64) Delivery {
	return Delivery{Key: a.Key, Kind: kind, Target: t, State: Queued, DueMs: now, Rank: int(a.Assessment.RiskClass), CreatedMs: now}
}

// expire ends a pending approval by silence.
func (a Approval) expire(now int64) Change {
	next := a.clone()
	next.Status, next.Reason = Expired, "nobody decided in time"
	if slices.ContainsFunc(a.Votes, byPeople) {
		next.Reason = "too few approvals in time"
	}
	return Change{Approval: next}.end(EventExpired, now)
}

// withdraw ends a pending approval because whoever asked no longer needs it.
func (a Approval) withdraw(by, reason string, now int64) Change {
	next := a.clone()
	next.Status, next.Reason, next.DecidedBy = Withdrawn, words(reason, maxReason), []string{by}
	return Change{Approval: next}.end(EventWithdrawn, now)
}

// supersede withdraws a pending approval in favour of another one.
func (a Approval) supersede(by Approval, now int64) Change {
	c := a.withdraw("token:"+a.Owner, "superseded by "+by.Code, now)
	c.Approval.SupersededBy, c.Approval.Votes = by.Code, nil
	return c
}

// join lets one more identical request wait for the same approval. Whoever
// stands behind it may not decide it; if nobody else can, it ends.
// The card says for whom, and why, of the first one that names somebody, or a reason.
func (a Approval) join(by Approval, alias string, rules *Rules, now int64) Change {
	next := a.clone()
	if next.Requester == nil {
		next.Requester = by.Requester
	}
	next.Justification = cmp.Or(next.Justification, by.Justification)
	for _, r := range by.Askers {
		if !slices.Contains(next.Askers, r) {
			next.Askers = append(next.Askers, r)
		}
	}
	next.Unreached = a.Unreached && by.Unreached // whoever joins may want a person's yes
	c := Change{Approval: next}
	if alias != "" && alias != a.ID {
		c.Aliases = []string{alias}
	}
	told := next.Requester != a.Requester || next.Justification != a.Justification
	stricter := next.Unreached != a.Unreached
	if len(next.Askers) == len(a.Askers) && len(c.Aliases) == 0 && !told && !stricter && len(by.Consulted) == 0 {
		return Change{Approval: a, Unchanged: true}
	}
	c.Events = []Event{next.event(EventJoined, now, eventData{Joined: by.Askers})}
	c.Redraw = told || len(next.Askers) != len(a.Askers)
	if why := c.Approval.unreachable(rules.People); why != "" && !(rules.Clamp && c.Approval.clamp(rules.People)) {
		c.Approval = c.Approval.insufficient(why)
		return c.end(EventResolved, now)
	}
	return c
}

// insufficient denies an approval that can never be met.
func (a Approval) insufficient(why string) Approval {
	a.Status, a.Decision, a.DecidedBy, a.Reason = Denied, Deny, []string{"policy"}, why
	a.Assessment.ReasonCodes = append(slices.Clone(a.Assessment.ReasonCodes), ReasonInsufficient)
	return a
}

// unreachable says why the quorum could never be met by the people there are,
// or nothing.
func (a Approval) unreachable(d *Directory) string {
	auto := 0
	for _, v := range a.Votes {
		if v.Approver != UserRequest && v.Verdict == Approve && a.Rule.Admits(v.Approver) && (v.Approver != LLMEvaluation || a.Assessment.RiskClass < R3) {
			auto++
		}
	}
	barred := a.barred(d)
	if a.Rule.AsksVerifier() && len(d.distinct(barred, d.listed(a.Rule.Verifier, a.AgentID))) == 0 {
		return "There are too few approvers for this: it needs one of the verifier's people beside whoever asked."
	}
	if !a.Rule.AsksApprovers() {
		return ""
	}
	for _, n := range a.Rule.Needs {
		if !d.Enough(n, barred) {
			return "There are too few approvers for this: it needs " + n.words(n.Min) + " beside whoever asked."
		}
	}
	var named []string
	if n := a.Rule.Verifier; n != nil && n.Optional {
		named = n.Accounts
	}
	need := max(1, a.Rule.MinApprovals) - auto
	if a.Rule.RequiresHuman {
		need = max(need, 1)
	}
	if need <= 0 && len(a.Rule.Needs) == 0 {
		return ""
	}
	if !a.Rule.Admits(UserRequest) {
		return "Policy lets nobody approve this: no approver is left after the disabled ones."
	}
	mapped, unmapped, open := d.Eligible(barred, named...)
	have := mapped
	if a.Rule.MinApprovals <= 1 {
		have += unmapped
	}
	if have >= need || open {
		return ""
	}
	everyone, others, _ := d.Eligible(nil, named...)
	if a.Rule.MinApprovals > 1 {
		others = 0
	}
	switch all := everyone + others; {
	case all < need:
	case have > 0:
		return fmt.Sprintf("Too few people beside whoever asked could approve this: it needs %d, and there %s %d. Name another approver, or set approvals.tools.selfApproval: solo to let people approve their own requests.",
			need, map[bool]string{true: "is", false: "are"}[have == 1], have)
	default:
		return "Nobody but whoever asked could approve this. Name another approver, or set approvals.tools.selfApproval: solo to let people approve their own requests."
	}
	return "There are too few approvers for this: name more people in the configuration, or lower the number of approvals it needs."
}

// words redacts, unbreaks and cuts what a person or program said.
func words(s string, limit int) string {
	s, _ = display.Clip(display.Redact(s), limit)
	return s
}
