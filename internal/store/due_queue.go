package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"approvalbot/internal/approval"
)

// dueQueue says which chat wants work first. The deliveries are the truth; this
// remembers of each chat what is due there. Where this process alone writes, every
// commit says how its deliveries stand now, and nothing is looked up but what the
// last process left, and what is more than a list here holds. Where instances share
// the database, a commit only says where to look again. Holds and pauses live here
// too. With SQLite that is all: one process has the store, and after a restart
// nobody holds anything and a pause is learned again. Where instances share the
// database a chat is theirs by a lease besides: see chat_lease.go.
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

// waiting is a delivery as it stands, with its place among others. Without an id
// it stands for anything in its chat, and without a chat for anything anywhere.
type waiting struct {
	approval.Delivery
	turn, since int64
	taken       bool // somebody is at it
}

func (w waiting) before(o waiting) int {
	return cmp.Or(cmp.Compare(w.turn, o.turn), cmp.Compare(w.since, o.since), cmp.Compare(w.ID, o.ID))
}

// done reports whether it wants nothing more.
func (w waiting) done() bool { return w.ID != "" && w.DueMs == 0 }

// anything in a chat may have changed.
func anything(chat approval.Target) waiting {
	return waiting{Delivery: approval.Delivery{Target: chat.Chat()}}
}

// anyChats: anything may have changed anywhere.
var anyChats = []waiting{{}}

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
	whole   bool      // nothing is missing in the list that was due at atMs
	atMs    int64
	next    int64 // when more falls due than is in the list; 0: never
}

const (
	queueLength = 64 // of a chat's list
	// How long one says what is next that not every commit is told to: later, something more urgent may have fallen due.
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

// of gives what is known of a chat. Who knows all chats knows of the others that
// nothing is due there.
func (q *dueQueue) of(t approval.Target) *chat {
	k := q.known[t]
	if k == nil {
		k = &chat{stale: !q.alone || !q.all, whole: true}
		q.known[t] = k
	}
	return k
}

// put takes over how a delivery stands now.
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

// first gives the most urgent of the list, -1 if nothing in it is due, and then
// when to look again; 0: never.
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

// Where a statement compares deliveries.channel with a bare parameter, SQLite
// cannot tell without its value whether a partial index on one channel holds all
// that is asked for, and plans the statement anew for every value bound. A cast
// says that none does. A parameter behind LIMIT costs the same.
const (
	chatsWithWork = `SELECT DISTINCT channel, chat FROM deliveries WHERE due_ms > 0`
	failDoubted   = `UPDATE deliveries SET state = 'failed', error = 'not written by this desk', due_ms = 0, turn = 0,
 since_ms = 0 WHERE key = $1 AND id || '' = $2`
	nextDue = `SELECT MIN(due_ms) FROM deliveries
 WHERE channel = CAST($1 AS TEXT) AND chat = $2 AND due_ms > 0 AND due_ms > $3`
	dueDeliveries = `SELECT ` + deliveryColumns + `, d.turn, d.since_ms, a.version
 FROM deliveries d JOIN approvals a ON a.key = d.key
 WHERE d.channel = CAST($1 AS TEXT) AND d.chat = $2 AND d.due_ms > 0 AND d.due_ms <= $3
 ORDER BY d.turn, d.since_ms, d.id LIMIT CAST($4 AS BIGINT)`
)

// ClaimChat takes the chat (without a thread) of that channel whose most urgent
// due delivery comes before all other chats', among those that nobody holds, here
// or in another instance, and that are not paused. It is the caller's until
// ReleaseChat, or until this instance has not reached a shared database for eight
// seconds. When there is none, next is the time to look again: the first delivery
// to fall due or pause to end, and in a second where another instance holds a
// chat with work; 0 if nothing of the kind is known. Chats that somebody holds
// here do not count for next; whoever releases one looks again anyway.
func (s *Store) ClaimChat(
	ctx context.Context, channel string, now int64,
) (place approval.Target, ok bool, next int64, err error) {
	c := &s.due
	c.claim.Lock()
	defer c.claim.Unlock()
	if err := c.refresh(ctx, s.read, channel, now); err != nil {
		return approval.Target{}, false, 0, err
	}
	if err := s.lookAtForeign(ctx); err != nil {
		return approval.Target{}, false, 0, err
	}
	for {
		place, best, next := c.best(channel, now)
		if best == nil {
			return approval.Target{}, false, next, nil
		}
		ok, err := s.occupy(ctx, place, best, now)
		if err != nil {
			return approval.Target{}, false, 0, err
		}
		if ok {
			c.hold(best)
			return place, true, 0, nil
		}
	}
}

// idle reports whether nothing is due in a chat but what was taken from it.
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

// hold gives a chat to whoever claims it. Another instance may have worked on it
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

// refresh looks at the channel's chats of which it is not known what is due there.
// One that somebody holds waits for its release.
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

// dueIn gives a chat's most urgent due deliveries. Those that are not believed fail, so that they are in
// nobody's way.
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

// failDoubted has deliveries that are not believed fail, and their approvals see who else can be asked.
func (s *Store) failDoubted(ctx context.Context, doubted []approval.Delivery) error {
	return s.do(ctx, func(t *tx) error {
		for _, d := range doubted {
			t.changedKey(d.Key)
			if err := t.put(failDoubted, d.Key, d.ID); err != nil {
				return err
			}
			if err := t.put(hurryApproval, d.Key, nowMs()); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReleaseChat gives a chat back that ClaimChat gave, and lets nobody have it
// before pausedUntilMs (0: no pause), in no instance. An error says that others
// may not know of the pause; the chat is given back all the same.
func (s *Store) ReleaseChat(ctx context.Context, place approval.Target, pausedUntilMs int64) error {
	place = place.Normal().Chat()
	err := s.vacate(ctx, place, pausedUntilMs)
	c := &s.due
	c.claim.Lock()
	defer c.claim.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(place)
	k.held, k.pausedUntil = false, pausedUntilMs
	n := len(k.list)
	k.list = slices.DeleteFunc(k.list, func(w waiting) bool { return w.taken })
	k.stale = k.stale || !c.alone || len(k.list) < n // what was taken and not recorded may be due again
	return err
}

// MaySend reports whether a chat that was claimed here is still this instance's, by what
// is known without a question; yes for one that was not claimed.
func (s *Store) MaySend(place approval.Target) bool {
	return s.heartbeat.mayServe(chatLease(place.Normal()))
}

// NextDelivery gives the chat's most urgent due delivery: cards of pending
// approvals that nobody has seen yet and no try has failed for first, the highest rank
// and then the oldest before the others; then the rest in the order in which it fell due. False when
// nothing is due, or the chat was claimed here and may be another instance's by
// now.
func (s *Store) NextDelivery(ctx context.Context, place approval.Target, now int64) (approval.Delivery, bool, error) {
	if !s.MaySend(place) {
		return approval.Delivery{}, false, nil
	}
	chat := place.Normal().Chat()
	for tries := 0; ; tries++ {
		d, ok, known := s.due.take(chat, now, tries == maxLooks)
		if known {
			return d, ok, nil
		}
		if err := s.due.look(ctx, s.read, chat, now); err != nil {
			return d, false, err
		}
	}
}

const maxLooks = 3 // in a row, where every time a commit comes between

// take gives the next delivery of a chat. known is false where what is known does
// not say what that is, unless it was looked up often enough.
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
