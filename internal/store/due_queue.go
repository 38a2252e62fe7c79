package store

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"approvalbot/internal/approval"
)

// dueQueue says which chat wants work first. The deliveries are the truth; this remembers
// of each chat what is due there. If this process alone writes, every commit tells the
// queue the new state of its deliveries, and the queue reads from the database only what
// the last process left and what a list here is too short for. If instances share the
// database, a commit only names the chats to look up again. Holds and pauses are kept
// here too. With SQLite that is all: one process has the store, and after a restart no
// chat is held and a pause is learned again. If instances share the database, an instance
// must also have the chat's lease: see chat_lease.go.
type dueQueue struct {
	alone   bool       // this process alone writes
	claim   sync.Mutex // held over a whole claim
	foreign foreignLeases
	keys    keyring
	fail    func(ctx context.Context, doubted []approval.Delivery) error

	mu    sync.Mutex // never held over a query: the commit loop takes it
	known map[approval.Target]*chat
	all   bool // every chat with work is known
}

// chat is what is known of one chat.
type chat struct {
	// Guarded by dueQueue.claim.
	held        bool
	taken       bool // by another instance, as far as this one knows
	pausedUntil int64

	// Guarded by dueQueue.mu.
	stale   bool // look again
	touches int
	list    []waiting // what wants work, most urgent first
	whole   bool      // the list has all that was due at atMs
	atMs    int64
	next    int64 // when more falls due than is in the list; 0: never
}

const (
	queueLength = 64 // of a chat's list
	// How long a list is used that not every commit updates: later, something more urgent may have fallen due.
	queueMs = 20
)

// touch takes over what a commit says.
func (q *dueQueue) touch(news []waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range news {
		t := w.Target.Chat()
		if t == (approval.Target{}) {
			q.forget()
			continue
		}
		k := q.of(t)
		k.touches++
		says := q.alone && w.ID != "" || w.done()
		if k.stale = k.stale || !says; !k.stale {
			k.put(w)
		}
	}
}

// forget has everything looked at again.
func (q *dueQueue) forget() {
	q.all = false
	for _, k := range q.known {
		k.stale = true
		k.touches++
	}
}

// of gives what is known of a chat. When all chats with work are known, no delivery is
// due in any other chat.
func (q *dueQueue) of(t approval.Target) *chat {
	k := q.known[t]
	if k == nil {
		k = &chat{stale: !q.alone || !q.all, whole: true}
		q.known[t] = k
	}
	return k
}

// put takes over the present state of a delivery.
func (k *chat) put(w waiting) {
	if i := slices.IndexFunc(k.list, func(o waiting) bool { return o.ID == w.ID }); i >= 0 {
		if o := k.list[i]; w.Version == 0 && o.Revision == w.Revision {
			w.Version = o.Version
		}
		k.list = slices.Delete(k.list, i, i+1)
	}
	if w.DueMs == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(k.list, w, waiting.before)
	if i == len(k.list) && !k.whole {
		return // others that are not in the list may come before it
	}
	if k.list = slices.Insert(k.list, i, w); len(k.list) > queueLength {
		k.list, k.whole, k.atMs = k.list[:queueLength], false, nowMs()
	}
}

// first gives the most urgent of the list; -1 if no entry is due, and then when to look
// again; 0: never.
func (k *chat) first(now int64) (i int, next int64) {
	next = k.next
	for i := range k.list {
		switch w := &k.list[i]; {
		case w.taken:
		case w.DueMs <= now:
			return i, 0
		case next == 0 || w.DueMs < next:
			next = w.DueMs
		}
	}
	return -1, next
}

// blank reports whether the list does not say whether there is anything to do.
func (k *chat) blank(now int64) bool {
	if k.stale || k.next != 0 && k.next <= now {
		return true
	}
	i, _ := k.first(now)
	return i < 0 && !k.whole
}

// If a statement compares deliveries.channel with a bare parameter, SQLite cannot tell
// without its value whether a partial index on one channel holds all that is asked for,
// and plans the statement anew for every value bound. A cast says that no such index
// does. A parameter behind LIMIT costs the same.
const (
	chatsWithWork = `SELECT DISTINCT channel, chat FROM deliveries WHERE due_ms > 0`
	nextDue       = `SELECT MIN(due_ms) FROM deliveries
 WHERE channel = CAST($1 AS TEXT) AND chat = $2 AND due_ms > 0 AND due_ms > $3`
	dueDeliveries = `SELECT ` + deliveryColumns + `, d.turn, d.since_ms, a.version
 FROM deliveries d JOIN approvals a ON a.key = d.key
 WHERE d.channel = CAST($1 AS TEXT) AND d.chat = $2 AND d.due_ms > 0 AND d.due_ms <= $3
 ORDER BY d.turn, d.since_ms, d.id LIMIT CAST($4 AS BIGINT)`
)

// idle reports whether all that is due in a chat has been taken from it.
func (q *dueQueue) idle(t approval.Target, now int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.known[t]
	if k == nil || k.blank(now) {
		return false
	}
	i, _ := k.first(now)
	return i < 0
}

// find gives what is known of a chat, or nil.
func (q *dueQueue) find(t approval.Target) *chat {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.known[t]
}

// hold gives a chat to the caller that claims it. Another instance may have worked on it
// until now.
func (q *dueQueue) hold(k *chat) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k.held = true
	k.stale = k.stale || !q.alone
}

// best gives the chat to claim, or nil and the time to look again.
func (q *dueQueue) best(channel string, now int64) (place approval.Target, best *chat, next int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	soon := int64(math.MaxInt64)
	var first waiting
	for t, k := range q.known {
		if k.held || t.Channel != channel {
			continue
		}
		i, next := k.first(now)
		switch {
		case i < 0 && next == 0:
			if k.pausedUntil <= now && !k.stale {
				delete(q.known, t)
			}
		case i < 0 || k.pausedUntil > now:
			soon = min(soon, max(next, k.pausedUntil))
		case k.taken:
			soon = min(soon, now+foreignMs)
		case best == nil || k.list[i].before(first) < 0:
			best, place, first = k, t, k.list[i]
		}
	}
	if soon == math.MaxInt64 {
		soon = 0
	}
	return place, best, soon
}

// refresh looks up what is due in those of the channel's chats of which that is not
// known. A chat that is held is looked up after its release.
func (d *dueQueue) refresh(ctx context.Context, q querier, channel string, now int64) error {
	if err := d.discover(ctx, q); err != nil {
		return err
	}
	for _, t := range d.blank(channel, now) {
		if err := d.look(ctx, q, t, now); err != nil {
			return err
		}
	}
	return nil
}

func (q *dueQueue) blank(channel string, now int64) (list []approval.Target) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for t, k := range q.known {
		if t.Channel == channel && !k.held && k.blank(now) {
			list = append(list, t)
		}
	}
	return list
}

// discover makes every chat that has work known.
func (d *dueQueue) discover(ctx context.Context, q querier) error {
	d.mu.Lock()
	all := d.all
	d.all = true // what commits say from now on counts: the query may not see it
	d.mu.Unlock()
	if all {
		return nil
	}
	rows, err := q.query(ctx, chatsWithWork)
	if err == nil {
		err = each(rows, func() error {
			var t approval.Target
			err := rows.Scan((*text)(&t.Channel), (*text)(&t.To))
			d.touch([]waiting{anything(t)})
			return err
		})
	}
	if err != nil {
		d.touch(anyChats)
	}
	return err
}

// look finds out what is due in a chat.
func (d *dueQueue) look(ctx context.Context, q querier, t approval.Target, now int64) error {
	d.mu.Lock()
	k := d.of(t)
	touches := k.touches
	d.mu.Unlock()
	list, err := d.dueIn(ctx, q, t, now)
	if err != nil {
		return err
	}
	whole := len(list) < queueLength
	var next number
	if len(list) == 0 || whole && d.alone {
		rows, err := q.query(ctx, nextDue, t.Channel, t.To, now)
		if err != nil {
			return err
		}
		if _, err = one(rows, &next); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	again := d.of(t)
	for i, w := range list { // its record may be on its way
		list[i].taken = slices.ContainsFunc(again.list, func(o waiting) bool {
			return o.taken && o.ID == w.ID && o.Revision == w.Revision
		})
	}
	again.list, again.whole, again.atMs, again.next = list, whole, now, int64(next)
	again.stale = again != k || k.touches != touches // what it was told meanwhile may be newer
	return nil
}

// dueIn gives a chat's most urgent due deliveries. Those that are not believed are marked failed, so that they do not
// block the others.
func (d *dueQueue) dueIn(ctx context.Context, q querier, t approval.Target, now int64) (list []waiting, err error) {
	var doubted []approval.Delivery
	rows, err := q.query(ctx, dueDeliveries, t.Channel, t.To, now, queueLength)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var w waiting
		var version number
		believed, err := d.keys.scanDelivery(rows, nil, &w.Delivery, (*number)(&w.turn), (*number)(&w.since), &version)
		w.Version = int64(version)
		if believed {
			list = append(list, w)
		} else {
			doubted = append(doubted, w.Delivery)
		}
		return err
	})
	if err != nil || doubted == nil {
		return list, err
	}
	if err := d.fail(ctx, doubted); err != nil {
		return nil, err
	}
	return d.dueIn(ctx, q, t, now)
}

// take gives the next delivery of a chat. known is false if the list is too old to tell
// and the caller must look the chat up first; with looked, the list is used as it is.
func (q *dueQueue) take(t approval.Target, now int64, looked bool) (d approval.Delivery, ok, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.of(t)
	kept, recent := q.alone && k.whole, k.atMs <= now && now <= k.atMs+queueMs
	current := kept || recent
	if !looked && (!current || k.blank(now)) {
		return d, false, false
	}
	i, _ := k.first(now)
	if i < 0 {
		return d, false, true
	}
	k.list[i].taken = true
	return k.list[i].Delivery, true, true
}

// foreignLeases says when the chats that other instances hold were looked up. A chat
// is an instance's as a whole, by a lease: so two never post the same card, the order within a chat
// holds, and all instances keep the pace that a platform asks for (the lease's not_before_ms). A
// lease is kept as long as there is something to do every few seconds, so that it needs no
// statements while a chat is busy.
type foreignLeases struct {
	mu    sync.Mutex
	known time.Time // when it was looked up
}

func (e *foreignLeases) stale() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known = time.Time{}
}

func (e *foreignLeases) fresh() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.known) < foreignMs*time.Millisecond {
		return true
	}
	e.known = time.Now()
	return false
}

// foreignMs is how long the list of other instances' chats is used before it is read
// again.
const foreignMs = 1000
