package ask

import (
	"context"
	"time"

	"approvalbot/api"
	"approvalbot/internal/hook"
)

// Why says in one sentence why an approval does not let its call run.
func Why(a api.Approval) string {
	if a.Status == api.Approved {
		return "the approval was given and cannot be used"
	}
	return hook.Ending(a)
}

// Hooks is the desk for the flow that answers hooks.
func (d Approvals) Hooks() hook.Approvals { return hooks{d} }

// hooks says also why there is no desk, and when it stops.
type hooks struct{ Approvals }

// Create implements hook.Approvals.
func (h hooks) Create(ctx context.Context, req api.CreateRequest, opts api.CreateOptions) (api.Approval, error) {
	if err := h.missing(); err != nil {
		return api.Approval{}, err
	}
	return h.Client.Create(ctx, req, opts)
}

// Get implements hook.Approvals.
func (h hooks) Get(ctx context.Context, id string, wait time.Duration) (api.Approval, error) {
	a, err := h.Client.Get(ctx, id, wait)
	if err == nil && a.Status.Final() {
		return a, nil
	}
	select {
	case <-h.Stopping:
		return a, hook.ErrStopping
	default:
		return a, err
	}
}

// Claim implements hook.Approvals.
func (h hooks) Claim(ctx context.Context, id string, req api.ClaimRequest) (api.Claim, error) {
	return h.Client.Claim(ctx, id, req)
}

// Withdraw implements hook.Approvals.
func (h hooks) Withdraw(ctx context.Context, id string, req api.WithdrawRequest) (api.Approval, error) {
	return h.Client.Withdraw(ctx, id, req)
}
