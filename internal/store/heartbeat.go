package store

import (
	"maps"
	"slices"
	"strconv"
	"strings"
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
	lock    int64 // that this instance holds, see lease_lock.go; 0: no lock
	held    map[string]*lease
	leaving []*lease         // of chats: not held any more, and the database does not know that yet
	serving map[string]int64 // tokens of chats that a dispatcher works on
	freed   chan struct{}    // closed when somebody has given something back
	policy  policyVersion

	lockUntil  time.Time // the lock may be counted on
	lockExpiry *time.Timer
	changed    chan struct{}          // a lock was acquired or lost
	free       map[heldLock]time.Time // of others: since when they are seen free
	dead       map[heldLock]struct{}  // of those: what is held under them can be taken

	reading sync.Mutex // held while policy is read; taken before mu
}

// lease is one thing held.
type lease struct {
	name  string
	token int64
	lock  int64         // under which it is held; 0: no lock
	used  time.Time     // of a chat: when it was last claimed or released
	lost  chan struct{} // closed when it is not held any more
}

func newHeartbeat(id string) heartbeat {
	return heartbeat{id: id, held: map[string]*lease{}, serving: map[string]int64{}, freed: make(chan struct{}),
		changed: make(chan struct{}, 1)}
}

// extend sets until when this instance may count on the leases that it holds.
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

// lapse is expire with mu held. After the process was stopped for long, a caller may come
// here before the timer fires. The leases from before the stop are then dropped first, so
// that a newer answer of the database does not revive them.
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

// leases gives the leases that this instance holds.
func (h *heartbeat) leases() []*lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.held))
}

// keep drops the leases that the database knows under another token, or does not know:
// another instance had them in between.
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

// wait gives a channel that is closed when any lease is given back.
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

// heldLock is the lock of an instance, of others the number by which their row names it.
type heldLock struct {
	instance string
	number   int64
}

// String is how take compares it with a lease's row.
func (l heldLock) String() string { return l.instance + " " + strconv.FormatInt(l.number, 10) }

const lockFree = 2 * time.Second // after it was seen free, others take what is held under it

// sawFree notes which locks are free, and gives those that have become dead.
func (h *heartbeat) sawFree(free []heldLock, now time.Time) (dead []heldLock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := make(map[heldLock]time.Time, len(free))
	for _, l := range free {
		since, known := h.free[l]
		if !known {
			since = now
		}
		seen[l] = since
		if _, said := h.dead[l]; !said && now.Sub(since) >= lockFree {
			dead = append(dead, l)
		}
	}
	h.free = seen
	h.dead = map[heldLock]struct{}{}
	for l, since := range seen {
		if now.Sub(since) >= lockFree {
			h.dead[l] = struct{}{}
		}
	}
	return dead
}

// deadLocks are the locks whose leases can be taken, written as take compares them.
func (h *heartbeat) deadLocks() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for l := range h.dead {
		all = append(all, l.String())
	}
	return array(all)
}

// lockIs notes a lock that this instance holds, and has the others told of it.
func (h *heartbeat) lockIs(number int64, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lock, h.lockUntil = number, until
	h.lockExpiry = time.AfterFunc(time.Until(until), h.expire)
	h.tell()
}

// tell has the next beat come at once; mu is held.
func (h *heartbeat) tell() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// renewLock says until when the lock may be counted on. False: it was given up already.
func (h *heartbeat) renewLock(number int64, until time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lapse(); h.lock != number {
		return false
	}
	h.lockUntil = until
	h.lockExpiry.Reset(time.Until(until))
	return true
}

// unlock gives a lock up, and all that is held under it.
func (h *heartbeat) unlock(number int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lockExpiry.Stop()
	if h.lock == number {
		h.lock = 0
	}
	h.lapse()
	h.tell()
}

// lockNumber is the lock that this instance holds; 0: no lock.
func (h *heartbeat) lockNumber() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lapse()
	return h.lock
}

// trusts reports whether a lease may be counted on; mu is held.
func (h *heartbeat) trusts(l *lease) bool {
	now := time.Now()
	locked := l.lock == 0 || l.lock == h.lock && now.Before(h.lockUntil)
	return locked && now.Before(h.until)
}

// serve notes that a dispatcher works on the chat of a lease.
func (h *heartbeat) serve(l *lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving[l.name] = l.token
}

// unserve notes that it does so no more.
func (h *heartbeat) unserve(name string) (token int64, served bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	token, served = h.serving[name]
	delete(h.serving, name)
	if l := h.held[name]; l != nil {
		l.used = time.Now()
	}
	return token, served
}

// servedAs gives the token under which a chat was claimed.
func (h *heartbeat) servedAs(name string) (token int64, served bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	token, served = h.serving[name]
	return token, served
}

// mayServe reports whether a chat is still whose it was when it was claimed; yes
// for one that was not.
func (h *heartbeat) mayServe(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	token, served := h.serving[name]
	if !served {
		return true
	}
	l := h.held[name]
	return l != nil && l.token == token && h.trusts(l)
}

func (h *heartbeat) policyHash() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.policy.own
}

func isChat(lease string) bool { return strings.HasPrefix(lease, "chat ") }
