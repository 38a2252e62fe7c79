package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// endCoolDown ends the cool-down that a deny of this approval left: the next such call asks. It allows
// no call, so it needs no quorum, signature or second step. Each approver who may deny the call may end
// it, except those who asked for the call. found are the grants and cool-downs of the call.
func endCoolDown(a approval.Approval, b Ballot, found []approval.Grant, rules *Rules, now int64) Change {
	a = underRules(a, rules)
	v := rules.People.Identify(b.Voter)
	b.Decision = approval.Deny
	if no := admits(a, v, b, rules.People); no != nil {
		if no.Code == approval.CodeSelfApproval {
			no = approval.Refuse(approval.CodeSelfApproval, "This is your own request: another approver must end "+
				"its cool-down.")
		}
		b.Decision = ""
		return refusedAgain(a, v, b, no, now)
	}
	same := func(g approval.Grant) bool { return people.Refuses(g, a, now) }
	i := slices.IndexFunc(found, same)
	next := a.Clone()
	next.CoolsUntilMs = 0
	c := Change{Approval: next, Unchanged: a.CoolsUntilMs == 0, Redraw: a.CoolsUntilMs != 0}
	switch {
	case !a.Final():
		c.Refusal = approval.Refuse(approval.CodeDecisionNotOffered, "%s is still pending, so there is no cool-down "+
			"to end.", a.Code)
	case i >= 0 && found[i].Approval != a.Key:
		c.Refusal = approval.Refuse(approval.CodeAlreadyResolved, "%s. To let it be asked again, use the card of "+
			"that newer decision.", deniedText(found[i], now))
	case i >= 0:
		c.Approval.AskAgainBy, c.EndGrant, c.Unchanged, c.Redraw = v.Name(), found[i].ID, false, true
		c.Events = []approval.Event{found[i].Event(approval.EventUngranted, v.Name(), now)}
	}
	return c
}

// EndCoolDown ends the cool-down after a deny before its time, for a person who may deny the call. Its refusals
// are those of [Gate.Vote]. If the cool-down has ended already, the approval stays as it is, and
// [AskAgainText] says what became of it. Only the voter, the chat and the update of the ballot count.
func (g *Gate) EndCoolDown(ctx context.Context, key string, b Ballot) (approval.Approval, error) {
	return anew(ctx, g, key, func() (approval.Approval, error) { return g.endCoolDownOnce(ctx, key, b) })
}

func (g *Gate) endCoolDownOnce(ctx context.Context, key string, b Ballot) (approval.Approval, error) {
	rules, outdated := g.inForce()
	if outdated != nil {
		return approval.Approval{}, outdated
	}
	a, err := g.store.Bare(ctx, key)
	if err != nil {
		return approval.Approval{}, err
	}
	found, err := g.store.Covering(ctx, Lookup{Owner: a.Owner, AgentID: a.AgentID, Fingerprint: a.Fingerprint})
	if err != nil {
		return approval.Approval{}, err
	}
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		now := nowMs()
		b.atVerifier = rules.atVerifier(b, a)
		c := endCoolDown(a, b, found, rules, now)
		c.Handled, c.Policy = b.Handled, rules.Policy.Hash()
		if c.EndGrant != "" {
			c.NotDenied = func(grants []approval.Grant) error {
				if !slices.ContainsFunc(grants, func(g approval.Grant) bool { return g.ID == c.EndGrant }) {
					return errReplaced // another deny came in between, or an operator ended it: look again
				}
				return nil
			}
		}
		return c, nil
	})
}

// AskAgainText says to a person what became of the cool-down that they wanted to end.
func AskAgainText(a approval.Approval) string {
	if a.AskAgainBy == "" {
		return "No cool-down refuses that call now."
	}
	return "The very same call asks again from now on, as " + people.People([]string{a.AskAgainBy}) +
		" said. That allows no call."
}
