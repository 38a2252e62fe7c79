package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// refused are the words of each refusal on record, by whom it is of.
func (d *fixture) refused(t *testing.T) map[string][]string {
	t.Helper()
	all, err := d.store.Log(t.Context(), 0, 1000)
	require.NoError(t, err)
	out := map[string][]string{}
	for _, e := range all {
		var data struct {
			By, Why string
			Vote    struct{ Voter approval.Voter }
		}
		require.NoError(t, json.Unmarshal(e.Data, &data))
		if e.Type == approval.EventRefused && data.By == "" {
			data.By = data.Vote.Voter.Name()
		}
		if e.Type == approval.EventRefused {
			out[data.By] = append(out[data.By], data.Why)
		}
	}
	return out
}

// Attempts that are refused without end are some records and a number, for each who makes
// them; all are answered, and each tap is handled once.
func TestAdversary_N10_RefusalsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		running, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Run(running) }()
		a := d.submit(t, "ask")
		update := int64(0)
		tap := func(v approval.Voter, say approval.Decision) *approval.InboundRef {
			update++
			ref := &approval.InboundRef{Source: "telegram:9", ID: update}
			ref.Unstored = &approval.Inbound{InboundRef: approval.InboundRef{Source: ref.Source, ID: ref.ID}}
			_, err := d.Vote(t.Context(), a.Key, core.Ballot{Voter: v, Decision: say, ReceivedMs: a.CreatedAtMs, Handled: ref})
			require.NotErrorIs(t, err, approval.ErrHandled)
			require.Contains(t, []approval.Code{approval.CodeNotAnApprover, approval.CodeDecisionNotOffered}, approval.CodeOf(err))
			return ref
		}
		stranger, approver := approval.Voter{Channel: "telegram", UserID: "999"}, approval.Voter{Channel: "telegram", UserID: "1"}
		var last *approval.InboundRef
		for range 50 {
			tap(stranger, approval.AllowOnce)
			last = tap(approver, "frobnicate")
		}
		_, err := d.Vote(t.Context(), a.Key, core.Ballot{Voter: approver, Decision: approval.AllowOnce, Handled: last})
		require.ErrorIs(t, err, approval.ErrHandled, "what is not on record by itself is handled, too")
		for i := range 1000 {
			require.NoError(t, d.door.SignInRefused(t.Context(), fmt.Sprint("192.0.2.", i), signin.ByLink, "a link that cannot be used"))
		}
		for range 100 {
			require.NoError(t, d.door.SignInRefused(t.Context(), "192.0.2.1", signin.ByLink, "a link that cannot be used"))
		}
		got := d.refused(t)
		require.Len(t, got["telegram:999"], 30)
		require.Len(t, got["person:alice"], 30)
		require.Len(t, got["web:link"], 98+30+30, "each address once, one of them 30 times, and all others 30 times")

		time.Sleep(2 * time.Minute)
		synctest.Wait()
		got = d.refused(t)
		require.Contains(t, got["telegram:999"], "20 further refusals within a minute")
		require.Contains(t, got["person:alice"], "20 further refusals within a minute")
		require.Equal(t, []string{"71 further refusals within a minute"}, got["address:192.0.2.1"])
		require.Equal(t, []string{"871 further refusals within a minute"}, got["others"])

		before := len(got["telegram:999"])
		for range 40 {
			tap(stranger, approval.AllowOnce)
		}
		stop()
		require.NoError(t, <-ended)
		got = d.refused(t)
		require.Contains(t, got["telegram:999"][before:], "10 further refusals within a minute", "told at the stop")
		after, err := d.Vote(t.Context(), a.Key, core.Ballot{Voter: approver, Decision: approval.AllowOnce, ReceivedMs: a.CreatedAtMs})
		require.NoError(t, err)
		require.Equal(t, approval.Approved, after.Status, "a yes counts all the same")
	})
}
