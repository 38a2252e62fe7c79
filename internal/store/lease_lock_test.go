package store

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/store/pgtest"
)

// lockOf waits until an instance has told the others of a lock other than that one.
func lockOf(t *testing.T, s *Store, not int64) (number int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := s.read.db.QueryRow("SELECT lock_no FROM instances WHERE id = $1", s.heartbeat.id).Scan(&number)
		return err == nil && number != 0 && number != not
	}, patient, time.Millisecond)
	return number
}

// locked is an instance that has a lock and never shows itself again by itself. To the others
// its last sign of life will never be old: only the lock can tell of its death.
func locked(t *testing.T, url string) (s *Store, kill func()) {
	t.Helper()
	s = frozen(t, url)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); s.keepLock(ctx) }()
	kill = sync.OnceFunc(func() { stop(); <-ended })
	t.Cleanup(kill)
	<-s.heartbeat.changed
	everSeen(t, s)
	return s, kill
}

// everSeen is a beat whose time never runs out.
func everSeen(t *testing.T, s *Store) {
	t.Helper()
	require.NoError(t, s.beat(ctx))
	s.heartbeat.extend(time.Now().Add(time.Hour))
	require.NoError(t, s.do(ctx, func(tx *tx) error {
		_, err := tx.exec("UPDATE instances SET seen_ms = seen_ms + 3600000 WHERE id = $1", s.heartbeat.id)
		return err
	}))
}

// taken is a lease that an instance can take now.
func taken(t *testing.T, s *Store, name string) *lease {
	t.Helper()
	l, _, err := s.take(ctx, name)
	require.NoError(t, err)
	return l
}

// The connection of a dead instance ends, and with it its lock: others take what it held
// though it was seen a moment ago, named leases and chats.
func TestAdversary_P2_TheLockTellsOfADeath(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, kill := locked(t, url)
	b := openPG(t, url)
	go b.Listen(t.Context(), func(Changed) {})
	old := taken(t, a, "hold telegram:1")
	require.NotNil(t, old)
	require.NotNil(t, taken(t, a, "chat telegram:1"))
	everSeen(t, a)
	require.Nil(t, taken(t, b, "hold telegram:1"))
	kill()
	<-old.lost
	err := b.Hold(ctx, "telegram:1", func(_ context.Context, token int64) error {
		require.Greater(t, token, old.token)
		holder, err := b.Holder(ctx, "telegram:1")
		require.Equal(t, b.ID(), holder)
		return err
	})
	require.NoError(t, err)
	require.NotNil(t, taken(t, b, "chat telegram:1"))
}

// What is held goes on when the lock is another, and is under that one then. What was taken
// under none waits for ten seconds, and so does a holder that took its lease again when the
// others had already given it up.
func TestAdversary_P2_NoLeaseOfALivingHolderIsTaken(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, kill := locked(t, url)
	b := frozen(t, url) // it looks after locks when it is told to
	early, lost := taken(t, a, "hold timers"), taken(t, a, "hold sweep")
	first := lockOf(t, a, 0)
	kill()
	<-early.lost
	<-lost.lost
	<-a.heartbeat.changed
	require.Empty(t, b.heartbeat.sawFree([]heldLock{{a.ID(), first}}, time.Now()))
	require.Len(t, b.heartbeat.sawFree([]heldLock{{a.ID(), first}}, time.Now().Add(lockFree)), 1)
	again := taken(t, a, "hold timers") // under no lock, and nobody has been quicker
	require.NotNil(t, again)
	require.Nil(t, taken(t, b, "hold timers"), "its row says another lock than the one that is dead")
	require.Zero(t, count(t, b, "SELECT lock_no FROM leases WHERE name = 'hold timers'"))

	// An older program knows of no locks, and leaves the number of a dead one where it was.
	require.NoError(t, b.do(ctx, func(tx *tx) error {
		_, err := tx.exec(showSelf, "old", "0.1.0", 9, "", "", 0)
		if err == nil {
			_, err = tx.exec("UPDATE leases SET holder = 'old', token = token + 1 WHERE name = 'hold sweep'")
		}
		return err
	}))
	require.EqualValues(t, first, count(t, b, "SELECT lock_no FROM leases WHERE name = 'hold sweep'"))
	require.Nil(t, taken(t, b, "hold sweep"))

	held, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); a.keepLock(held) }()
	defer func() { stop(); <-ended }()
	<-a.heartbeat.changed
	everSeen(t, a)
	require.EqualValues(t, lockOf(t, a, first), count(t, b, "SELECT lock_no FROM leases WHERE name = 'hold timers'"))
	require.NotNil(t, a.heartbeat.holds("hold timers"))
	require.Equal(t, again.token, a.heartbeat.holds("hold timers").token)
	require.Nil(t, taken(t, b, "hold timers"))
}

// An administrator ends the connection of the lock: the instance gives up what it holds, has
// another lock soon, and takes it again or leaves it to another; never are two at it.
func TestAdversary_P2_TheLockIsEndedUnderALivingHolder(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a, b := openPG(t, url), openPG(t, url)
	first := lockOf(t, a, 0)
	var at atomic.Int32
	began := make(chan struct{}, 100)
	holding, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, s := range []*Store{a, b} {
		all.Go(func() {
			require.NoError(t, s.Hold(holding, "timers", func(ctx context.Context, _ int64) error {
				require.EqualValues(t, 1, at.Add(1), "two are at it")
				began <- struct{}{}
				<-ctx.Done()
				at.Add(-1)
				return nil
			}))
		})
	}
	<-began
	count(t, b, "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND (CAST(classid AS BIGINT) << 32) + CAST(objid AS BIGINT) = $1", first)
	lockOf(t, a, first)
	stop()
	all.Wait()
}

// Nothing comes through between an instance and its database, and no connection ends: it
// stops counting on its lock, and nobody takes what it held, for the server sees no end either.
func TestAdversary_P2_ACutThatNeitherSideSees(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	way := newWay(t, url, nil)
	a, b := frozen(t, url), openPG(t, url)
	way.reach(a)
	cut, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); a.keepLock(cut) }()
	defer func() { stop(); <-ended }()
	<-a.heartbeat.changed
	l := taken(t, a, "hold timers")
	require.NotNil(t, l)
	everSeen(t, a) // a lease that is taken is trusted for eight seconds, whatever was said before
	way.cut.Lock()
	defer way.cut.Unlock()
	<-l.lost
	require.Nil(t, a.heartbeat.holds("hold timers"))
	require.Nil(t, taken(t, b, "hold timers"))
}

// Behind a pooler a lock is the pool's: an instance there has none.
func TestAdversary_P2_NoLockBehindAPooler(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	a := frozen(t, url)
	newWay(t, url, func(kind byte, body []byte) {
		if kind == 'K' { // a pooler gives its clients keys of its own
			binary.BigEndian.PutUint32(body, binary.BigEndian.Uint32(body)+1)
		}
	}).reach(a)
	require.ErrorIs(t, a.holdLock(ctx), errPooled)
	require.Zero(t, a.heartbeat.lockNumber())
}

// An instance that stood still finds its time over whatever it does first, and does not go on
// with a lock that it could not look after.
func TestAdversary_P2_ALockLapses(t *testing.T) {
	t.Parallel()
	slept := func() (*heartbeat, *lease) {
		h, l := newHeartbeat("a"), &lease{name: "chat telegram:1", lock: 7, token: 1, lost: make(chan struct{})}
		h.extend(time.Now().Add(time.Hour))
		h.lockIs(7, time.Now().Add(time.Hour))
		h.gain(l, time.Now().Add(time.Hour))
		h.serve(l)
		require.True(t, h.mayServe(l.name))
		h.lockUntil = time.Now().Add(-time.Second) // its timer is about to fire
		return &h, l
	}
	for what, do := range map[string]func(*heartbeat, *lease){
		"serve": func(h *heartbeat, l *lease) { require.False(t, h.mayServe(l.name)) },
		"hold":  func(h *heartbeat, l *lease) { require.Nil(t, h.holds(l.name)) },
		"renew": func(h *heartbeat, l *lease) { require.False(t, h.renewLock(7, time.Now().Add(time.Hour))); <-l.lost },
		"tell":  func(h *heartbeat, l *lease) { require.Zero(t, h.lockNumber()); <-l.lost },
		"gain": func(h *heartbeat, l *lease) {
			next := &lease{name: "hold timers", lock: 7, lost: make(chan struct{})}
			h.gain(next, time.Now().Add(time.Hour))
			<-l.lost
			<-next.lost
		},
	} {
		t.Run(what, func(t *testing.T) { do(slept()) })
	}
}

// way is TCP to a database, through which nothing comes while cut is held.
type way struct {
	cut sync.RWMutex
	ln  *net.TCPAddr
}

// newWay gives a way on which change may alter what the server says before its first
// ReadyForQuery.
func newWay(t *testing.T, database string, change func(kind byte, body []byte)) *way {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{ln: ln.Addr().(*net.TCPAddr)}
	var all sync.WaitGroup
	t.Cleanup(func() { ln.Close(); all.Wait() })
	all.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", path.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port")))
			require.NoError(t, err)
			all.Go(func() { w.carry(out, in) })
			all.Go(func() {
				if change != nil {
					w.greet(in, out, change)
				}
				w.carry(in, out)
			})
		}
	})
	return w
}

// greet carries the server's messages up to ReadyForQuery.
func (w *way) greet(to, from net.Conn, change func(kind byte, body []byte)) {
	for kind := byte(0); kind != 'Z'; {
		head := make([]byte, 5)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		kind = head[0]
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		change(kind, body)
		to.Write(append(head, body...))
	}
}

func (w *way) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		w.cut.RLock()
		_, failed := to.Write(b[:n])
		w.cut.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}

// reach has an instance make new connections of its own this way.
func (w *way) reach(s *Store) {
	s.listen.Host, s.listen.Port, s.listen.Fallbacks = w.ln.IP.String(), uint16(w.ln.Port), []*pgconn.FallbackConfig(nil)
	s.listen.TLSConfig = nil
}
