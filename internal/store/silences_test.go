package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// A chat is silent from the first try that goes unanswered until one is answered,
// whatever that was about, and also where all of it is in one commit.
func testSilences(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1), cardTo("1", 1, 1), cardTo("2", 1, 1)}})
	threaded := a.Deliveries[1]
	threaded.Target.ThreadID = "7"
	try := func(d approval.Delivery, heard approval.SendOutcome) {
		t.Helper()
		require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Was: d, State: approval.Queued, DueMs: 5, Attempts: 1, Outcome: heard}))
	}
	silent := func() map[approval.Target]approval.Unreachable {
		t.Helper()
		all, err := s.Unreachable(ctx)
		require.NoError(t, err)
		return all
	}
	require.Empty(t, silent())
	try(a.Deliveries[0], approval.Answered)
	began := nowMs()
	try(threaded, approval.NoAnswer)
	first := silent()[chat1("1")]
	require.GreaterOrEqual(t, first.SinceMs, began)
	try(a.Deliveries[0], approval.NoAnswer)
	try(a.Deliveries[2], approval.NotSent)
	require.Len(t, silent(), 1)
	require.Equal(t, first.SinceMs, silent()[chat1("1")].SinceMs)
	require.GreaterOrEqual(t, silent()[chat1("1")].TriedMs, first.TriedMs)

	try(a.Deliveries[2], approval.NoAnswer)
	done := sent(a.Deliveries[0], "m")
	done.Was, done.Outcome, done.Attempts = a.Deliveries[0], approval.Answered, 0
	require.NoError(t, s.Record(ctx, done))
	require.Len(t, silent(), 1)
	require.Contains(t, silent(), chat1("2"))

	require.NoError(t, s.do(ctx, func(j *tx) error {
		require.NoError(t, s.hear(j, chat1("2"), approval.Answered))
		return nil
	}))
	require.Empty(t, silent())
	require.NoError(t, s.do(ctx, func(j *tx) error { // in one batch
		require.NoError(t, s.hear(j, chat1("2"), approval.NoAnswer))
		j.done.add(j.own)
		j.own = effects{}
		return s.hear(j, chat1("2"), approval.Answered)
	}))
	require.Empty(t, silent())
}
