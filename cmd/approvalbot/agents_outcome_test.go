package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/hook/live"
)

// A command that fails is reported as failed, with its status if the client says it; of a client that
// does not say how its calls end there is no result. None says that it succeeded.
func TestAgents_T30_AFailedCommand(t *testing.T) {
	t.Parallel()
	says := map[string]bool{"claude-code": true, "qwen-code": true, "opencode": true}
	eachRuntime(t, func(t *testing.T, l *live.Lab) {
		r := newRig(t, asksAlways)
		attached(t, r, l, false)
		const command = "mv nothing-here build.old"
		useTool(l, "", command, nil)
		done := startClient(t.Context(), l)
		card := r.asked(command)
		r.tap(r.alice, r.group, card.ID, "Allow once")
		got := <-done
		require.NoError(t, got.err, got.result.Output)
		item := r.only(command)
		if !says[l.Runtime] {
			require.Nil(t, item.Result)
			return
		}
		require.NotNil(t, item.Result, got.result.Output)
		require.Equal(t, "failed", item.Result.Status)
		require.NotNil(t, item.Result.ExitCode)
		require.Equal(t, 1, *item.Result.ExitCode)
		r.settled(r.group, card.ID, "exit 1")
	})
}

// only is the one approval of that command, once its claim is on record.
func (r *rig) only(command string) (a api.Approval) {
	r.t.Helper()
	operator, ctx := r.operator(), r.ctx()
	require.Eventually(r.t, func() bool {
		items, err := operator.List(ctx, api.Filter{})
		if err != nil || len(items.Items) != 1 {
			return false
		}
		a, err = operator.Get(ctx, items.Items[0].ID, 0)
		return err == nil && a.ClaimedAtMs != 0
	}, patient, 50*time.Millisecond, command)
	return a
}
