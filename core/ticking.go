package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/fault"
)

// Tick does what is due for one approval: expiry, fallback targets, the message that no
// approver could be asked, the steps of the plan, and the end of the time to claim it.
func (g *Gate) Tick(ctx context.Context, key string) error {
	var unreachable map[approval.Target]approval.Unreachable
	var lookUp, otherRules bool // what is to be known first: who is unreachable, what other rules say
	stepped, passed := false, false
	tick := func(a approval.Approval) (c Change, err error) {
		now := nowMs()
		if a.Final() {
			lookUp, otherRules, stepped, passed = false, false, false, false
			return unclaimed(a, now), nil
		}
		rules := g.snapshot(time.UnixMilli(now))
		c, lookUp = tick(a, rules.Router.Route(a), unreachable, now)
		if !lookUp {
			c, lookUp = c.verifierChat(&rules, unreachable, now)
		}
		unasked := c.Approval.Status == approval.Approved && !c.Unchanged // approvals.exec.askFallback, tools.verifier.failMode
		passed = false
		if otherRules = unasked && a.PolicyHash != rules.Policy.Hash(); lookUp || otherRules {
			return Change{Approval: a, Unchanged: true}, nil
		}
		if unasked {
			c.Policy = rules.Policy.Hash()
			if slices.ContainsFunc(a.Votes, approval.ByPeople) {
				c.Absences = rules.absences.Revision
			}
		}
		passed = c.Approval.Rule.Passed() && !a.Rule.Passed()
		hush(c.Approval, c.Deliveries, &rules, now) // those at fallback targets
		c, stepped = c.follow(&rules, now)
		if stepped {
			fault.Point("before-step-committed")
		}
		return c, nil
	}
	for range 3 {
		_, err := g.update(ctx, key, tick)
		if stepped {
			fault.Point("after-step-committed")
		}
		switch {
		case errors.Is(err, ErrAbsences):
			err = g.Absences().Learn(ctx)
		case err == nil && lookUp:
			unreachable, err = g.store.Unreachable(ctx)
		case err == nil && otherRules: // they may say something else, as after a restart
			err = g.rejudgeOne(ctx, key)
		case err == nil && passed:
			g.log.Warn("the verifier's chat could not be reached, so a call was allowed without the verifier's "+
				"people, as failMode says",
				"approval", key, "key", failModeKey)
			return nil
		default:
			return err
		}
		if err != nil {
			return err
		}
	}
	return rulesChanged()
}
