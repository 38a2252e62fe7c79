package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// testPush: an endpoint is one subscription, whoever has it last, and nobody ends another's.
func testPush(t *testing.T, s *Store) {
	sub := func(id, person, endpoint string) signin.PushSubscription {
		return signin.PushSubscription{ID: id, Person: person, Endpoint: endpoint, P256dh: "k", Auth: "a", Browser: "b", CreatedMs: 1}
	}
	first, second := sub("1", "alice", "https://p/1"), sub("2", "alice", "https://p/2")
	require.NoError(t, s.KeepPush(ctx, first, 2, approval.Event{AtMs: 1, Type: approval.EventSubscribed}, nil))
	require.NoError(t, s.KeepPush(ctx, second, 2, approval.Event{AtMs: 1, Type: approval.EventSubscribed}, nil))
	require.Equal(t, approval.CodeRateLimited, approval.CodeOf(s.KeepPush(ctx, sub("3", "alice", "https://p/3"), 2, approval.Event{AtMs: 1, Type: approval.EventSubscribed}, nil)))
	again := sub("4", "alice", "https://p/2")
	require.NoError(t, s.KeepPush(ctx, again, 2, approval.Event{AtMs: 1, Type: approval.EventSubscribed}, nil), "the same browser again is not one more")
	mine, err := s.PushOf(ctx, "alice")
	require.NoError(t, err)
	require.Equal(t, []signin.PushSubscription{first, again}, mine)

	theirs := sub("5", "bob", "https://p/2")
	require.NoError(t, s.KeepPush(ctx, theirs, 2, approval.Event{AtMs: 1, Type: approval.EventSubscribed}, nil))
	got, err := s.Push(ctx, "5")
	require.NoError(t, err)
	require.Equal(t, theirs, got)
	_, err = s.Push(ctx, "4")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))

	require.NoError(t, s.DropPush(ctx, "alice", "5"))
	_, err = s.Push(ctx, "5")
	require.NoError(t, err, "it is bob's")
	require.NoError(t, s.DropPush(ctx, "", "5"))
	_, err = s.Push(ctx, "5")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))

	for _, look := range []struct {
		push bool
		want []core.Subscriber
	}{{false, nil}, {true, []core.Subscriber{{ID: "1", Person: "alice"}}}} {
		var pushed []core.Subscriber
		err = s.Create(ctx, core.Lookup{Owner: "bot", Push: look.push}, func(f core.Existing) ([]core.Change, error) {
			pushed = f.Pushed
			return nil, nil
		})
		require.NoError(t, err)
		require.Equal(t, look.want, pushed)
	}
}
