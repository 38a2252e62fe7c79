package store

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// What an instance holds is its own for as long as the database has seen it
// lately. It shows itself often enough to miss two times, and itself stops
// counting on what it holds well before others may take it.
const (
	leaseMs    = 10_000 // after it was last seen, others may take what it holds
	beatEvery  = 3 * time.Second
	beatAgain  = 500 * time.Millisecond // after one that failed
	trustFor   = 8 * time.Second        // after a beat began that succeeded
	restAfter  = 5 * time.Second        // a chat's lease is given back when it was of no use for so long
	goodbyeFor = 2 * time.Second
	forgetMs   = 24 * 60 * 60 * 1000 // an instance that was not seen for so long
)

// heartbeat is this instance among those on one database, and what it holds.
type heartbeat struct {
	id string

	mu      sync.Mutex
	until   time.Time // what is held is this instance's own, by this machine's clock
	expiry  *time.Timer
	lock    int64 // that this instance holds, see lease_lock.go; 0: none
	held    map[string]*lease
	leaving []*lease         // of chats: not held any more, and the database does not know that yet
	serving map[string]int64 // tokens of chats that a dispatcher works on
	freed   chan struct{}    // closed when somebody has given something back
	policy  policyVersion

	lockUntil  time.Time // the lock may be counted on
	lockExpiry *time.Timer
	changed    chan struct{}          // there is a lock, or none any more
	free       map[heldLock]time.Time // of others: since when they are seen free
	dead       map[heldLock]struct{}  // of those: what is held under them can be taken

	reading sync.Mutex // held while policy is read; taken before mu
}

// lease is one thing held.
type lease struct {
	name  string
	token int64
	lock  int64         // under which it is held; 0: none
	used  time.Time     // of a chat: when it was last claimed or released
	lost  chan struct{} // closed when it is not held any more
}

func newHeartbeat(id string) heartbeat {
	return heartbeat{id: id, held: map[string]*lease{}, serving: map[string]int64{}, freed: make(chan struct{}),
		changed: make(chan struct{}, 1)}
}

// extend says until when what is held may be counted on.
func (h *heartbeat) extend(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lapse()
	h.trust(until)
}

// gain notes a lease that was just taken, and until when all may be counted on.
func (h *heartbeat) gain(l *lease, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lapse()
	if old := h.held[l.name]; old != nil {
		h.forget(old)
	}
	h.held[l.name] = l
	h.trust(until)
	h.lapse() // only now: should that be over already, or the lock be lost, this one goes too
}

// trust sets the time; mu is held.
func (h *heartbeat) trust(until time.Time) {
	h.until = until
	if h.expiry != nil {
		h.expiry.Stop()
	}
	h.expiry = time.AfterFunc(time.Until(until), h.expire)
}

// expire gives up what may not be counted on any more.
func (h *heartbeat) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lapse()
}

// lapse is expire with mu held. Who was stopped for long may come here before the
// timer does: what was held then is not to be counted on because of what was
// heard since.
func (h *heartbeat) lapse() {
	if !time.Now().Before(h.lockUntil) {
		h.lock = 0
	}
	for _, l := range h.held {
		if h.trusts(l) {
			continue
		}
		if h.forget(l); isChat(l.name) { // others wait for their own again
			h.leaving = append(h.leaving, l)
		}
	}
}

// forget drops a lease; mu is held.
func (h *heartbeat) forget(l *lease) {
	if h.held[l.name] == l {
		delete(h.held, l.name)
		close(l.lost)
	}
}

// leases gives what is held.
func (h *heartbeat) leases() []*lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.held))
}

// keep drops those that the database knows under no token, or under another:
// they were somebody else's in between.
func (h *heartbeat) keep(leases []*lease, tokens map[string]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range leases {
		if tokens[l.name] != l.token {
			h.forget(l)
		}
	}
}

// holds gives the lease of that name, if it is held and may be counted on.
func (h *heartbeat) holds(name string) *lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.held[name]
	if l == nil || !h.trusts(l) {
		return nil
	}
	l.used = time.Now()
	return l
}

// wait gives what is closed when somebody gives something back.
func (h *heartbeat) wait() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.freed
}

func (h *heartbeat) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.freed)
	h.freed = make(chan struct{})
}

// idle drops the leases of chats that were of no use for a while, and gives all that are to be given
// back: these, and those that could not be counted on any more.
func (h *heartbeat) idle() (names []string, tokens []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.held {
		if _, busy := h.serving[l.name]; !busy && isChat(l.name) && time.Since(l.used) > restAfter {
			h.leaving = append(h.leaving, l)
			h.forget(l)
		}
	}
	for _, l := range h.leaving {
		names, tokens = append(names, l.name), append(tokens, l.token)
	}
	return names, tokens
}

// gave notes that the database knows of those.
func (h *heartbeat) gave(names []string, tokens []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaving = slices.DeleteFunc(h.leaving, func(l *lease) bool {
		i := slices.Index(names, l.name)
		return i >= 0 && tokens[i] == l.token
	})
}

const (
	showSelf = `INSERT INTO instances (id, started_ms, seen_ms, version, schema_no, policy_hash, key_id, lock_no)
 VALUES ($1, ` + databaseTime + `, ` + databaseTime + `, $2, $3, $4, $5, $6)
 ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms, policy_hash = excluded.policy_hash, lock_no = excluded.lock_no`
	forgetOthers = `DELETE FROM instances WHERE seen_ms < ` + databaseTime + ` - $1`
	leaveSelf    = `DELETE FROM instances WHERE id = $1`
	heldBySelf   = `SELECT name, token FROM leases WHERE holder = $1`
	giveBack     = `UPDATE leases SET holder = '' WHERE holder = $1 AND (name, token) IN (
 SELECT * FROM unnest(CAST($2 AS TEXT[]), CAST($3 AS BIGINT[])))`
)

// beat shows that this instance lives, gives back what it does not need, and
// learns what it still has and which policy counts.
func (s *Store) beat(ctx context.Context) error {
	began := time.Now()
	idle, idleTokens := s.heartbeat.idle()
	leases := s.heartbeat.leases()
	var tokens map[string]int64
	err := s.queue(ctx, &job{do: func(t *tx) (err error) {
		lock := s.heartbeat.lockNumber()
		if err := t.show(s, lock); err != nil {
			return err
		}
		if err := t.putUnder(&s.heartbeat, lock, leases); err != nil {
			return err
		}
		if len(idle) > 0 {
			if _, err := t.exec(giveBack, s.heartbeat.id, array(idle), array(idleTokens)); err != nil {
				return err
			}
		}
		tokens, err = t.tokens(s.heartbeat.id)
		return err
	}})
	if err != nil {
		return err
	}
	s.heartbeat.gave(idle, idleTokens)
	s.heartbeat.extend(began.Add(trustFor))
	s.heartbeat.keep(leases, tokens)
	return s.refreshPolicy(ctx)
}

// show writes that this instance lives, and which lock it holds.
func (t *tx) show(s *Store, lock int64) error {
	_, err := t.exec(showSelf, s.heartbeat.id, s.version, s.schema, s.heartbeat.policyHash(), t.keys.id, lock)
	return err
}

func (t *tx) tokens(holder string) (map[string]int64, error) {
	rows, err := t.rows(heldBySelf, holder)
	if err != nil {
		return nil, err
	}
	all := map[string]int64{}
	err = each(rows, func() error {
		var name text
		var token number
		err := rows.Scan(&name, &token)
		all[string(name)] = int64(token)
		return err
	})
	return all, err
}

// live shows this instance until ctx ends.
func (s *Store) live(ctx context.Context) {
	first := true
	for {
		wait := beatEvery
		err := s.beat(ctx)
		if err == nil && first {
			err = s.do(ctx, func(t *tx) error { _, err := t.exec(forgetOthers, forgetMs); return err })
			first = err != nil
		}
		if err != nil {
			wait = beatAgain
		}
		select {
		case <-time.After(wait):
		case <-s.heartbeat.changed:
		case <-ctx.Done():
			return
		}
	}
}

// leave gives everything back at once, as the last thing that is written.
func (s *Store) leave() {
	j := &job{done: make(chan outcome, 1), do: func(t *tx) error {
		if _, err := t.exec(leaveSelf, s.heartbeat.id); err != nil {
			return err
		}
		return t.notify(note{From: s.heartbeat.id, Freed: true})
	}}
	s.commit([]*job{j})
	s.heartbeat.mu.Lock()
	defer s.heartbeat.mu.Unlock()
	s.heartbeat.until = time.Time{}
	if s.heartbeat.expiry != nil {
		s.heartbeat.expiry.Stop()
	}
	for _, l := range s.heartbeat.held {
		s.heartbeat.forget(l)
	}
}
