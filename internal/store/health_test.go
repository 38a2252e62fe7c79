package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// A database that hangs is asked no more until it answers: who comes is refused
// without waiting, and everything goes on by itself.
func TestPostgresHangs(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := openPG(t, server.New(t))
	a := create(t, s, pendingApproval("bot"), core.Change{})
	_, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.NoError(t, s.do(ctx, func(tx *tx) error { // connections that read rest for longer than pgx takes on trust
		rows, err := tx.rows("SELECT COUNT(pg_sleep(1.2))")
		require.NoError(t, err)
		return each(rows, func() error { return nil })
	}))
	server.Freeze(t)
	for _, ask := range []func() error{
		func() error { _, err := s.Get(ctx, a.Key); return err },
		func() error { _, err := s.Keys(ctx, core.NameQuery{ID: a.Key}); return err },
		func() error { _, err := s.List(ctx, core.Filter{}); return err },
		func() error { _, err := s.Update(ctx, a.Key, vote); return err },
		func() error { return s.Ping(ctx) },
	} {
		var err error
		require.Eventually(t, func() bool {
			if err = ask(); err != nil {
				require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err), "%v", err)
			}
			return s.health.silent(silentAfter)
		}, patient, time.Millisecond)
		require.ErrorIs(t, ask(), errSilent)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	require.Equal(t, approval.CodeUnavailable, approval.CodeOf(s.Ping(ctx)))

	server.Thaw(t)
	require.Eventually(t, func() bool {
		_, err := s.Update(context.Background(), a.Key, vote)
		return err == nil
	}, patient, time.Millisecond)
	_, err = s.Get(context.Background(), a.Key)
	require.NoError(t, err)
	require.NoError(t, s.Ping(context.Background()))
	_, _, err = s.Verify(context.Background())
	require.NoError(t, err)
}

// An answer that takes long is no silence as long as others come.
func TestPulse(t *testing.T) {
	t.Parallel()
	p := &health{}
	require.False(t, p.silent(0))
	p.asks(nil) // and hangs
	p.since = p.since.Add(-time.Hour)
	require.True(t, p.silent(time.Minute))
	p.asks(nil)
	p.ends(nil, false)
	require.True(t, p.silent(time.Minute))
	p.asks(nil)
	p.ends(nil, true)
	require.False(t, p.silent(time.Minute))
	p.since = p.since.Add(-time.Hour)
	require.True(t, p.silent(time.Minute), "it is still under way")
	p.ends(nil, false)
	require.True(t, p.silent(time.Minute), "it never came")
	p.asks(nil)
	p.ends(nil, true)
	require.False(t, p.silent(0))
	require.Zero(t, p.open)
}
