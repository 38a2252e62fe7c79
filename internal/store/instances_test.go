package store

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// two gives two instances on one new database.
func two(t *testing.T) (a, b *Store) {
	t.Helper()
	url := pgtest.New(t)
	return openPG(t, url), openPG(t, url)
}

// frozen gives an instance that writes but never shows itself by itself, as one
// that is stopped in the debugger or cut off.
func frozen(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(ctx, pgOptions(t, url))
	require.NoError(t, err)
	s.running.Store(true)
	go func() {
		defer close(s.ended)
		for {
			select {
			case j := <-s.jobs:
				s.commit(s.gather(j))
			case <-s.closing:
				s.leave()
				s.writer.release(false)
				return
			}
		}
	}()
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// bury makes the others think that an instance died a while ago.
func bury(t *testing.T, s *Store) {
	t.Helper()
	require.NoError(t, s.do(ctx, func(tx *tx) error {
		_, err := tx.exec("UPDATE instances SET seen_ms = seen_ms - 60000 WHERE id = $1", s.heartbeat.id)
		return err
	}))
}

// settle is a vote that ends an approval, or finds it ended.
func settle(s *Store, key string, as approval.Status) error {
	return insist(func() error {
		_, err := s.Update(ctx, key, func(a approval.Approval) (core.Change, error) {
			if a.Final() {
				return core.Change{}, approval.Refuse(approval.CodeAlreadyResolved, "too late")
			}
			return ended(a, as), nil
		})
		return err
	})
}

// Two instances end the same approvals at the same instant: one wins each.
// APPROVALBOT_FULL=1 does it ten thousand times.
func TestAdversary_B6_TwoInstancesOneWinner(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	rounds := 500
	if os.Getenv("APPROVALBOT_FULL") == "1" {
		rounds = 10_000
	}
	var keys []string
	for len(keys) < rounds {
		var batch []core.Change
		for range 100 {
			p := pendingApproval("bot")
			keys = append(keys, p.Key)
			batch = append(batch, core.Change{Approval: p, New: true, Deliveries: []approval.Delivery{{Kind: approval.CardDelivery,
				Target: chat1("1"), State: approval.Sent, MessageID: p.Key}}})
		}
		require.NoError(t, a.Create(ctx, core.Lookup{}, func(core.Existing) ([]core.Change, error) { return batch, nil }))
	}
	errs := map[*Store][]error{a: make([]error, rounds), b: make([]error, rounds)}
	work := make(chan int)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range work {
				var pair sync.WaitGroup
				pair.Go(func() { errs[a][i] = settle(a, keys[i], approval.Approved) })
				pair.Go(func() { errs[b][i] = settle(b, keys[i], approval.Denied) })
				pair.Wait()
			}
		})
	}
	for i := range rounds {
		work <- i
	}
	close(work)
	wg.Wait()
	won := map[approval.Status]int{}
	for i, key := range keys {
		first, second := errs[a][i], errs[b][i]
		want := approval.Approved
		if first != nil {
			first, second, want = second, first, approval.Denied
		}
		require.NoError(t, first)
		require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(second))
		got, err := a.Get(ctx, key)
		require.NoError(t, err)
		require.Equal(t, want, got.Status)
		require.EqualValues(t, 2, got.Version)
		require.EqualValues(t, 1, got.Deliveries[0].Revision)
		won[want]++
	}
	t.Log("won:", won)
	n, _, err := b.Verify(ctx)
	require.NoError(t, err)
	require.Equal(t, rounds, n)
	require.Zero(t, found(t, a, core.Lookup{Owner: "bot"}).Pending)
}

// Each of many votes on one approval counts, whichever instance took it.
func TestInstancesShareAnApproval(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	p := create(t, a, pendingApproval("bot"), core.Change{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			change(t, []*Store{a, b}[i%2], p.Key, func(p approval.Approval) core.Change {
				p.Votes = append(p.Votes, approval.Vote{Approver: approval.UserRequest})
				return core.Change{Approval: p, Events: []approval.Event{event(p, approval.EventVote)}}
			})
		})
	}
	wg.Wait()
	p, err := b.Get(ctx, p.Key)
	require.NoError(t, err)
	require.Len(t, p.Votes, 100)
	require.EqualValues(t, 101, p.Version)
}

// The same call that is asked for at both instances at once gets one card.
func TestInstancesAskOnce(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	for i := range 50 {
		var wg sync.WaitGroup
		for _, s := range []*Store{a, b} {
			wg.Go(func() {
				p := pendingApproval("bot")
				p.Fingerprint = fmt.Sprint("f", i)
				look := core.Lookup{Owner: "bot", Fingerprint: p.Fingerprint, AgentID: p.AgentID, SessionKey: p.SessionKey, Code: p.Code}
				require.NoError(t, insist(func() error {
					return s.Create(ctx, look, func(f core.Existing) ([]core.Change, error) {
						if len(f.Same) > 0 {
							return []core.Change{{Approval: f.Same[0], Unchanged: true, Aliases: []string{"x" + p.Key}}}, nil
						}
						return []core.Change{{Approval: p, New: true}}, nil
					})
				}))
			})
		}
		wg.Wait()
	}
	require.Equal(t, 50, count(t, a, "SELECT COUNT(*) FROM approvals"))
	require.Equal(t, 50, count(t, a, "SELECT COUNT(*) FROM approval_ids"))
}

// A grant that is dropped at one instance is not used at another afterwards: who
// drops it waits for those who have just found it. The store takes back what holds
// others up for seconds, as the user does here where the machine is slow.
func TestAdversary_W6_DroppedGrantHoldsEverywhere(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	var err error
	for i, end := 0, time.Now().Add(patient); time.Now().Before(end); i++ {
		if err = dropInUse(t, a, b, fmt.Sprint("g", i)); approval.CodeOf(err) != approval.CodeUnavailable {
			break
		}
	}
	require.NoError(t, err)
}

// dropInUse drops a grant at one instance while it is used at another, and gives
// what came of the use.
func dropInUse(t *testing.T, a, b *Store, id string) error {
	t.Helper()
	g := approval.Grant{ID: id, Owner: "bot", AgentID: "main", Kind: approval.AlwaysGrant, Fingerprint: id}
	require.NoError(t, a.AddGrant(ctx, g, approval.Event{Type: approval.EventVote}))
	look := core.Lookup{Owner: "bot", AgentID: "main", Fingerprint: id, Grants: true}
	using, use, used, dropped := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() {
		again := false
		used <- a.Create(ctx, look, func(f core.Existing) ([]core.Change, error) {
			if again {
				return nil, approval.Refuse(approval.CodeUnavailable, "the first time took too long")
			}
			if again = true; len(f.Grants) != 1 {
				close(using)
				return nil, fmt.Errorf("found %d grants", len(f.Grants))
			}
			close(using)
			<-use
			p := pendingApproval("bot")
			p.Status, p.ResolvedAtMs = approval.Approved, nowMs()
			return []core.Change{{Approval: p, New: true, Events: []approval.Event{event(p, approval.EventResolved)}}}, nil
		})
	}()
	<-using
	go func() {
		err := error(approval.Refuse(approval.CodeUnavailable, "not tried"))
		for end := time.Now().Add(patient); approval.CodeOf(err) == approval.CodeUnavailable && time.Now().Before(end); {
			_, err = b.DropGrants(ctx, core.GrantFilter{ID: id}, func(approval.Grant) approval.Event { return approval.Event{Type: approval.EventRefused} })
		}
		dropped <- err
	}()
	require.Eventually(t, func() bool {
		var waits int
		err := b.read.db.QueryRow("SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = " +
			"current_database()").Scan(&waits)
		return err == nil && waits > 0 || len(used) > 0
	}, patient, 5*time.Millisecond, "the drop waits")
	close(use)
	err := <-used
	require.NoError(t, <-dropped)
	if err != nil {
		return err
	}
	require.Empty(t, found(t, a, look).Grants)
	log, err := a.Log(ctx, 0, 1000)
	require.NoError(t, err)
	require.Equal(t, approval.EventResolved, log[len(log)-2].Type)
	require.Equal(t, approval.EventRefused, log[len(log)-1].Type, "in the log too the use comes before the drop")
	return nil
}
