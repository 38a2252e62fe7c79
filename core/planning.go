package core

import (
	"context"
	"time"

	"approvalbot/internal/approval"
)

// Replan computes the next step of every pending approval anew, from the rules in force and
// the people as they are now. If other rules count, it leaves the plans as they are.
func (u Upkeep) Replan(ctx context.Context) error {
	return u.gate.eachPending(ctx, func(a approval.Approval) error { return u.gate.replan(ctx, a) })
}

func (g *Gate) replan(ctx context.Context, a approval.Approval) error {
	if _, err := g.inForce(); err != nil {
		return nil
	}
	replanned := func(a approval.Approval) approval.Approval {
		now := time.Now()
		rules := g.snapshot(now)
		return replanned(a, &rules, now.UnixMilli())
	}
	if replanned(a).PlanMs == a.PlanMs {
		return nil
	}
	_, err := g.update(ctx, a.Key, func(a approval.Approval) (Change, error) { return Change{Approval: replanned(a)}, nil })
	if approval.CodeOf(err) == approval.CodeNotFound { // it has been let go
		return nil
	}
	return err
}
