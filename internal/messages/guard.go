package messages

import (
	"bytes"
	"context"

	"approvalbot/api"
)

// Run is a tool's own function. args are a JSON object.
type Run func(ctx context.Context, args []byte) (string, error)

// Guard wraps a tool so that it needs approval: without a claim of exactly this
// call in ctx (see [WithClaim]) it returns an [*ApprovalRequired] and does not
// run the tool. If the tool requires no approval, Guard returns it unchanged.
func Guard(t api.MessageTool, run Run) Run {
	if !mustAsk(t) {
		return run
	}
	return func(ctx context.Context, args []byte) (string, error) {
		if !claimed(ctx, t.Name, args) {
			return "", NeedsApproval(t, args)
		}
		return run(ctx, args)
	}
}

type claimKey struct{}

// WithClaim gives the context for running one claimed call. The claim allows
// that call only: another tool, or other args, need their own. Running it once
// is up to the program; the desk hands each claim out once.
func WithClaim(ctx context.Context, c api.Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

func claimed(ctx context.Context, tool string, args []byte) bool {
	c, ok := ctx.Value(claimKey{}).(api.Claim)
	want, got := canonical(c.Params), canonical(args)
	return ok && c.ToolName == tool && want != nil && bytes.Equal(want, got)
}
