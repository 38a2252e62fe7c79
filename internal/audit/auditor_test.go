package audit

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/store"
)

// newAuditor gives the auditor of a store in memory, and how often it has told the chats.
func newAuditor(t *testing.T) (a *Auditor, told *int) {
	t.Helper()
	return newAuditorOn(t, store.Options{URL: "sqlite::memory:"})
}

// newAuditorOn makes the auditor of an instance on that store.
func newAuditorOn(t *testing.T, o store.Options) (a *Auditor, told *int) {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	require.NoError(t, err)
	ran := make(chan error, 1)
	go func() { ran <- s.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() { require.NoError(t, s.Close()); require.NoError(t, <-ran) })
	told = new(int)
	a, err = New(t.Context(), Desk{Store: s, Log: slog.New(slog.DiscardHandler), Issuer: func() string { return "desk" },
		Chats: func() []approval.Target { return nil },
		Tell:  func(context.Context, []approval.Target, string) { *told++ }})
	require.NoError(t, err)
	return a, told
}

// records appends so many to the log.
func records(t *testing.T, a *Auditor, n int) {
	t.Helper()
	all := make([]approval.Event, n)
	for i := range all {
		all[i] = approval.Event{AtMs: time.Now().UnixMilli(), Type: approval.EventRequested, Data: json.RawMessage(`{"n":1}`)}
	}
	require.NoError(t, a.Store.Append(t.Context(), nil, all...))
}

// The newest checkpoint is found after a busy spell: the next one is not taken for the day's first.
func TestCheckpoint_AfterManyRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // all on one day
		a, told := newAuditor(t)
		for i := range 3 {
			records(t, a, 5000)
			require.NoError(t, a.Checkpoint(t.Context()))
			require.Equal(t, 1, *told, "checkpoint %d", i+1)
		}
		records(t, a, 5000)
		head, _, err := a.Store.Head(t.Context())
		require.NoError(t, err)
		last, err := a.last(t.Context(), head)
		require.NoError(t, err)
		require.EqualValues(t, 15_002, last.Seq)
		stats, err := a.Store.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, last.AtMs, stats.LastCheckMs)
	})
}
