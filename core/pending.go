package core

import (
	"context"

	"approvalbot/internal/approval"
)

// eachPending calls fn for every pending approval, until it fails.
func (g *Gate) eachPending(ctx context.Context, fn func(approval.Approval) error) error {
	f := Filter{Status: approval.Pending, Limit: 200}
	for {
		page, err := g.store.List(ctx, f)
		if err != nil {
			return err
		}
		for _, a := range page.Items {
			if err := fn(a); err != nil {
				return err
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return nil
		}
	}
}
