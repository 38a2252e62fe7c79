package store

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// One at a time has a lease; it goes over at once when its holder stops, and after
// its death; every holder has a greater token.
func TestHoldOverInstances(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := frozen(t, url), openPG(t, url)
	go b.Listen(t.Context(), func(Changed) {})
	type holder struct {
		who   string
		token int64
	}
	began := make(chan holder)
	stop := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})} // a holder takes no other's
	ended := make(chan error, 2)
	hold := func(s *Store, who string) {
		ended <- s.Hold(ctx, "telegram:1", func(ctx context.Context, token int64) error {
			began <- holder{who, token}
			select {
			case <-stop[who]:
			case <-ctx.Done():
			}
			return nil
		})
	}
	go hold(a, "a")
	first := <-began
	go hold(b, "b")
	stop["a"] <- struct{}{}
	require.NoError(t, <-ended)
	second := <-began
	require.Equal(t, "b", second.who)
	require.Greater(t, second.token, first.token)
	stop["b"] <- struct{}{}
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
	stop["b"] <- struct{}{}
	require.NoError(t, <-ended)
	require.Equal(t, "a", (<-began).who)
	stop["a"] <- struct{}{}
	require.NoError(t, <-ended)
}

// An instance that cannot reach its database gives up what it holds before others
// take it.
func TestHoldIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	a := frozen(t, pgtest.New(t))
	require.NoError(t, a.Hold(ctx, "timers", func(held context.Context, token int64) error {
		if token > 1 {
			return nil // again
		}
		a.heartbeat.extend(time.Now().Add(-time.Second))
		<-held.Done()
		return nil
	}))
}

// Who was stopped for longer than its leases last does not keep them because the
// next thing it hears is good news; and a lease that took too long to get is none.
func TestLeasesLapseWhateverComesFirst(t *testing.T) {
	t.Parallel()
	newLease := func(name string) *lease { return &lease{name: name, lost: make(chan struct{})} }
	lost := func(l *lease) bool {
		select {
		case <-l.lost:
			return true
		default:
			return false
		}
	}
	slept := func() (*heartbeat, *lease) {
		p, old := newHeartbeat("a"), newLease("timers")
		p.held["timers"], p.until = old, time.Now().Add(-time.Second) // its timer is about to fire
		return &p, old
	}
	p, old := slept()
	p.extend(time.Now().Add(time.Hour))
	require.True(t, lost(old))
	require.Nil(t, p.holds("timers"))

	p, old = slept()
	l := newLease("sweep")
	p.gain(l, time.Now().Add(time.Hour))
	require.True(t, lost(old))
	require.Same(t, l, p.holds("sweep"))

	l = newLease("late")
	p.gain(l, time.Now().Add(-time.Second))
	<-l.lost
	require.Nil(t, p.holds("late"))
}

// A line that goes dead before notifications are on holds nobody up: what changes
// is asked for instead.
func TestListenOnADeadLine(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a := openPG(t, url)
	b, err := Open(ctx, pgOptions(t, url))
	require.NoError(t, err)
	dead, stop := silent(t)
	b.listen.Host, b.listen.Port, b.listen.Fallbacks = dead.IP.String(), uint16(dead.Port), nil
	b.listen.ConnectTimeout = time.Hour // as long as it takes
	start(t, b)
	heard, done := make(chan Changed, 1000), make(chan error, 1)
	listening, end := context.WithCancel(ctx)
	go func() { done <- b.Listen(listening, func(c Changed) { heard <- c }) }()
	<-heard
	p := create(t, a, pendingApproval("bot"), core.Change{})
	_, err = a.Update(ctx, p.Key, vote)
	require.NoError(t, err)
	for c := range heard {
		if slices.Contains(c.Keys, p.Key) {
			break
		}
	}
	end()
	require.NoError(t, <-done)
	stop()
}

// silent is an address where connections are taken and nothing is ever said.
func silent(t *testing.T) (*net.TCPAddr, func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return ln.Addr().(*net.TCPAddr), func() { ln.Close() }
}

// What one instance commits, another hears of.
func TestListen(t *testing.T) {
	t.Parallel()
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
	p = create(t, a, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("7", 1, 1)},
		Events: []approval.Event{{Type: approval.EventRequested, Key: "new"}}})
	hears("new")
	place, ok, _, err = b.ClaimChat(ctx, "telegram", nowMs())
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "7", place.To)
	require.NoError(t, b.ReleaseChat(ctx, place, 0))

	// So is a chat that moved.
	to := chat1("-1007")
	require.NoError(t, a.Record(ctx, approval.Delivered{ID: p.Deliveries[0].ID, Key: p.Key, State: approval.Queued, DueMs: 1, MovedTo: &to}))
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

// An instance answers requests before it listens, and who waits then is woken by what
// another one commits in between. What was there before it is no news.
func TestListenFromTheOpening(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a := openPG(t, url)
	p, old := create(t, a, pendingApproval("bot"), core.Change{}), pendingApproval("bot")
	require.NoError(t, a.Append(ctx, nil, event(old, approval.EventVote)))
	b := openPG(t, url)
	gate := core.NewGate(b.CoreStores(), core.Rules{}, slog.New(slog.DiscardHandler))
	w := gate.Watch(p.Key)
	defer w.Stop()
	seen, err := w.Look(ctx, false)
	require.NoError(t, err)
	require.False(t, seen.Final())
	require.NoError(t, settle(a, p.Key, approval.Approved))

	heard, done := make(chan Changed, 1000), make(chan error, 1)
	listening, stop := context.WithCancel(ctx)
	go func() { done <- b.Listen(listening, func(c Changed) { heard <- c }) }()
	last, all := pendingApproval("bot"), []string(nil)
	for !slices.Contains(all, last.Key) {
		c := <-heard
		gate.Upkeep().Wake(ctx, c.Keys...)
		if all == nil {
			all = []string{}
			require.NoError(t, a.Append(ctx, nil, event(last, approval.EventVote)))
		}
		all = append(all, c.Keys...)
	}
	select {
	case <-w.Changed():
	default:
		t.Error("nobody woke who waited before there were notifications")
	}
	require.NotContains(t, all, old.Key)
	stop()
	require.NoError(t, <-done)
}

// Who waits for what another instance ends is woken with it and looks no more. What is still pending wakes none.
func TestWakeWithWhatAnotherInstanceEnded(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := openPG(t, url), openPG(t, url)
	gate := core.NewGate(b.CoreStores(), core.Rules{}, slog.New(slog.DiscardHandler))
	p, q := create(t, a, pendingApproval("bot"), core.Change{}), create(t, a, pendingApproval("bot"), core.Change{})
	var watches []*core.Watch
	for _, key := range []string{p.Key, q.Key} {
		w := gate.Watch(key)
		defer w.Stop()
		_, err := w.Look(ctx, false)
		require.NoError(t, err)
		watches = append(watches, w)
	}
	require.NoError(t, settle(a, p.Key, approval.Approved))
	gate.Upkeep().Wake(ctx, q.Key, p.Key, pendingApproval("bot").Key)
	<-watches[0].Changed()
	select {
	case <-watches[1].Changed():
		t.Error("a pending approval woke who waits for its end")
	default:
	}
	require.NoError(t, b.read.db.Close())
	seen, err := watches[0].Look(ctx, false)
	require.NoError(t, err)
	require.Equal(t, approval.Approved, seen.Status)

	gate.Upkeep().Wake(ctx, p.Key)
	<-watches[0].Changed()
	_, err = watches[0].Look(ctx, false)
	require.Error(t, err, "what could not be read together is looked up by each")
}

// News that could be read in part only is told in whole, later.
func TestListenReadsAgainWhatFailed(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	// It goes along the index, and sees what fails when it gets there.
	a, b := openPG(t, url), openPG(t, url+"&enable_sort=off")
	first := pendingApproval("bot")
	require.NoError(t, a.Append(ctx, nil, event(first, approval.EventVote)))
	require.NoError(t, a.Append(ctx, nil, slices.Repeat([]approval.Event{event(pendingApproval("bot"), approval.EventVote)}, logPage)...))
	do := func(statements ...string) {
		t.Helper()
		require.NoError(t, a.do(ctx, func(tx *tx) error {
			for _, text := range statements {
				if _, err := tx.exec(text); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	var heard []string
	l := &listener{store: b, head: b.opened, changed: func(c Changed) { heard = append(heard, c.Keys...) }}
	do("ALTER TABLE events RENAME TO sound",
		fmt.Sprintf("CREATE FUNCTION legible(n BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql AS 'BEGIN RETURN n <= %d OR 1/(n-n) > 0; END'", logPage),
		"CREATE VIEW events AS SELECT seq, key FROM sound WHERE legible(seq)")
	l.poll(ctx)
	require.Empty(t, heard)
	do("DROP VIEW events", "ALTER TABLE sound RENAME TO events")
	l.poll(ctx)
	require.Contains(t, heard, first.Key)
}
