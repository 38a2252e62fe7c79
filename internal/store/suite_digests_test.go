package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// folded makes an approval of bot's whose card is folded.
func folded(t *testing.T, s *Store, rank int) core.Approval {
	t.Helper()
	d := card("1", rank, 0)
	d.State, d.CreatedMs = core.Folded, nowMs()
	return create(t, s, pendingApproval("bot"), core.Change{Deliveries: []core.Delivery{d}})
}

func cardOf(t *testing.T, s *Store, a core.Approval, kind core.DeliveryKind) core.Delivery {
	t.Helper()
	a, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	for _, d := range a.Deliveries {
		if d.Kind == kind {
			return d
		}
	}
	return core.Delivery{}
}

func isSent(d core.Delivery, id string) core.Delivered {
	return core.Delivered{ID: d.ID, Key: d.Key, Was: d, Revision: d.Revision, State: core.Sent, MessageID: id}
}

// A digest begins with the first card that is folded; the others raise it, and each
// version of its list is kept.
func testDigests(t *testing.T, s *Store) {
	a := folded(t, s, 1)
	b := folded(t, s, 3)
	digest := cardOf(t, s, a, core.DigestDelivery)
	require.Equal(t, core.Delivery{}, cardOf(t, s, b, core.DigestDelivery))
	require.EqualValues(t, 1, digest.Revision)
	require.Equal(t, core.Queued, digest.State)
	require.Equal(t, a.Key, cardOf(t, s, b, core.CardDelivery).Digest)
	_, ok, err := s.NextDelivery(ctx, chat1("1"), nowMs())
	require.NoError(t, err)
	require.False(t, ok, "what is folded is not due, and the digest waits a moment for more")
	edit := card("1", 4, 1)
	edit.State, edit.MessageID = core.Sent, "old"
	edited := create(t, s, pendingApproval("other"), core.Change{Deliveries: []core.Delivery{edit}}).Deliveries[0]
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
	require.Equal(t, core.Folded, cardOf(t, s, b, core.CardDelivery).State, "not known to be in what stands there")
	digest = cardOf(t, s, a, core.DigestDelivery)
	require.EqualValues(t, 2, digest.Revision)
	require.NotZero(t, digest.DueMs)
	list, err = s.Digest(ctx, digest, 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, list.Version)
	require.NoError(t, s.Record(ctx, isSent(digest, "m")))
	for _, x := range []core.Approval{a, b, c} {
		require.Equal(t, core.Listed, cardOf(t, s, x, core.CardDelivery).State)
	}
	require.Zero(t, cardOf(t, s, a, core.DigestDelivery).DueMs)

	for version, want := range map[int64][]string{1: {b.Key}, 2: {c.Key, b.Key}} {
		keys, err := s.DigestVersion(ctx, digest, version)
		require.NoError(t, err)
		require.Equal(t, want, keys)
	}
	_, err = s.DigestVersion(ctx, digest, 3)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))

	change(t, s, c.Key, func(got core.Approval) core.Change {
		got.Status, got.ResolvedAtMs = core.Denied, nowMs()
		return core.Change{Approval: got, Redraw: true}
	})
	change(t, s, b.Key, func(got core.Approval) core.Change {
		return core.Change{Approval: got, Open: []core.Target{chat1("1")}}
	})
	opened := cardOf(t, s, b, core.CardDelivery)
	require.Equal(t, core.Queued, opened.State)
	require.NotZero(t, opened.DueMs)
	digest = cardOf(t, s, a, core.DigestDelivery)
	require.EqualValues(t, 4, digest.Revision)
	list, err = s.Digest(ctx, digest, 9)
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, a.Key, list.Items[0].Key)
}

// What a digest lists fails with it, and is looked after at once.
func testDigestsThatFail(t *testing.T, s *Store) {
	a, b := folded(t, s, 1), folded(t, s, 1)
	digest := cardOf(t, s, a, core.DigestDelivery)
	failed := isSent(digest, "")
	failed.State, failed.Error = core.Failed, "gone"
	stale := failed
	stale.Revision--
	require.NoError(t, s.Record(ctx, stale))
	require.Equal(t, core.Queued, cardOf(t, s, a, core.DigestDelivery).State, "what has come since is yet to be tried")

	require.NoError(t, s.Record(ctx, isSent(digest, "m")))
	deleted := failed
	deleted.MessageID = "m"
	require.NoError(t, s.Record(ctx, deleted))
	now := cardOf(t, s, a, core.DigestDelivery)
	require.Equal(t, core.Queued, now.State, "a deleted one is posted anew")
	require.Empty(t, now.MessageID)
	require.Equal(t, core.Folded, cardOf(t, s, b, core.CardDelivery).State)

	require.NoError(t, s.Record(ctx, failed))
	for _, x := range []core.Approval{a, b} {
		d := cardOf(t, s, x, core.CardDelivery)
		require.Equal(t, core.Failed, d.State)
		require.Equal(t, "gone", d.Error)
	}
	keys, _, err := s.Due(ctx, nowMs(), 9)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	next := folded(t, s, 1)
	require.Equal(t, next.Key, cardOf(t, s, next, core.CardDelivery).Digest, "one that failed takes no more")
}

// Where a chat moves, its digest is posted anew there with all that it lists.
func testDigestsMove(t *testing.T, s *Store) {
	a, b := folded(t, s, 1), folded(t, s, 1)
	require.NoError(t, s.Record(ctx, isSent(cardOf(t, s, a, core.DigestDelivery), "m")))
	plain := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []core.Delivery{card("1", 1, 1)}}).Deliveries[0]
	moved := core.Delivered{ID: plain.ID, Key: plain.Key, State: core.Queued, DueMs: 1, MovedTo: new(chat1("2"))}
	require.NoError(t, s.Record(ctx, moved))
	digest := cardOf(t, s, a, core.DigestDelivery)
	require.Equal(t, core.Queued, digest.State)
	require.Equal(t, chat1("2"), digest.Target)
	list, err := s.Digest(ctx, digest, 9)
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	require.Equal(t, chat1("2"), cardOf(t, s, b, core.CardDelivery).Target)
}

// Cards of an owner's pending approvals are counted for each place, once there are so
// many of them.
func testNewestCards(t *testing.T, s *Store) {
	folded(t, s, 1)
	here := card("1", 1, 1)
	here.Target.ThreadID = "7"
	create(t, s, pendingApproval("bot"), core.Change{Deliveries: []core.Delivery{card("1", 1, 1), card("2", 1, 1), here}})
	create(t, s, pendingApproval("other"), core.Change{Deliveries: []core.Delivery{card("1", 1, 1)}})
	old := pendingApproval("bot")
	old.CreatedAtMs -= core.FloodMs
	create(t, s, old, core.Change{Deliveries: []core.Delivery{card("1", 1, 1)}})
	for above, want := range map[int]map[core.Target]int{
		0: nil, 4: nil, 3: {chat1("1"): 2, chat1("2"): 1, here.Target: 1},
	} {
		require.NoError(t, s.Create(ctx, core.Lookup{Owner: "bot", Flood: above}, func(f core.Existing) ([]core.Change, error) {
			require.Equal(t, want, f.Cards)
			return nil, nil
		}))
	}
}
