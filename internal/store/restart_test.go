package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// TestAdversary_P2_DatabaseCrashes lets the server crash again and again while two
// instances write: what they acknowledged is there, nothing is there in part,
// callers hear that the store is unavailable while it is, and everything goes on by
// itself.
func TestAdversary_P2_DatabaseCrashes(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	url := server.New(t)
	stores := []*Store{openPG(t, url), openPG(t, url)}
	var mu sync.Mutex
	var acknowledged []string
	var failures atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 8 {
		s := stores[i%2]
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				key, err := createWhole(s)
				if err == nil {
					mu.Lock()
					acknowledged = append(acknowledged, key)
					mu.Unlock()
					continue
				}
				require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err), "%v", err)
				failures.Add(1)
				<-time.After(10 * time.Millisecond)
			}
		})
	}
	goesOn := func() {
		t.Helper()
		mu.Lock()
		n := len(acknowledged)
		mu.Unlock()
		require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(acknowledged) > n+20 }, time.Minute, 5*time.Millisecond)
	}
	for range 3 {
		goesOn()
		before := failures.Load()
		server.Stop(t)
		require.Eventually(t, func() bool { return failures.Load() > before+8 }, time.Minute, 5*time.Millisecond)
		for _, s := range stores {
			_, err := s.Get(ctx, "x")
			require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err), "%v", err)
			require.Equal(t, approval.CodeUnavailable, approval.CodeOf(s.Ping(ctx)))
			_, _, _, err = s.ClaimChat(ctx, "telegram", nowMs())
			require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err), "%v", err)
		}
		server.Start(t)
	}
	goesOn()
	close(stop)
	wg.Wait()
	s := stores[0]
	for _, key := range acknowledged {
		_, err := s.Get(ctx, key)
		require.NoError(t, err)
	}
	whole(t, s)
	require.GreaterOrEqual(t, count(t, s, "SELECT COUNT(*) FROM approvals"), len(acknowledged))
	t.Log("acknowledged:", len(acknowledged), "refused:", failures.Load())
}
