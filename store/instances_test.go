package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/store/pgtest"
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
		_, err := tx.exec("UPDATE instances SET seen_ms = seen_ms - 60000 WHERE id = $1", s.presence.id)
		return err
	}))
}

// settle is a vote that ends an approval, or finds it ended.
func settle(s *Store, key string, as core.Status) error {
	_, err := s.Update(ctx, key, func(a core.Approval) (core.Change, error) {
		if a.Final() {
			return core.Change{}, core.Refuse(core.CodeAlreadyResolved, "too late")
		}
		return ended(a, as), nil
	})
	return err
}

// Two instances end the same approvals at the same instant: one wins each.
// APPROVALBOT_FULL=1 does it ten thousand times.
func TestAdversary_B6_TwoInstancesOneWinner(t *testing.T) {
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
			batch = append(batch, core.Change{Approval: p, New: true, Deliveries: []core.Delivery{{Kind: core.CardDelivery, Target: chat1("1"), State: core.Sent, MessageID: p.Key}}})
		}
		require.NoError(t, a.Create(ctx, core.Lookup{}, func(core.Found) ([]core.Change, error) { return batch, nil }))
	}
	errs := map[*Store][]error{a: make([]error, rounds), b: make([]error, rounds)}
	work := make(chan int)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for i := range work {
				var pair sync.WaitGroup
				pair.Go(func() { errs[a][i] = settle(a, keys[i], core.Approved) })
				pair.Go(func() { errs[b][i] = settle(b, keys[i], core.Denied) })
				pair.Wait()
			}
		})
	}
	for i := range rounds {
		work <- i
	}
	close(work)
	wg.Wait()
	won := map[core.Status]int{}
	for i, key := range keys {
		first, second := errs[a][i], errs[b][i]
		want := core.Approved
		if first != nil {
			first, second, want = second, first, core.Denied
		}
		require.NoError(t, first)
		require.Equal(t, core.CodeAlreadyResolved, core.CodeOf(second))
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
	a, b := two(t)
	p := create(t, a, pendingApproval("bot"), core.Change{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			_, err := []*Store{a, b}[i%2].Update(ctx, p.Key, func(p core.Approval) (core.Change, error) {
				p.Votes = append(p.Votes, core.Vote{Approver: core.UserRequest})
				return core.Change{Approval: p, Events: []core.Event{event(p, core.EventVote)}}, nil
			})
			require.NoError(t, err)
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
	a, b := two(t)
	for i := range 50 {
		var wg sync.WaitGroup
		for _, s := range []*Store{a, b} {
			wg.Go(func() {
				p := pendingApproval("bot")
				p.Fingerprint = fmt.Sprint("f", i)
				look := core.Lookup{Owner: "bot", Fingerprint: p.Fingerprint, AgentID: p.AgentID, SessionKey: p.SessionKey, Code: p.Code}
				require.NoError(t, s.Create(ctx, look, func(f core.Found) ([]core.Change, error) {
					if f.Same != nil {
						return []core.Change{{Approval: *f.Same, Unchanged: true, Aliases: []string{"x" + p.Key}}}, nil
					}
					return []core.Change{{Approval: p, New: true}}, nil
				}))
			})
		}
		wg.Wait()
	}
	require.Equal(t, 50, count(t, a, "SELECT COUNT(*) FROM approvals"))
	require.Equal(t, 50, count(t, a, "SELECT COUNT(*) FROM approval_ids"))
}

// A grant that is dropped at one instance is not used at another afterwards: who
// drops it waits for those who have just found it.
func TestAdversary_W6_DroppedGrantHoldsEverywhere(t *testing.T) {
	a, b := two(t)
	g := core.Grant{ID: "g1", Owner: "bot", AgentID: "main", Kind: core.AlwaysGrant, Fingerprint: "f"}
	require.NoError(t, a.AddGrant(ctx, g, core.Event{Type: core.EventVote}))
	look := core.Lookup{Owner: "bot", AgentID: "main", Fingerprint: "f", Grants: true}
	using, use, used, dropped := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() {
		used <- a.Create(ctx, look, func(f core.Found) ([]core.Change, error) {
			if len(f.Grants) != 1 {
				return nil, fmt.Errorf("found %d grants", len(f.Grants))
			}
			close(using)
			<-use
			p := pendingApproval("bot")
			p.Status, p.ResolvedAtMs = core.Approved, nowMs()
			return []core.Change{{Approval: p, New: true, Events: []core.Event{event(p, core.EventResolved)}}}, nil
		})
	}()
	<-using
	go func() {
		_, err := b.DropGrants(ctx, core.GrantFilter{ID: "g1"}, func(core.Grant) core.Event { return core.Event{Type: core.EventRefused} })
		dropped <- err
	}()
	require.Eventually(t, func() bool {
		return count(t, a, "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") > 0
	}, 10*time.Second, 5*time.Millisecond, "the drop waits")
	close(use)
	require.NoError(t, <-used)
	require.NoError(t, <-dropped)
	require.Empty(t, found(t, a, look).Grants)
	log, err := a.Log(ctx, 0, 10)
	require.NoError(t, err)
	require.Equal(t, core.EventRefused, log[2].Type, "in the log too the use comes before the drop")
}

// Two instances drain one outbox: each card is posted once, one at a time in each
// chat, in order.
func TestInstancesDrainOnce(t *testing.T) {
	a, b := two(t)
	const chats, cards = 20, 6
	for i := range chats * cards {
		create(t, a, pendingApproval("bot"), core.Change{Deliveries: []core.Delivery{card(fmt.Sprint(i%chats), 1, int64(i+1))}})
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
	a, b := two(t)
	create(t, a, pendingApproval("bot"), core.Change{Deliveries: []core.Delivery{card("1", 1, 1)}})
	place, ok, _, err := a.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.True(t, ok)
	_, ok, next, err := b.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.False(t, ok, "it is held elsewhere")
	require.EqualValues(t, 100+lookAgainMs, next)

	require.NoError(t, a.ReleaseChat(ctx, place, 5000))
	a.presence.held[chatLease(place)].used = time.Time{}
	require.NoError(t, a.beat(ctx), "and gives it back, for it was of no use for so long")
	b.chats.elsewhere.stale()
	_, ok, next, err = b.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.False(t, ok)
	require.EqualValues(t, 5000, next)
	got, ok, _, err := b.ClaimChat(ctx, "telegram", 5000)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, place, got)
}

// An instance that died loses its chats; should it come back, what it did there
// overwrites nothing.
func TestAdversary_P2_ChatOfADeadInstance(t *testing.T) {
	url := pgtest.New(t)
	a, b := frozen(t, url), openPG(t, url)
	p := create(t, b, pendingApproval("bot"), core.Change{Deliveries: []core.Delivery{card("1", 1, 1)}})
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
	b.chats.elsewhere.stale()
	_, ok, _, err = b.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, b.Record(ctx, sent(d, "posted by b")))
	require.NoError(t, b.ReleaseChat(ctx, place, 0))

	require.Equal(t, core.CodeUnavailable, core.CodeOf(a.Record(ctx, sent(d, "posted by a"))))
	require.NoError(t, a.beat(ctx))
	_, ok, err = a.NextDelivery(ctx, place, nowMs())
	require.NoError(t, err)
	require.False(t, ok, "it knows by now")
	p, err = b.Get(ctx, p.Key)
	require.NoError(t, err)
	require.Equal(t, "posted by b", p.Deliveries[0].MessageID)
}

// One at a time has a lease; it goes over at once when its holder stops, and after
// its death; every holder has a greater token.
func TestHoldOverInstances(t *testing.T) {
	url := pgtest.New(t)
	a, b := frozen(t, url), openPG(t, url)
	go b.Listen(t.Context(), func(Changed) {})
	type holder struct {
		who   string
		token int64
	}
	began, stop := make(chan holder), make(chan struct{})
	ended := make(chan error, 2)
	hold := func(s *Store, who string) {
		ended <- s.Hold(ctx, "telegram:1", func(ctx context.Context, token int64) error {
			began <- holder{who, token}
			select {
			case <-stop:
			case <-ctx.Done():
			}
			return nil
		})
	}
	go hold(a, "a")
	first := <-began
	go hold(b, "b")
	stop <- struct{}{}
	require.NoError(t, <-ended)
	second := <-began
	require.Equal(t, "b", second.who)
	require.Greater(t, second.token, first.token)
	stop <- struct{}{}
	require.NoError(t, <-ended)

	go hold(a, "a")
	third := <-began
	require.Equal(t, "a", third.who)
	bury(t, a)
	go hold(b, "b")
	fourth := <-began
	require.Equal(t, "b", fourth.who)
	require.Greater(t, fourth.token, third.token)
	require.NoError(t, a.beat(ctx)) // a learns of it, and waits again
	stop <- struct{}{}
	require.NoError(t, <-ended)
	require.Equal(t, "a", (<-began).who)
	stop <- struct{}{}
	require.NoError(t, <-ended)
}

// An instance that cannot reach its database gives up what it holds before others
// take it.
func TestHoldIsGivenUpInTime(t *testing.T) {
	a := frozen(t, pgtest.New(t))
	require.NoError(t, a.Hold(ctx, "timers", func(held context.Context, token int64) error {
		if token > 1 {
			return nil // again
		}
		a.presence.extend(time.Now().Add(-time.Second))
		<-held.Done()
		return nil
	}))
}

// What one instance commits, another hears of.
func TestListen(t *testing.T) {
	a, b := two(t)
	heard := make(chan Changed, 1000)
	listening, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.Listen(listening, func(c Changed) { heard <- c }) }()
	<-heard
	hears := func(key string) {
		t.Helper()
		for c := range heard {
			for _, k := range c.Keys {
				if k == key {
					return
				}
			}
		}
	}
	p := create(t, a, pendingApproval("bot"), core.Change{})
	_, err := a.Update(ctx, p.Key, vote)
	require.NoError(t, err)
	hears(p.Key)

	// The chats with work are known too, without a new look at all of them.
	place, ok, _, err := b.ClaimChat(ctx, "telegram", nowMs())
	require.NoError(t, err)
	require.False(t, ok)
	p = create(t, a, pendingApproval("bot"), core.Change{Deliveries: []core.Delivery{card("7", 1, 1)}, Events: []core.Event{{Type: core.EventRequested, Key: "new"}}})
	hears("new")
	place, ok, _, err = b.ClaimChat(ctx, "telegram", nowMs())
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "7", place.To)
	require.NoError(t, b.ReleaseChat(ctx, place, 0))

	// So is a chat that moved.
	to := chat1("-1007")
	require.NoError(t, a.Record(ctx, core.Delivered{ID: p.Deliveries[0].ID, State: core.Queued, DueMs: 1, MovedTo: &to}))
	for c := range heard {
		if c.Moved {
			break
		}
	}

	// The connection is lost, and what happened meanwhile is heard of.
	count(t, a, "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()")
	_, err = a.Update(ctx, p.Key, vote)
	require.NoError(t, err)
	hears(p.Key)
	stop()
	require.NoError(t, <-done)
}

// Instances judge by one policy: the newest that an operator loaded.
func TestAgree(t *testing.T) {
	a, b := two(t)
	require.Error(t, a.Agreed())
	require.NoError(t, a.Agree(ctx, "sha256:old", false))
	require.NoError(t, a.Agreed())
	require.NoError(t, b.Agree(ctx, "sha256:new", false))
	require.ErrorContains(t, b.Agreed(), "generation 1", "who comes later does not set the policy")
	require.NoError(t, a.beat(ctx))
	require.NoError(t, a.Agreed())
	require.NoError(t, b.Agree(ctx, "sha256:new", true))
	require.NoError(t, b.Agreed())
	require.NoError(t, a.beat(ctx))
	require.ErrorContains(t, a.Agreed(), "generation 2")
	require.NoError(t, a.Agree(ctx, "sha256:new", false))
	require.NoError(t, a.Agreed())

	// Where those with another policy are gone, the one that is left counts.
	require.NoError(t, a.Agree(ctx, "sha256:third", false))
	require.Error(t, a.Agreed())
	require.NoError(t, b.Close())
	require.NoError(t, a.beat(ctx))
	require.NoError(t, a.Agreed())
}

func TestInstancesKnowEachOther(t *testing.T) {
	a, b := two(t)
	for _, s := range []*Store{a, b} {
		require.NoError(t, s.Agree(ctx, "sha256:new", false))
	}
	all, err := a.Instances(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, i := range all {
		require.Equal(t, "sha256:new", i.PolicyHash)
		require.Equal(t, "test", i.Version)
	}
	require.Equal(t, all[0].KeyID, all[1].KeyID)
}

func TestAnotherKeyIsRefused(t *testing.T) {
	url := pgtest.New(t)
	openPG(t, url)
	o := pgOptions(t, url)
	require.NoError(t, os.WriteFile(o.KeyFile, make([]byte, keySize), 0o600))
	refused(t, o, "holds key", "was sealed with key")
}

// schemaWith is the schema with one step more.
func schemaWith(t *testing.T, next string) fs.FS {
	t.Helper()
	first, err := fs.ReadFile(migrations(), "00001_start.sql")
	require.NoError(t, err)
	return fstest.MapFS{"00001_start.sql": {Data: first}, "00002_next.sql": {Data: []byte(next)}}
}

// A program may be one schema ahead of those that run, where the step is safe for
// them; none may be behind.
func TestSchemaSteps(t *testing.T) {
	url := pgtest.New(t)
	s := openPG(t, url)
	require.NoError(t, s.beat(ctx))
	db := openPostgres(s.listen, pgConnector{}, nil).db
	defer db.Close()
	_, err := migrate(ctx, db, postgres, "desk", schemaWith(t, unsafe+"-- +goose Up\nDROP TABLE meta;\n"))
	require.ErrorContains(t, err, "schema 2 must not be set up while older programs run, and instance "+s.presence.id)
	require.Equal(t, 1, count(t, s, "SELECT COUNT(*) FROM meta"), "nothing was done")

	ahead, err := migrate(ctx, db, postgres, "desk", schemaWith(t, "-- +goose Up\nALTER TABLE approvals ADD COLUMN more TEXT;\n"))
	require.NoError(t, err)
	require.EqualValues(t, 2, ahead)
	create(t, s, pendingApproval("bot"), core.Change{}) // the older one goes on
	refused(t, pgOptions(t, url), "has schema 2", "only up to 1", "run the newer program")
}

// Of several that start on an empty database at once, one makes the schema.
func TestInstancesStartTogether(t *testing.T) {
	url := pgtest.New(t)
	var wg sync.WaitGroup
	for range 3 {
		o := pgOptions(t, url)
		wg.Go(func() {
			s, err := Open(ctx, o)
			require.NoError(t, err)
			require.NoError(t, s.Close())
		})
	}
	wg.Wait()
}
