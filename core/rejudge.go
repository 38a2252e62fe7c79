package core

import (
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// rejudgement is the log's word that other rules count now.
func rejudgement(a approval.Approval, j *approval.Judgement, now int64) []approval.Event {
	if j == nil {
		return nil
	}
	return []approval.Event{a.Event(approval.EventRejudged, now, approval.EventData{Why: j.Outcome.String()})}
}

// judgedAgain is the step of a pending approval when the rules change without a vote.
func judgedAgain(a approval.Approval, j *approval.Judgement, rules *Rules, now int64) Change {
	if j == nil || a.Final() {
		return Change{Approval: a, Unchanged: true}
	}
	next, further := rejudged(a, j, rules, now)
	c := Change{Approval: next, Redraw: true, Events: rejudgement(next, j, now)}
	if next.Final() {
		return c.end(approval.EventResolved, now)
	}
	c.Deliveries, c.Open = further, outgrown(next, a)
	return c
}

// rejudged brings a pending approval up to the rules of today. They only tighten: a deny
// ends it, the votes so far are void if class, rule or offers changed, the larger quorum
// and the fewer offers count, and a looser policy never allows by itself. If approvers, or
// the verifier's people, must say yes from now on, further are their cards.
func rejudged(a approval.Approval, j *approval.Judgement, rules *Rules, now int64) (_ approval.Approval, further []approval.Delivery) {
	if j == nil || a.Final() {
		return a, nil
	}
	was, next := a, a.Clone()
	next.PolicyHash = rules.Policy.Hash()
	if j.Outcome != approval.OutcomeAllow { // an allow does not change it
		next.Assessment.ReasonCodes = slices.Clone(next.Assessment.ReasonCodes)
		for _, code := range j.Assessment.ReasonCodes {
			if !slices.Contains(next.Assessment.ReasonCodes, code) {
				next.Assessment.ReasonCodes = append(next.Assessment.ReasonCodes, code)
			}
		}
	}
	if why, denied := denies(*j, false); denied {
		next.Status, next.Decision, next.DecidedBy, next.Reason = approval.Denied, approval.Deny, []string{"policy"}, why
		return next, nil
	}
	next.Rule.StepUp = next.Rule.StepUp || j.Rule.StepUp
	if next.Rule.StepUp { // a signature is under the policy that it names
		next.Offers, next.Unreached = onceOnly(next.Offers), false
	}
	if j.Rule.AsksVerifier() {
		need := *j.Rule.Verifier
		if next.Rule.Verifier != nil {
			need.Instead = next.Rule.Verifier.Instead
			need.FailOpen = need.FailOpen && next.Rule.Verifier.FailOpen
		}
		next.Rule.Verifier = &need
	}
	if j.Outcome == approval.OutcomeAsk {
		if !slices.ContainsFunc(j.Votes, byRules) { // the rule that said yes is gone
			next.Votes = slices.DeleteFunc(next.Votes, byRules)
		}
		disabled := func(f approval.Factor) bool { return !j.Rule.Admits(f) }
		next.Rule.Effective = slices.DeleteFunc(slices.Clone(next.Rule.Effective), disabled)
		next.Rule.MinApprovals = max(next.Rule.MinApprovals, j.Rule.MinApprovals)
		next.Rule.RequiresHuman = next.Rule.RequiresHuman || j.Rule.RequiresHuman
		next.Rule.Needs = approval.MergeNeeds(next.Rule.Needs, j.Rule.Needs)
		if next.Confined == nil {
			next.Confined = j.Confined
		}
		gone := func(d approval.Decision) bool { return !slices.Contains(j.Offers, d) }
		next.Offers = slices.DeleteFunc(slices.Clone(next.Offers), gone)
		if !next.Rule.AsksApprovers() {
			next.Rule = next.Rule.Instead("")
		}
		next = people.WithoutNeedlessApprovers(next, rules.People)
	}
	next.Unreached = next.Unreached && j.Unreached == approval.OutcomeAllow
	if j.Assessment.RiskClass > next.Assessment.RiskClass {
		next.Assessment, next.Why, next.Points = j.Assessment, j.Why, j.Points
	}
	why := people.QuorumImpossible(next, rules.People)
	if why != "" && rules.Clamp && people.Clamp(&next, rules.People) { // before it is compared: a clamped quorum is no larger one
		why = ""
	}
	asked := next.Rule.AsksApprovers() && !was.Rule.AsksApprovers()
	reclassed := next.Assessment.RiskClass != was.Assessment.RiskClass || len(next.Offers) != len(was.Offers)
	resign := slices.ContainsFunc(next.Votes, next.Unsigned)
	if asked || reclassed || resign || tightened(next.Rule, was.Rule) {
		next.Votes = slices.DeleteFunc(next.Votes, approval.ByPeople)
		next.Why = append([]string{card.RulesChangedText}, next.Why...)
	}
	if why != "" {
		return people.Insufficient(next, why), nil
	}
	routes := Routes{}
	if asked || j.Rule.AsksVerifier() {
		routes = rules.Router.Route(next)
	}
	if asked {
		further = addCards(&next, routes, now)
	}
	for _, place := range routes.Verifier {
		if !next.HasCardAt(place) {
			further = append(further, furtherCard(next, place, now))
		}
	}
	if next.Rule.AsksVerifier() && j.Rule.AsksVerifier() {
		next.VerifierLookMs = now + routes.FallbackAfterMs
	}
	hush(next, further, rules, now)
	return next, further
}

// tightened reports whether a rule that was made from an older one, which it may only
// tighten, is another one.
func tightened(r approval.Rule, older approval.Rule) bool {
	signed, human := r.StepUp != older.StepUp, r.RequiresHuman != older.RequiresHuman
	larger := r.MinApprovals > older.MinApprovals || len(r.Needs) != len(older.Needs)
	return larger || signed || human || len(r.Effective) != len(older.Effective)
}

// addCards gives cards for the places that have none yet, and sets when to look whether
// they arrive.
func addCards(a *approval.Approval, routes Routes, now int64) (cards []approval.Delivery) {
	places := routes.Targets
	if a.FallbackDone = len(places) == 0; a.FallbackDone {
		places = routes.Fallback
	}
	for _, t := range places {
		if !a.HasCardAt(t) {
			cards = append(cards, furtherCard(*a, t, now))
		}
	}
	a.FallbackAtMs = now + routes.FallbackAfterMs
	return cards
}

func byRules(v approval.Vote) bool { return v.Approver == approval.RulesBased }

// settledToday reports whether what no person decided would run today without one:
// other rules have allowed it, and those of today ask no less of it.
func settledToday(a approval.Approval, call approval.Call, j approval.Judgement, f Existing, rules *Rules, now int64) bool {
	j.Rule.Verifier = nil // its people said yes, if they are wanted
	a.Status, a.Assessment, a.Rule, a.Subject = approval.Pending, j.Assessment, j.Rule, subject(j, call)
	a.Offers = grantableOffers(j, call, a.Subject)
	a.Votes = withVoteTimes(j.Votes, now)
	a = byGrant(settledByPolicy(a, j, rules), f, j.GrantScope, rules.People, now)
	if a.Status == approval.Pending {
		a.Status = people.TallyOf(a, rules.People).Outcome
	}
	return a.Status == approval.Approved || a.Unreached && j.Unreached == approval.OutcomeAllow
}

// approversVoted reports whether people settled it who may say yes to such a call. The
// verifier's own people do not count. If the call ran because no approver could be asked,
// one yes of several is no quorum.
func approversVoted(a approval.Approval) bool {
	return a.Rule.AsksApprovers() && slices.ContainsFunc(a.Votes, approval.ByPeople) && !slices.Contains(a.DecidedBy, "policy")
}
