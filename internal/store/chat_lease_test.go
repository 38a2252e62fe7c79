package store

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// Two instances drain one outbox: each card is posted once, one at a time in each
// chat, in order.
func TestInstancesDrainOnce(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	const chats, cards = 20, 6
	for i := range chats * cards {
		create(t, a, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo(fmt.Sprint(i%chats), 1, int64(i+1))}})
	}
	var mu sync.Mutex
	posted, busy := map[string][]int64{}, map[string]bool{}
	by := map[*Store]int{}
	var wg sync.WaitGroup
	for i := range 8 {
		s := []*Store{a, b}[i%2]
		wg.Go(func() {
			for {
				place, ok, next, err := s.ClaimChat(ctx, "telegram", nowMs())
				require.NoError(t, err)
				if !ok && next == 0 {
					return
				}
				if !ok {
					<-time.After(5 * time.Millisecond)
				}
				for ok {
					d, more, err := s.NextDelivery(ctx, place, nowMs())
					require.NoError(t, err)
					if !more {
						require.NoError(t, s.ReleaseChat(ctx, place, 0))
						break
					}
					mu.Lock()
					require.False(t, busy[place.To], "two post to one chat at once")
					busy[place.To] = true
					posted[place.To] = append(posted[place.To], d.CreatedMs)
					by[s]++
					mu.Unlock()
					require.NoError(t, s.Record(ctx, sent(d, "m"+d.ID)))
					mu.Lock()
					busy[place.To] = false
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, posted, chats)
	for to, list := range posted {
		require.Len(t, list, cards, to)
		require.IsIncreasing(t, list, to)
	}
	t.Log("posted by each:", by[a], by[b])
}

// The pace that a platform asked one instance for is the other's too.
func TestInstancesShareThePace(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	create(t, a, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	place, ok, _, err := a.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.True(t, ok)
	_, ok, next, err := b.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.False(t, ok, "it is held elsewhere")
	require.EqualValues(t, 100+foreignMs, next)

	require.NoError(t, a.ReleaseChat(ctx, place, 5000))
	a.heartbeat.mu.Lock()
	a.heartbeat.held[chatLease(place)].used = time.Time{}
	a.heartbeat.mu.Unlock()
	require.NoError(t, a.beat(ctx), "and gives it back, for it was of no use for so long")
	b.due.foreign.stale()
	_, ok, next, err = b.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.False(t, ok)
	require.EqualValues(t, 5000, next)
	got, ok, _, err := b.ClaimChat(ctx, "telegram", 5000)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, place, got)
}

// What became of a card is written down though the database cannot for a while:
// it would be posted a second time otherwise.
func TestARecordWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	p := create(t, a, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	held, free := make(chan struct{}), make(chan struct{})
	holding := make(chan error, 1)
	go func() {
		conn, err := pgconn.ConnectConfig(ctx, &b.listen.Config) // whoever holds the approval's lock for too long
		if err == nil {
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, "BEGIN; SELECT 1 FROM approvals FOR UPDATE").ReadAll()
		}
		close(held)
		<-free
		holding <- err
	}()
	<-held
	recorded := make(chan error, 1)
	d := sent(p.Deliveries[0], "m1")
	d.Key = p.Key
	go func() { recorded <- a.Record(ctx, d) }()
	require.Eventually(t, a.broken.Load, patient, time.Millisecond, "a commit fails")
	close(free)
	require.NoError(t, <-holding)
	require.NoError(t, <-recorded)
	p, err := b.Get(ctx, p.Key)
	require.NoError(t, err)
	require.Equal(t, "m1", p.Deliveries[0].MessageID)
}

// An instance that died loses its chats; should it come back, what it did there
// overwrites nothing.
func TestAdversary_P2_ChatOfADeadInstance(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := frozen(t, url), openPG(t, url)
	p := create(t, b, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 1, 1)}})
	place, ok, _, err := a.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.True(t, ok)
	d, ok, err := a.NextDelivery(ctx, place, 100)
	require.NoError(t, err)
	require.True(t, ok)
	_, ok, _, err = b.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.False(t, ok)

	bury(t, a)
	b.due.foreign.stale()
	_, ok, _, err = b.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, b.Record(ctx, sent(d, "posted by b")))
	require.NoError(t, b.ReleaseChat(ctx, place, 0))

	require.Equal(t, approval.CodeUnavailable, approval.CodeOf(a.Record(ctx, sent(d, "posted by a"))))
	require.NoError(t, a.beat(ctx))
	_, ok, err = a.NextDelivery(ctx, place, nowMs())
	require.NoError(t, err)
	require.False(t, ok, "it knows by now")
	p, err = b.Get(ctx, p.Key)
	require.NoError(t, err)
	require.Equal(t, "posted by b", p.Deliveries[0].MessageID)
}

// A holder that lives on and has lost a chat's lease gives it back at its next beat, also if it has
// nothing to do there.
func TestAdversary_T9_LapsedChatLeaseIsGivenBack(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, kill := locked(t, url)
	b := openPG(t, url)
	l := taken(t, a, "chat telegram:1")
	require.NotNil(t, l)
	kill()
	<-l.lost
	require.NoError(t, a.beat(ctx))
	require.NotNil(t, taken(t, b, "chat telegram:1"))
	names, _ := a.heartbeat.idle()
	require.Empty(t, names)
}
