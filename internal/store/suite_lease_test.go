package store

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func testHold(t *testing.T, s *Store) {
	refusal := errors.New("no")
	for range 2 {
		err := s.Hold(ctx, "timers", func(_ context.Context, token int64) error {
			require.Positive(t, token)
			holder, err := s.Holder(ctx, "timers")
			require.NoError(t, err)
			require.Equal(t, s.ID(), holder)
			return refusal
		})
		require.Same(t, refusal, err)
	}
	stopping, stop := context.WithCancel(ctx)
	require.NoError(t, s.Hold(stopping, "timers", func(ctx context.Context, _ int64) error {
		stop()
		<-ctx.Done()
		return nil
	}))
	other := s.Hold(ctx, "sweep", func(ctx context.Context, _ int64) error {
		return s.Hold(ctx, "timers", func(context.Context, int64) error { return refusal })
	})
	require.Same(t, refusal, other, "one does not exclude another")
}

func testAlone(t *testing.T, s *Store) {
	require.NoError(t, s.Agree(ctx, "sha256:one", false))
	require.NoError(t, agreed(s))
	require.NoError(t, s.Agree(ctx, "sha256:two", false), "nobody else runs")
	require.NoError(t, agreed(s))
	all, err := s.Instances(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "sha256:two", all[0].PolicyHash)
	require.Equal(t, s.keys.id, all[0].KeyID)
	require.Equal(t, s.schema, all[0].Schema)
	require.InDelta(t, nowMs(), all[0].SeenMs, day)

	stopping, stop := context.WithCancel(ctx)
	stop()
	require.NoError(t, s.Listen(stopping, func(Changed) {}))
}
