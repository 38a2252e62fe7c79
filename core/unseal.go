package core

import (
	"context"

	"approvalbot/internal/approval"
)

// openInTime gives the call that was sealed for the approval, or CodeRetryDataGone when it was
// deleted, or is to be.
func (g *Gate) openInTime(ctx context.Context, a approval.Approval, rules *Rules) (approval.Call, error) {
	if callGone(a, rules, nowMs()) {
		return approval.Call{}, retryDataGone()
	}
	return g.openSealed(ctx, a)
}

// openSealed gives the call that was sealed for the approval.
func (g *Gate) openSealed(ctx context.Context, a approval.Approval) (approval.Call, error) {
	form, err := g.store.Sealed(ctx, a.Key)
	if err != nil {
		return approval.Call{}, err
	}
	tool, params, bind, err := approval.Open(form)
	return asCall(a, tool, params, bind), err
}
