package core

import (
	"context"
	"errors"
	"slices"
)

// coolsDown reports whether the very same call is refused unasked, by a person's deny of this approval. No
// drill is asked twice.
func (a Approval) coolsDown(now int64) bool {
	return a.Final() && now < a.CoolsUntilMs && a.ToolName != DrillTool
}

// endCoolDown ends the cool-down that a deny of this approval left: the next such call asks. Nothing is
// allowed by it, so it needs no quorum, signature or second step. Each approver who may deny the call
// may say so, but none who asked for it. found are the grants and cool-downs of the call.
func (a Approval) endCoolDown(b Ballot, found []Grant, rules *Rules, now int64) Change {
	a = a.underRules(rules)
	v := rules.People.Identify(b.Voter)
	b.Decision = Deny
	if no := a.admits(v, b, rules.People); no != nil {
		if no.Code == CodeSelfApproval {
			no = Refuse(CodeSelfApproval, "You asked for this, so somebody else lets it be asked again.")
		}
		b.Decision = ""
		return a.refusedAgain(v, b, no, now)
	}
	same := func(g Grant) bool { return g.refuses(a, now) }
	i := slices.IndexFunc(found, same)
	next := a.clone()
	next.CoolsUntilMs = 0
	c := Change{Approval: next, Unchanged: a.CoolsUntilMs == 0, Redraw: a.CoolsUntilMs != 0}
	switch {
	case !a.Final():
		c.Refusal = Refuse(CodeDecisionNotOffered, "%s still waits for a decision.", a.Code)
	case i >= 0 && found[i].Approval != a.Key:
		c.Refusal = Refuse(CodeAlreadyResolved, "%s, so the newer card lets it be asked again.", found[i].deniedText(now))
	case i >= 0:
		c.Approval.AskAgainBy, c.EndGrant, c.Unchanged, c.Redraw = v.Name(), found[i].ID, false, true
		c.Events = []Event{found[i].event(EventUngranted, v.Name(), now)}
	}
	return c
}

// EndCoolDown ends the cool-down after a deny before its time, for who may deny the call; its refusals are as
// those of [Gate.Vote]. A second time, or if it is over, nothing happens: [Approval.AskAgainText] says which. Of
// the ballot the voter, the chat and the update count.
func (g *Gate) EndCoolDown(ctx context.Context, key string, b Ballot) (Approval, error) {
	for range absenceTries {
		a, err := g.endCoolDownOnce(ctx, key, b)
		if !errors.Is(err, errReplaced) {
			return a, err
		}
	}
	return Approval{}, rulesChanged()
}

func (g *Gate) endCoolDownOnce(ctx context.Context, key string, b Ballot) (Approval, error) {
	rules, outdated := g.inForce()
	if outdated != nil {
		return Approval{}, outdated
	}
	a, err := g.store.Bare(ctx, key)
	if err != nil {
		return Approval{}, err
	}
	found, err := g.store.Covering(ctx, Lookup{Owner: a.Owner, AgentID: a.AgentID, Fingerprint: a.Fingerprint})
	if err != nil {
		return Approval{}, err
	}
	return g.update(ctx, key, func(a Approval) (Change, error) {
		now := nowMs()
		b.atVerifier = rules.atVerifier(b, a)
		c := a.endCoolDown(b, found, rules, now)
		c.Handled, c.Policy = b.Handled, rules.Policy.Hash()
		if c.EndGrant != "" {
			c.NotDenied = func(grants []Grant) error {
				if !slices.ContainsFunc(grants, func(g Grant) bool { return g.ID == c.EndGrant }) {
					return errReplaced // another deny came in between, or an operator ended it: look again
				}
				return nil
			}
		}
		return c, nil
	})
}

// AskAgainText says to a person what became of the cool-down that they wanted to end.
func (a Approval) AskAgainText() string {
	if a.AskAgainBy == "" {
		return "No cool-down refuses that call now."
	}
	return "The very same call asks again from now on, as " + People([]string{a.AskAgainBy}) +
		" said. Nothing is allowed by that."
}
