package core

import (
	"context"
	"slices"
	"strings"

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

// judgedAgain is the step of a pending approval when the rules change while
// nobody votes.
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

// rejudged brings a pending approval up to the rules of today. They only tighten:
// a deny ends it, where class, rule or offers changed the votes so far are void,
// the larger quorum and the fewer offers count, and a looser policy never allows
// by itself. Where approvers, or the verifier's people, must say yes from now on, further
// are their cards.
func rejudged(a approval.Approval, j *approval.Judgement, rules *Rules, now int64) (_ approval.Approval, further []approval.Delivery) {
	if j == nil || a.Final() {
		return a, nil
	}
	was, next := a, a.Clone()
	next.PolicyHash = rules.Policy.Hash()
	if j.Outcome != approval.OutcomeAllow { // which changes nothing
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
		gone := func(d approval.Decision) bool { return !slices.Contains(j.Offers, d) }
		next.Offers = slices.DeleteFunc(slices.Clone(next.Offers), gone)
		if !next.Rule.AsksApprovers() {
			next.Rule = next.Rule.Instead("")
		}
		next = people.WithoutNeedlessApprovers(next, rules.People)
	}
	next.Unreached = next.Unreached && j.Unreached == approval.OutcomeAllow
	if j.Assessment.RiskClass > next.Assessment.RiskClass {
		next.Assessment, next.Why = j.Assessment, j.Why
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

// addCards gives cards for the places that have none yet, and has it looked anew
// whether they arrive.
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

// rulesChanged refuses whatever came while the rules changed more than once.
func rulesChanged() *approval.Error {
	return approval.Refuse(approval.CodeUnavailable, "The rules have changed; try again.")
}

// judgeAgain asks policy anew about a pending approval that was judged under
// other rules (the desk was started again with another configuration). Nil:
// the rules are the same, or nothing is left to judge.
func (g *Gate) judgeAgain(ctx context.Context, key string, rules *Rules) (*approval.Judgement, error) {
	a, err := g.store.Get(ctx, key)
	if err != nil || a.Final() || a.PolicyHash == rules.Policy.Hash() {
		return nil, err
	}
	call, err := g.openSealed(ctx, a)
	if err != nil {
		return nil, err
	}
	j := rules.judgeStored(ctx, a, call)
	return &j, g.withHolders(ctx, approval.Rule{StepUp: j.Rule.StepUp || a.Rule.StepUp}, rules)
}

// rejudge asks policy about a stored call again and gives its reason to refuse.
func (g *Gate) rejudge(ctx context.Context, a approval.Approval, call approval.Call, rules *Rules) string {
	if !rules.Enabled {
		return "approvals are disabled"
	}
	var err error
	granted := false
	var found Existing
	if len(a.DecidedBy) > 0 { // a grant stands first
		var id string
		if id, granted = strings.CutPrefix(a.DecidedBy[0], "grant:"); granted {
			if found.Grants, err = g.store.Grants(ctx, GrantFilter{ID: id}); err != nil || len(found.Grants) == 0 {
				return "the grant that allowed it was ended"
			}
			// They joined while the verifier's people were asked.
			g := found.Grants[0]
			if people.GivenByAsker(underRules(a, rules), g.By, g.Behind, rules.People) {
				return "whoever gave the grant that allowed it stands behind the call"
			}
		}
	}
	j := rules.judgeStored(ctx, a, call)
	why, denied := denies(j, granted)
	switch {
	case denied && why == "":
		return "it denies it without a reason"
	case !denied && j.Rule.StepUp && !a.Rule.StepUp && slices.ContainsFunc(a.Votes, approval.ByPeople):
		return "a passkey must sign the yes now, and none did; ask again"
	case !denied && j.Rule.AsksVerifier() && !a.Rule.AsksVerifier() && !a.Rule.PassesUnreached(j.Rule):
		return "the verifier's people must say yes to it now, and were not asked; ask again"
	case denied || a.PolicyHash == rules.Policy.Hash() || approversVoted(a):
		return why
	case !settledToday(a, call, j, found, rules, nowMs()):
		return "people must be asked for it now, and nobody was; ask again"
	}
	return why
}

// settledToday reports whether what no person decided would run today without one:
// other rules have allowed it, and those of today ask no less of it.
func settledToday(a approval.Approval, call approval.Call, j approval.Judgement, f Existing, rules *Rules, now int64) bool {
	j.Rule.Verifier = nil // whose people said yes, where they are wanted
	a.Status, a.Assessment, a.Rule, a.Subject = approval.Pending, j.Assessment, j.Rule, subject(j, call)
	a.Offers = grantableOffers(j, call, a.Subject)
	a.Votes = withVoteTimes(j.Votes, now)
	a = byGrant(settledByPolicy(a, j, rules), f, j.GrantScope, rules.People, now)
	if a.Status == approval.Pending {
		a.Status = people.TallyOf(a, rules.People).Outcome
	}
	return a.Status == approval.Approved || a.Unreached && j.Unreached == approval.OutcomeAllow
}

// approversVoted reports whether people settled it who may say yes to such a call: the
// verifier's own are none of them, and one yes of several is no quorum where it ran since
// nobody could be asked.
func approversVoted(a approval.Approval) bool {
	return a.Rule.AsksApprovers() && slices.ContainsFunc(a.Votes, approval.ByPeople) && !slices.Contains(a.DecidedBy, "policy")
}

// Rejudge asks policy anew about every pending approval, after other rules were
// put in force: a stricter policy denies at once, a looser one changes nothing. The
// cards of those that somebody has voted on are drawn again, since a reload may take
// a voter's authority. Who hears of them later is planned anew.
func (g *Gate) Rejudge(ctx context.Context) error {
	return g.eachPending(ctx, func(a approval.Approval) error {
		err := g.rejudgeOne(ctx, a.Key)
		if err == nil && slices.ContainsFunc(a.Votes, approval.ByPeople) { // other people may count now
			err = g.Redraw(ctx, a.Key)
		}
		if err == nil {
			a, err = g.store.Get(ctx, a.Key)
		}
		if err == nil {
			err = g.replan(ctx, a)
		}
		if approval.CodeOf(err) == approval.CodeRetryDataGone || approval.CodeOf(err) == approval.CodeNotFound {
			return nil
		}
		return err
	})
}

func (g *Gate) rejudgeOne(ctx context.Context, key string) error {
	rules, err := g.inForce()
	if err != nil {
		return err
	}
	fresh, err := g.judgeAgain(ctx, key, rules)
	if err != nil || fresh == nil {
		return err
	}
	_, err = g.update(ctx, key, func(a approval.Approval) (Change, error) {
		c := judgedAgain(a, fresh, rules, nowMs())
		c.Policy = rules.Policy.Hash()
		return c, nil
	})
	return err
}
