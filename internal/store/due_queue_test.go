package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Where this process alone writes, nobody asks the database for what a commit has
// said: not for a new card, an edit, or that nothing is left.
func TestChatsAreKnownFromCommits(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	_, ok, _, err := s.ClaimChat(ctx, "telegram", nowMs()) // what the last process left
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, s.read.db.Close())
	a := pendingApproval("bot")
	require.NoError(t, s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) {
		return []core.Change{{Approval: a, New: true, Deliveries: []approval.Delivery{cardTo("1", 1, 1), cardTo("2", 3, 1)}}}, nil
	}))
	for _, to := range []string{"2", "1"} {
		place, ok, _, err := s.ClaimChat(ctx, "telegram", nowMs())
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, to, place.To)
		d, ok, err := s.NextDelivery(ctx, place, nowMs())
		require.NoError(t, err)
		require.True(t, ok)
		require.EqualValues(t, 1, d.Version)
		require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Was: d, State: approval.Sent, MessageID: "m" + to}))
		_, ok, err = s.NextDelivery(ctx, place, nowMs())
		require.NoError(t, err)
		require.False(t, ok)
		require.NoError(t, s.ReleaseChat(ctx, place, 0))
	}
	_, err = s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) { return core.Change{Approval: a, Redraw: true}, nil })
	require.NoError(t, err)
	place, ok, _, err := s.ClaimChat(ctx, "telegram", nowMs())
	require.NoError(t, err)
	require.True(t, ok)
	d, ok, err := s.NextDelivery(ctx, place, nowMs())
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 2, d.Version)
	require.EqualValues(t, 1, d.Revision)
	require.Equal(t, "m"+place.To, d.MessageID)
}

// TestChatsAgreeWithTheDatabase does anything to deliveries, and compares what is
// known of the chats with what a look at the database finds.
func TestChatsAgreeWithTheDatabase(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	var keys []string
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for step := range 400 {
		say := fmt.Sprintf("seed %d, step %d", seed, step)
		now := nowMs()
		switch n := r.IntN(10); {
		case n < 3 || len(keys) == 0:
			var cards []approval.Delivery
			for i := range r.IntN(4) {
				cards = append(cards, cardTo(fmt.Sprint(i+r.IntN(2)*10), r.IntN(5), []int64{0, 1, now, now + 5, now + 60_000}[r.IntN(5)]))
			}
			keys = append(keys, create(t, s, pendingApproval("bot"), core.Change{Deliveries: cards}).Key)
		case n < 4:
			change(t, s, keys[r.IntN(len(keys))], func(a approval.Approval) core.Change {
				if a.Final() {
					return core.Change{Approval: a, Redraw: true}
				}
				c := ended(a, approval.Denied)
				c.Redraw = r.IntN(2) == 0
				return c
			})
		case n < 5:
			change(t, s, keys[r.IntN(len(keys))], func(a approval.Approval) core.Change { return core.Change{Approval: a, Redraw: true} })
		default:
			place, ok, _, err := s.ClaimChat(ctx, "telegram", now)
			require.NoError(t, err)
			if !ok {
				break
			}
			d, ok, err := s.NextDelivery(ctx, place, now)
			require.NoError(t, err)
			require.True(t, ok, say)
			done := approval.Delivered{ID: d.ID, Key: d.Key, Was: d, Revision: d.Revision, State: approval.Sent, MessageID: fmt.Sprint("m", step)}
			switch r.IntN(8) {
			case 0:
				done.State, done.MessageID, done.DueMs = d.State, "", now+int64(r.IntN(2))*50
			case 1:
				done.State = approval.Failed
			case 2:
				change(t, s, d.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a, Redraw: true} })
			case 3:
				to := chat1(fmt.Sprint(20 + r.IntN(3)))
				done.MovedTo, done.DueMs = &to, now
			}
			if r.IntN(8) > 0 {
				require.NoError(t, s.Record(ctx, done), say)
			}
			require.NoError(t, s.ReleaseChat(ctx, place, 0))
		}
		agree(t, s, say)
	}
}

func agree(t *testing.T, s *Store, say string) {
	t.Helper()
	now := nowMs()
	require.NoError(t, s.due.refresh(ctx, s.read, "telegram", now))
	looked := dueQueue{alone: true, known: map[approval.Target]*chat{}}
	require.NoError(t, looked.refresh(ctx, s.read, "telegram", now))
	for place, want := range looked.known {
		got := s.due.of(place)
		i, next := want.first(now)
		j, soon := got.first(now)
		require.Equal(t, i < 0, j < 0, "%s: %v", say, place)
		require.True(t, next == 0 || soon != 0 && soon <= next, "%s: %v looks again at %d, not by %d", say, place, soon, next)
		var due []waiting
		for _, w := range got.list {
			if w.DueMs <= now {
				due = append(due, w)
			}
		}
		require.Equal(t, len(want.list), len(due), "%s: %v", say, place)
		for n := range due {
			if due[n].Version == 0 { // it was not known, and is no lie
				due[n].Version = want.list[n].Version
			}
			require.Equal(t, want.list[n], due[n], "%s: %v", say, place)
		}
	}
	for place, k := range s.due.known {
		if looked.known[place] == nil {
			require.Empty(t, k.list, "%s: %v", say, place)
		}
	}
}

// More than a list holds is looked up as it is needed, in its order.
func TestAChatWithMoreThanAList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t)
		_, _, _, err := s.ClaimChat(ctx, "telegram", nowMs())
		require.NoError(t, err)
		var want []string
		another := func() {
			d := cardTo("1", 1, 1)
			d.CreatedMs = int64(len(want) + 1)
			want = append(want, create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{d}}).Deliveries[0].ID)
		}
		for range 3 * queueLength {
			another()
		}
		place, ok, _, err := s.ClaimChat(ctx, "telegram", nowMs())
		require.NoError(t, err)
		require.True(t, ok)
		for i := 0; i < len(want); i++ {
			id := want[i]
			if i == 10 {
				another() // not before those that are in no list
			}
			d, ok, err := s.NextDelivery(ctx, place, nowMs())
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, id, d.ID)
			require.NoError(t, s.Record(ctx, approval.Delivered{ID: d.ID, Key: d.Key, Was: d, State: approval.Sent, MessageID: fmt.Sprint(i)}))
		}
		_, ok, err = s.NextDelivery(ctx, place, nowMs())
		require.NoError(t, err)
		require.False(t, ok)
	})
}
