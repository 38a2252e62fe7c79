package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// The whole call, redacted, stands wherever somebody may decide by; what is kept
// after its params went is the short form.
func TestParamsSummary(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	long := strings.Repeat("step ", 400) + "the-end"
	a := d.ask("ask", `{"password":"hunter2-hunter2","text":"`+long+`","zz":"tail\u202e"}`)
	whole := func(s string) {
		require.Contains(t, s, "the-end")
		require.Contains(t, s, `tail\u{202E}`)
		require.NotContains(t, s, "hunter2")
	}
	require.NotContains(t, a.ParamsSummary, "the-end", "the asker knows what it asked")
	require.NotContains(t, a.ParamsSummary, "hunter2")
	all, err := d.alice.List(ctx, api.Filter{})
	require.NoError(t, err)
	whole(all.Items[0].ParamsSummary)
	own, err := d.agent.List(ctx, api.Filter{})
	require.NoError(t, err)
	require.NotContains(t, own.Items[0].ParamsSummary, "the-end")
	require.Less(t, len([]rune(own.Items[0].ParamsSummary)), 600)

	voted, err := d.alice.Resolve(ctx, a.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	whole(voted.ParamsSummary)
	c, err := d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	require.Contains(t, string(c.Params), "hunter2-hunter2", "the claim, and only it, has the raw params")
	done, err := d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "succeeded"})
	require.NoError(t, err)
	require.Equal(t, own.Items[0].ParamsSummary, done.ParamsSummary)
	require.NotContains(t, d.logs.String(), "hunter2")
}
