package server

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/store"
)

// retryDesk is a desk that keeps calls for a day, with what its sweeper does.
func retryDesk(t *testing.T) (*desk, func()) {
	d := newDesk(t)
	d.rules.RetryWindowMs = (24 * time.Hour).Milliseconds()
	d.gate.Use(d.rules)
	return d, func() {
		_, err := d.store.Sweep(t.Context(), time.Now().UnixMilli(), store.Keep{CallsMs: d.rules.RetryWindowMs})
		require.NoError(t, err)
	}
}

// run claims a call and reports how it went; no status: nothing is reported.
func (d *desk) run(id, status string) api.Approval {
	d.t.Helper()
	_, err := d.agent.Claim(d.t.Context(), id, api.ClaimRequest{})
	require.NoError(d.t, err)
	if status != "" {
		_, err = d.agent.Result(d.t.Context(), id, api.ResultRequest{Status: status, Summary: "as " + status})
		require.NoError(d.t, err)
	}
	a, err := d.agent.Get(d.t.Context(), id, 0)
	require.NoError(d.t, err)
	return a
}

// gone requires that the call can no longer be retried, and that nothing of it is kept.
func (d *desk) gone(id string) {
	d.t.Helper()
	_, err := d.alice.Retry(d.t.Context(), id)
	refusal(d.t, err, approval.CodeRetryDataGone)
	_, err = d.store.Sealed(d.t.Context(), id)
	require.Equal(d.t, approval.CodeRetryDataGone, approval.CodeOf(err))
}

// A failed run can be retried, as often as it fails; one that succeeded cannot.
func TestAFailedRunCanBeRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, sweep := retryDesk(t)
		ctx := t.Context()
		a := d.allow(`{"n":1}`)
		for range 2 {
			failed := d.run(a.ID, "failed")
			require.Equal(t, "failed", failed.Result.Status)
			time.Sleep(23 * time.Hour)
			sweep()
			again, err := d.alice.Retry(ctx, a.Code)
			require.NoError(t, err)
			require.Equal(t, api.Approved, again.Status)
			require.Nil(t, again.Result)
			require.Zero(t, again.ClaimedAtMs)
			require.Equal(t, time.Now().Add(5*time.Minute).UnixMilli(), again.ClaimUntilMs)
		}
		d.run(a.ID, "succeeded")
		d.gone(a.ID)

		log, err := d.store.Log(ctx, 0, 100)
		require.NoError(t, err)
		var story []string
		for _, e := range log {
			result := ""
			for _, s := range []string{"failed", "succeeded"} {
				if strings.Contains(string(e.Data), `"summary":"as `+s) {
					result = " " + s
				}
			}
			story = append(story, string(e.Type)[strings.LastIndexByte(string(e.Type), '.')+1:]+result)
		}
		once := []string{"claimed", "result failed", "vote failed", "retry failed", "resolved"}
		require.Equal(t, append(append(append([]string{"requested", "vote", "resolved"}, once...), once...), "claimed", "result succeeded"), story)
	})
}

// The time is over at its end, whether or not it was swept by then.
func TestARetryAfterTheWindow(t *testing.T) {
	for name, report := range map[string]string{"failed": "failed", "no result": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, sweep := retryDesk(t)
				early, late := d.allow(`{"n":1}`), d.allow(`{"n":2}`)
				d.run(early.ID, report)
				d.run(late.ID, report)
				time.Sleep(24*time.Hour - time.Millisecond)
				sweep()
				_, err := d.alice.RetryWithoutResult(t.Context(), early.Code)
				require.NoError(t, err)
				time.Sleep(time.Millisecond)
				_, err = d.alice.Retry(t.Context(), late.Code)
				refusal(t, err, approval.CodeRetryDataGone)
				_, err = d.store.Sealed(t.Context(), late.ID)
				require.NoError(t, err, "another instance's clock may be a little behind")
				time.Sleep(time.Minute)
				sweep()
				d.gone(late.ID)
				d.run(early.ID, "succeeded") // its own time began anew
				d.gone(early.ID)
			})
		})
	}
}

// What was allowed and never claimed is kept as long after the time to claim it. A
// policy that is put in force with another window counts at once.
func TestAnUnclaimedCallIsKeptForTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, sweep := retryDesk(t)
		a, b := d.allow(`{"n":1}`), d.ask("read", `{"n":2}`)
		time.Sleep(24*time.Hour + 4*time.Minute)
		sweep()
		_, err := d.alice.Retry(t.Context(), a.Code)
		require.NoError(t, err)
		time.Sleep(3 * time.Minute)
		sweep()
		d.gone(b.ID)
		d.run(a.ID, "failed")
		d.rules.RetryWindowMs = time.Hour.Milliseconds()
		d.gate.Use(d.rules)
		time.Sleep(time.Hour)
		_, err = d.alice.Retry(t.Context(), a.Code)
		refusal(t, err, approval.CodeRetryDataGone)
	})
}

// However else an approval ends, its call is gone at once; a pending one keeps it.
func TestWhatEndsOtherwiseKeepsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, sweep := retryDesk(t)
		ctx := t.Context()
		denied, withdrawn, expired, revoked := d.ask("ask", `{"n":1}`), d.ask("ask", `{"n":2}`), d.ask("ask", `{"n":3}`), d.allow(`{"n":4}`)
		waits := d.ask("ask", `{"n":5}`, func(r *api.CreateRequest) { r.TimeoutMs = 24 * 3_600_000 })
		_, err := d.alice.Resolve(ctx, denied.ID, api.ResolveRequest{Decision: api.Deny})
		require.NoError(t, err)
		_, err = d.agent.Withdraw(ctx, withdrawn.ID, api.WithdrawRequest{})
		require.NoError(t, err)
		_, err = d.alice.Revoke(ctx, revoked.ID, api.RevokeRequest{})
		require.NoError(t, err)
		time.Sleep(23 * time.Hour)
		require.NoError(t, d.gate.Tick(ctx, expired.ID))
		sweep()
		for _, a := range []api.Approval{denied, withdrawn, expired, revoked} {
			_, err = d.store.Sealed(ctx, a.ID)
			require.Equal(t, approval.CodeRetryDataGone, approval.CodeOf(err))
			_, err = d.alice.Retry(ctx, a.ID)
			refusal(t, err, approval.CodeNotClaimable)
		}
		_, err = d.store.Sealed(ctx, waits.ID)
		require.NoError(t, err)
	})
}

// A policy that has turned against the call meanwhile hands it out no more.
func TestARetriedCallIsJudgedAnew(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.allow(`{"n":1}`)
	d.run(a.ID, "failed")
	_, err := d.alice.Retry(ctx, a.Code)
	require.NoError(t, err)
	d.judge.turn("ask")
	_, err = d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	require.Equal(t, "policy", refusal(t, err, approval.CodeNotClaimable).Why)
}

// The session chat hears of each result, and cards show the last one. A result that a
// retry overtook is not told any more.
func TestEachResultIsToldInTheSessionChat(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.allow(`{"a":1}`, func(r *api.CreateRequest) { r.Origin = &api.Target{Channel: "telegram", To: "-100777"} })
	told := func() (texts []string) {
		stored, err := d.gate.ByKey(ctx, a.ID)
		require.NoError(t, err)
		for _, x := range stored.Deliveries {
			if x.Kind != approval.ResultDelivery && x.Kind != approval.CardDelivery {
				continue
			}
			x.MessageID = "1"
			what, err := d.gate.Draw(ctx, x)
			require.NoError(t, err)
			if what.Card != nil {
				what.Text = "card: " + what.Card.Outcome.String()
			}
			texts = append(texts, what.Text+what.Skip)
		}
		return texts
	}
	d.run(a.ID, "failed")
	failed := told()
	require.Len(t, failed, 2)
	require.Contains(t, strings.Join(failed, "\n"), " · ❌ reported: failed")
	_, err := d.alice.Retry(ctx, a.Code)
	require.NoError(t, err)
	require.Contains(t, strings.Join(told(), "\n"), "tried again before its result could be told")
	d.run(a.ID, "succeeded")
	require.Len(t, told(), 3)
	require.Contains(t, strings.Join(told(), "\n"), " · reported: succeeded")
}
