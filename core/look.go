package core

import (
	"context"

	"approvalbot/internal/approval"
)

// How soon people heard of an approval and looked at it: what objectives and counts
// are made of.

// looked is the approval after a person tapped or voted, with every outcome of that.
func looked(a approval.Approval, now int64) approval.Approval {
	if a.LookedAtMs == 0 {
		a.LookedAtMs = now
	}
	return a
}

// Looked notes that a person who may decide it opened a part of its card.
func (g Chats) Looked(ctx context.Context, key string) (approval.Approval, error) {
	return g.update(ctx, key, func(a approval.Approval) (Change, error) {
		return Change{Approval: looked(a, nowMs()), Unchanged: a.Final() || a.LookedAtMs != 0}, nil
	})
}

// Counts says whether an ended approval counts for the objective, and whether it
// missed it. A drill does not, nor what policy settled, nor what the asker withdrew
// before the time was over.
func (o Objective) Counts(a approval.Approval) (counts, missed bool) {
	askedAndEnded := a.Final() && Asked(a) && !a.Drill()
	if o.DecidedWithin <= 0 || !askedAndEnded {
		return false, false
	}
	late := a.ResolvedAtMs-a.CreatedAtMs > o.DecidedWithin.Milliseconds()
	switch a.Status {
	case approval.Expired:
		return true, true
	case approval.Withdrawn:
		return late, late
	}
	return true, late
}
