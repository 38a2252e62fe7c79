package core

import (
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// roundAnswers refuses an allow in an open round: it was said to another question.
func roundAnswers(a approval.Approval, r approval.RetryRound, d *people.Directory) *approval.Error {
	return approval.Refuse(approval.CodeAlreadyResolved, "%s was allowed before, so this answer does not count. A "+
		"retry is open (%s). Vote on it with: retry %[1]s, or "+
		"deny %[1]s.", a.Code, people.TallyOf(a.Again(r), d).RoundText())
}

// newRound is a round without a person's vote. It counts under the rule that the call was
// asked under, except that a person must say yes, and policy or a grant cannot replace the
// approvers' yes.
func newRound(a approval.Approval, by string, withoutResult bool, j approval.Judgement, rules *Rules, now int64) *approval.RetryRound {
	rule := a.Rule
	if !rule.AsksApprovers() {
		rule = rule.Instead("")
	}
	rule.MinApprovals, rule.Unclamped, rule.RequiresHuman = max(1, rule.MinApprovals, rule.Unclamped), 0, true
	disabled := slices.Contains(rule.Disabled, approval.UserRequest) || slices.Contains(j.Rule.Disabled, approval.UserRequest)
	if !rule.Admits(approval.UserRequest) && !disabled {
		rule.Effective = append(slices.Clone(rule.Effective), approval.UserRequest)
	}
	votes := slices.DeleteFunc(withVoteTimes(slices.Clone(j.Votes), now), func(v approval.Vote) bool { return !byRules(v) })
	return &approval.RetryRound{By: by, WithoutResult: withoutResult, OpenedAtMs: now, ExpiresAtMs: now + rules.TimeoutMs,
		Rule: rule, Assessment: a.Assessment, PolicyHash: a.PolicyHash, Votes: votes}
}

// judgedForRound is the view under the policy of today, which only tightens; see [Approval.rejudged].
func judgedForRound(a approval.Approval, j *approval.Judgement, rules *Rules, now int64) approval.Approval {
	offers := a.Offers
	a.Offers = nil // policy neither offers a retry nor takes one away
	a, _ = rejudged(a, j, rules, now)
	a.Offers = offers
	return a
}

// roundEveryMs is how often at most people hear of the rounds of one approval, so that a
// person who opens one round after the other does not notify them each time.
const roundEveryMs = 60 * 60 * 1000

// tellOfRound says below each card that a person wants the call to run again, and in the
// chats that routing names without a card, at most once an hour and run.
func tellOfRound(a approval.Approval, rules *Rules, now int64) (out []approval.Delivery) {
	if slices.ContainsFunc(a.Deliveries, func(d approval.Delivery) bool {
		return a.TellsOfRun(d) && now < d.CreatedMs+roundEveryMs
	}) {
		return nil
	}
	for _, card := range a.Deliveries {
		if card.Kind == approval.CardDelivery && card.State != approval.Failed && card.MessageID != "" {
			d := a.Delivery(approval.RetryAskedDelivery, card.Target, now)
			d.ReplyTo = card.MessageID
			direct, _ := card.Target.Direct() // a group is no person's
			d.Silent = quiet(a, rules.People.ByAccount[direct], rules, now)
			out = append(out, d)
		}
	}
	a.Rule = a.Round.Rule
	routes := rules.Router.Route(a)
	for _, t := range slices.Concat(routes.Verifier, routes.Targets) {
		if !slices.ContainsFunc(out, func(d approval.Delivery) bool { return d.Target.Normal() == t.Normal() }) {
			out = append(out, a.Delivery(approval.RetryAskedDelivery, t.Normal(), now))
		}
	}
	return out
}
