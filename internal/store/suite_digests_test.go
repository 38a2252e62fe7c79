package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// folded makes an approval of bot's whose card is folded.
func folded(t *testing.T, s *Store, rank int) approval.Approval {
	t.Helper()
	d := cardTo("1", rank, 0)
	d.State, d.CreatedMs = approval.Folded, nowMs()
	return create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{d}})
}

func cardOf(t *testing.T, s *Store, a approval.Approval, kind approval.DeliveryKind) approval.Delivery {
	t.Helper()
	a, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	for _, d := range a.Deliveries {
		if d.Kind == kind {
			return d
		}
	}
	return approval.Delivery{}
}

func isSent(d approval.Delivery, id string) approval.Delivered {
	return approval.Delivered{ID: d.ID, Key: d.Key, Was: d, Revision: d.Revision, State: approval.Sent, MessageID: id}
}

// A digest begins with the first card that is folded; the others raise it, and each
// version of its list is kept.
func testDigests(t *testing.T, s *Store) {
	a := folded(t, s, 1)
	b := folded(t, s, 3)
	digest := cardOf(t, s, a, approval.DigestDelivery)
	require.Equal(t, approval.Delivery{}, cardOf(t, s, b, approval.DigestDelivery))
	require.EqualValues(t, 1, digest.Revision)
	require.Equal(t, approval.Queued, digest.State)
	require.Equal(t, a.Key, cardOf(t, s, b, approval.CardDelivery).Digest)
	_, ok, err := s.NextDelivery(ctx, chat1("1"), nowMs())
	require.NoError(t, err)
	require.False(t, ok, "what is folded is not due, and the digest waits a moment for more")
	edit := cardTo("1", 4, 1)
	edit.State, edit.MessageID = approval.Sent, "old"
	edited := create(t, s, pendingApproval("other"), core.Change{Deliveries: []approval.Delivery{edit}}).Deliveries[0]
	next, ok, err := s.NextDelivery(ctx, chat1("1"), digest.DueMs)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, digest.ID, next.ID, "before edits: nobody has heard of what it lists")
	require.NoError(t, s.Record(ctx, isSent(edited, "old")))

	list, err := s.Digest(ctx, next, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, list.Version)
	require.Equal(t, 2, list.Total)
	require.Equal(t, b.Key, list.Items[0].Key, "the riskiest")
	again, err := s.Digest(ctx, next, 1)
	require.NoError(t, err)
	require.Equal(t, list.Version, again.Version, "the same list has one version")

	c := folded(t, s, 4) // while it is sent
	require.NoError(t, s.Record(ctx, isSent(next, "m")))
	require.Equal(t, approval.Folded, cardOf(t, s, b, approval.CardDelivery).State, "not known to be in what stands there")
	digest = cardOf(t, s, a, approval.DigestDelivery)
	require.EqualValues(t, 2, digest.Revision)
	require.NotZero(t, digest.DueMs)
	list, err = s.Digest(ctx, digest, 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, list.Version)
	require.NoError(t, s.Record(ctx, isSent(digest, "m")))
	for _, x := range []approval.Approval{a, b, c} {
		require.Equal(t, approval.Listed, cardOf(t, s, x, approval.CardDelivery).State)
	}
	require.Zero(t, cardOf(t, s, a, approval.DigestDelivery).DueMs)

	for version, want := range map[int64][]string{1: {b.Key}, 2: {c.Key, b.Key}} {
		keys, err := s.DigestVersion(ctx, digest, version)
		require.NoError(t, err)
		require.Equal(t, want, keys)
	}
	_, err = s.DigestVersion(ctx, digest, 3)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))

	change(t, s, c.Key, func(got approval.Approval) core.Change {
		got.Status, got.ResolvedAtMs = approval.Denied, nowMs()
		return core.Change{Approval: got, Redraw: true}
	})
	change(t, s, b.Key, func(got approval.Approval) core.Change {
		return core.Change{Approval: got, Open: []approval.Target{chat1("1")}}
	})
	opened := cardOf(t, s, b, approval.CardDelivery)
	require.Equal(t, approval.Queued, opened.State)
	require.NotZero(t, opened.DueMs)
	digest = cardOf(t, s, a, approval.DigestDelivery)
	require.EqualValues(t, 4, digest.Revision)
	list, err = s.Digest(ctx, digest, 9)
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, a.Key, list.Items[0].Key)
}

// What a digest lists fails with it, and is looked after at once.
func testDigestsThatFail(t *testing.T, s *Store) {
	a, b := folded(t, s, 1), folded(t, s, 1)
	digest := cardOf(t, s, a, approval.DigestDelivery)
	failed := isSent(digest, "")
	failed.State, failed.Error = approval.Failed, "gone"
	stale := failed
	stale.Revision--
	require.NoError(t, s.Record(ctx, stale))
	require.Equal(t, approval.Queued, cardOf(t, s, a, approval.DigestDelivery).State, "what has come since is yet to be tried")

	require.NoError(t, s.Record(ctx, isSent(digest, "m")))
	deleted := failed
	deleted.MessageID = "m"
	require.NoError(t, s.Record(ctx, deleted))
	now := cardOf(t, s, a, approval.DigestDelivery)
	require.Equal(t, approval.Queued, now.State, "a deleted one is posted anew")
	require.Empty(t, now.MessageID)
	require.Equal(t, approval.Folded, cardOf(t, s, b, approval.CardDelivery).State)

	require.NoError(t, s.Record(ctx, failed))
	for _, x := range []approval.Approval{a, b} {
		d := cardOf(t, s, x, approval.CardDelivery)
		require.Equal(t, approval.Failed, d.State)
		require.Equal(t, "gone", d.Error)
	}
	keys, _, err := s.Due(ctx, nowMs(), 9)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	next := folded(t, s, 1)
	require.Equal(t, next.Key, cardOf(t, s, next, approval.CardDelivery).Digest, "one that failed takes no more")
}

// Where a chat moves, its digest is posted anew there with all that it lists.
func testDigestsMove(t *testing.T, s *Store) {
	a, b := folded(t, s, 1), folded(t, s, 1)
	require.NoError(t, s.Record(ctx, isSent(cardOf(t, s, a, approval.DigestDelivery), "m")))
	plain := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}}).Deliveries[0]
	moved := approval.Delivered{ID: plain.ID, Key: plain.Key, State: approval.Queued, DueMs: 1, MovedTo: new(chat1("2"))}
	require.NoError(t, s.Record(ctx, moved))
	digest := cardOf(t, s, a, approval.DigestDelivery)
	require.Equal(t, approval.Queued, digest.State)
	require.Equal(t, chat1("2"), digest.Target)
	list, err := s.Digest(ctx, digest, 9)
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	require.Equal(t, chat1("2"), cardOf(t, s, b, approval.CardDelivery).Target)
}

// Cards of an owner's pending approvals are counted for each place, once there are so
// many of them.
func testNewestCards(t *testing.T, s *Store) {
	folded(t, s, 1)
	here := cardTo("1", 1, 1)
	here.Target.ThreadID = "7"
	create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1), cardTo("2", 1, 1), here}})
	create(t, s, pendingApproval("other"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	old := pendingApproval("bot")
	old.CreatedAtMs -= core.FloodMs
	create(t, s, old, core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	for above, want := range map[int]map[approval.Target]int{
		0: nil, 4: nil, 3: {chat1("1"): 2, chat1("2"): 1, here.Target: 1},
	} {
		require.NoError(t, s.Create(ctx, core.Lookup{Owner: "bot", Flood: above}, func(f core.Existing) ([]core.Change, error) {
			require.Equal(t, want, f.Cards)
			return nil, nil
		}))
	}
}
