package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// What this process committed last is given without a look, until newer commits take its place; the rest is looked up.
func TestNewestIsWhatWasCommittedLast(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	asked := func() approval.Approval {
		return create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{{Kind: approval.CardDelivery,
			Target: approval.Target{Channel: "telegram", To: "-100"}, State: approval.Queued, DueMs: 1}}})
	}
	first := asked()
	same := func(key string) {
		t.Helper()
		bare, err := s.Bare(ctx, key)
		require.NoError(t, err)
		got, err := s.Newest(ctx, key)
		require.NoError(t, err)
		require.Equal(t, bare, got)
	}
	same(first.Key)
	_, err := s.Update(ctx, first.Key, func(a approval.Approval) (core.Change, error) {
		a.Reason = "changed"
		return core.Change{Approval: a, Redraw: true}, nil
	})
	require.NoError(t, err)
	same(first.Key)
	_, err = s.Update(ctx, first.Key, func(a approval.Approval) (core.Change, error) {
		a.Reason = "never"
		return core.Change{Approval: a}, fmt.Errorf("no")
	})
	require.Error(t, err)
	same(first.Key)
	last := first
	for range maxWritten {
		last = asked()
	}
	same(first.Key)
	same(last.Key)

	require.NoError(t, s.read.db.Close())
	got, err := s.Newest(ctx, last.Key)
	require.NoError(t, err)
	require.Equal(t, last.Key, got.Key)
	_, err = s.Newest(ctx, first.Key)
	require.Error(t, err, "too many came after it")
	s.written.forget()
	_, err = s.Newest(ctx, last.Key)
	require.Error(t, err)
}
