package core

import (
	"context"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// judgeAgain asks policy anew about a pending approval that was judged under other rules
// (the desk was started again with another configuration). It is nil if the rules are the
// same, or the approval has ended.
func (g *Gate) judgeAgain(ctx context.Context, key string, rules *Rules) (*approval.Judgement, error) {
	a, err := g.store.Get(ctx, key)
	if err != nil || a.Final() || a.PolicyHash == rules.Policy.Hash() {
		return nil, err
	}
	call, err := g.openSealed(ctx, a)
	if err != nil {
		return nil, err
	}
	call.Points = !a.Hidden()
	j := rules.judgeStored(ctx, a, call)
	facts, err := card.PayloadFacts(call)
	if err != nil {
		return nil, err
	}
	j.Points = shown(j, facts, a.Context.Untracked.All())
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
	if len(a.DecidedBy) > 0 { // a grant is named first
		var id string
		if id, granted = strings.CutPrefix(a.DecidedBy[0], "grant:"); granted {
			if found.Grants, err = g.store.Grants(ctx, GrantFilter{ID: id}); err != nil || len(found.Grants) == 0 {
				return "the grant that allowed the call has ended"
			}
			// They joined while the verifier's people were asked.
			g := found.Grants[0]
			if people.GivenByAsker(underRules(a, rules), g.By, g.Behind, rules.People) {
				return "the person who gave the grant for this call now asks for the call"
			}
		}
	}
	j := rules.judgeStored(ctx, a, call)
	why, denied := denies(j, granted)
	switch {
	case denied && why == "":
		return "policy gives no reason"
	case !denied && a.Confined != nil && !a.Confined.Within(j):
		return "the folders that the call may read or change differ from those that were allowed; ask again"
	case !denied && j.Rule.StepUp && !a.Rule.StepUp && slices.ContainsFunc(a.Votes, approval.ByPeople):
		return "the rules now require a yes that is signed with a passkey, but the yes for this call is unsigned; " +
			"ask again"
	case !denied && j.Rule.AsksVerifier() && !a.Rule.AsksVerifier() && !a.Rule.PassesUnreached(j.Rule):
		return "the verifier's people must now say yes to the call, but they were not asked; ask again"
	case denied || a.PolicyHash == rules.Policy.Hash() || approversVoted(a):
		return why
	case !settledToday(a, call, j, found, rules, nowMs()):
		return "the rules now require a person's decision, but no person was asked; ask again"
	}
	return why
}

// Rejudge asks policy anew about every pending approval, after other rules were put in
// force. A stricter policy denies at once, a looser one changes no approval. The cards of
// approvals that people have voted on are drawn again, because a reload may take a voter's
// authority. Reminders and escalations are planned anew.
func (u Upkeep) Rejudge(ctx context.Context) error {
	return u.gate.eachPending(ctx, func(a approval.Approval) error {
		err := u.gate.rejudgeOne(ctx, a.Key)
		if err == nil && slices.ContainsFunc(a.Votes, approval.ByPeople) { // other people may count now
			err = u.gate.Redraw(ctx, a.Key)
		}
		if err == nil {
			a, err = u.gate.store.Get(ctx, a.Key)
		}
		if err == nil {
			err = u.gate.replan(ctx, a)
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
