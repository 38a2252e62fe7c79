package effective

import (
	"context"

	"approvalbot/core"
	"approvalbot/internal/config"
	"approvalbot/internal/policy"
)

// Otherwise lists those of the desk's examples that the new configuration judges differently than the
// old one.
func Otherwise(ctx context.Context, old, now config.Config) (core.Differences, error) {
	was, err := Rules(old, Table(old))
	if err != nil {
		return core.Differences{}, err
	}
	is, err := Rules(now, Table(now))
	if err != nil {
		return core.Differences{}, err
	}
	return core.OtherwiseOn(ctx, was.Policy, is.Policy, policy.Examples())
}
