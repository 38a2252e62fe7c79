package core

import (
	"context"
	"errors"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/fault"
	"approvalbot/internal/people"
)

// voteAgain is [Gate.Vote] on whether an approved call runs once more.
func (g *Gate) voteAgain(ctx context.Context, key string, b Ballot) (approval.Approval, error) {
	rules, outdated := g.inForce()
	allows := b.Decision != approval.Deny
	if allows && outdated != nil {
		return approval.Approval{}, outdated
	}
	var t today
	if allows {
		var err error
		if t, err = g.today(ctx, key, rules); err != nil {
			return approval.Approval{}, err
		}
	}
	fault.Point("before-retry-committed")
	defer fault.Point("after-retry-committed")
	step := func(a approval.Approval) (Change, error) {
		now := time.Now()
		asOf := rules.at(now)
		b := g.confirms.confirm(b, a)
		b.atVerifier = rules.atVerifier(b, a)
		c, err := voteAgain(a, b, t, &asOf, now.UnixMilli())
		if no, is := errors.AsType[*approval.Error](err); is && b.evidence != nil { // what was signed is used up
			c, err = Change{Approval: a, Unchanged: true, Refusal: no}, nil
		}
		c = c.spending(b, now.UnixMilli())
		if c.Handled = b.Handled; allows {
			c.Policy, c.Absences = rules.Policy.Hash(), rules.absences.Revision
			if !c.Unchanged {
				c.NotDenied = notDenied(a, now.UnixMilli())
			}
		}
		return c, err
	}
	var err error
	if b.evidence, err = g.evidenceOf(ctx, b.Signed); err != nil {
		return approval.Approval{}, err
	}
	a, err := g.update(ctx, key, step)
	if !errors.Is(err, ErrSpent) {
		return a, err
	}
	if b.evidence, err = g.evidenceOf(ctx, b.Signed); err != nil {
		return approval.Approval{}, err
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
	case approval.CodeOf(err) == approval.CodeRetryDataGone:
		return t, nil
	case err != nil:
		return t, err
	}
	j := approval.Judgement{Outcome: approval.OutcomeDeny, Reason: "approvals are disabled"}
	if rules.Enabled {
		j = rules.judgeStored(ctx, a, call)
	}
	t.judgement = &j
	if err := g.withHolders(ctx, approval.Rule{StepUp: j.Rule.StepUp || a.Rule.StepUp}, rules); err != nil {
		return t, err
	}
	now := nowMs()
	found, err := g.store.Covering(ctx, Lookup{Owner: a.Owner, AgentID: a.AgentID, Fingerprint: a.Fingerprint})
	for _, cool := range found {
		if people.Refuses(cool, a, now) {
			t.coolDown = &cool
		}
	}
	return t, err
}
