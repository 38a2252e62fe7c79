package store

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"approvalbot/core"
)

// chats says which chat wants work first. The deliveries are the truth; this
// remembers for each chat what the last look at them found, and looks again only
// where a commit has changed something since. Holds and pauses live here too.
// With SQLite that is all: one process has the store, and after a restart nobody
// holds anything and a pause is learned again. Where instances share the database
// a chat is theirs by a lease besides: see elsewhere.go.
type chats struct {
	claim     sync.Mutex // held over a whole claim
	known     map[core.Target]*chat
	elsewhere elsewhere

	mu      sync.Mutex // never held over a query: the commit loop takes it
	touched map[core.Target]bool
	queues  map[core.Target]*queue // of chats that were not touched since
}

// queue is what a query found due in a chat, most urgent first, without what was
// taken from it since: whoever works the chat off need not ask every time.
type queue struct {
	rest []core.Delivery
	all  bool  // there was no more
	atMs int64 // what fell due after that is not in it
}

const (
	queueLength = 8
	queueMs     = 20 // how long a queue says what is next: later, something more urgent may have fallen due
)

// chat is what is known of one chat.
type chat struct {
	held        bool
	taken       bool // by another instance, as far as this one knows
	pausedUntil int64
	stale       bool  // look again
	first       turn  // its most urgent due delivery, if due is set …
	queue       queue // … with the next ones
	due         bool
	next        int64 // when something falls due, if nothing is; 0: never
}

// turn is a delivery's place among all chats' due ones.
type turn struct {
	turn, since, dueMs int64
	id                 string
}

func (t turn) before(o turn) bool {
	if t.turn != o.turn {
		return t.turn < o.turn
	}
	if t.since != o.since {
		return t.since < o.since
	}
	return t.id < o.id
}

// anyChat in a list of touched chats means that any could be.
var (
	anyChat  core.Target
	anyChats = []core.Target{anyChat}
)

func newChats() chats {
	return chats{known: map[core.Target]*chat{}, touched: map[core.Target]bool{anyChat: true}, queues: map[core.Target]*queue{}}
}

// touch notes that the deliveries of these chats have changed.
func (c *chats) touch(list []core.Target) {
	if len(list) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range list {
		c.touched[t] = true
		if delete(c.queues, t); t == anyChat {
			clear(c.queues)
		}
	}
}

// note keeps what was found in a chat that nothing has touched since the last
// refresh.
func (c *chats) note(t core.Target, f queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.touched[t] && !c.touched[anyChat] {
		c.queues[t] = &f
	}
}

// seek is called before a query for what is due in a chat. What it found is
// passed to the function, which keeps it unless the chat was touched meanwhile.
func (c *chats) seek(t core.Target) (keep func(queue)) {
	mark := &queue{}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues[t] = mark
	return func(f queue) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.queues[t] == mark {
			*mark = f
		}
	}
}

// pop gives the next of what was found in a chat. known is false where that does
// not say what is next.
func (c *chats) pop(t core.Target, now int64) (d core.Delivery, ok, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.queues[t]
	if f == nil || now < f.atMs || now > f.atMs+queueMs {
		return d, false, false
	}
	if len(f.rest) == 0 {
		return d, false, f.all
	}
	d, f.rest = f.rest[0], f.rest[1:]
	return d, true, true
}

// forget drops what was found in a chat.
func (c *chats) forget(t core.Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.queues, t)
}

// take empties the list of touched chats.
func (c *chats) take() map[core.Target]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.touched
	c.touched = map[core.Target]bool{}
	return t
}

func (c *chats) of(t core.Target) *chat {
	k := c.known[t]
	if k == nil {
		k = &chat{stale: true}
		c.known[t] = k
	}
	return k
}

// Where a statement compares deliveries.channel with a bare parameter, SQLite
// cannot tell without its value whether a partial index on one channel holds all
// that is asked for, and plans the statement anew for every value bound. A cast
// says that none does. A parameter behind LIMIT costs the same.
const (
	chatsWithWork = `SELECT DISTINCT channel, chat FROM deliveries WHERE due_ms > 0`
	nextDue       = `SELECT MIN(due_ms) FROM deliveries WHERE channel = CAST($1 AS TEXT) AND chat = $2 AND due_ms > 0`
	dueDeliveries = `SELECT ` + deliveryColumns + `, d.turn, d.since_ms, a.version FROM deliveries d JOIN approvals a ON a.key = d.key
 WHERE d.channel = CAST($1 AS TEXT) AND d.chat = $2 AND d.due_ms > 0 AND d.due_ms <= $3 ORDER BY d.turn, d.since_ms, d.id LIMIT CAST($4 AS BIGINT)`
)

// ClaimChat takes the chat (without a thread) of that channel whose most urgent
// due delivery comes before all other chats', among those that nobody holds, here
// or in another instance, and that are not paused. It is the caller's until
// ReleaseChat, or until this instance has not reached a shared database for eight
// seconds. When there is none, next is the time to look again: the first delivery
// to fall due or pause to end, and in a second where another instance holds a
// chat with work; 0 if nothing of the kind is known. Chats that somebody holds
// here do not count for next; whoever releases one looks again anyway.
func (s *Store) ClaimChat(ctx context.Context, channel string, now int64) (place core.Target, ok bool, next int64, err error) {
	c := &s.chats
	c.claim.Lock()
	defer c.claim.Unlock()
	if err := c.refresh(ctx, s.read, channel, now); err != nil {
		return core.Target{}, false, 0, err
	}
	if err := s.lookElsewhere(ctx); err != nil {
		return core.Target{}, false, 0, err
	}
	for {
		place, best, next := c.best(channel, now)
		if best == nil {
			return core.Target{}, false, next, nil
		}
		ok, err := s.occupy(ctx, place, best, now)
		if err != nil {
			return core.Target{}, false, 0, err
		}
		if ok {
			best.held = true
			// Else something more urgent may have fallen due after the look, or another
			// instance may have worked on the chat.
			if best.queue.atMs == now && !s.dialect.many {
				c.note(place, best.queue)
			}
			best.queue = queue{}
			return place, true, 0, nil
		}
	}
}

// best gives the chat to claim, or nil and the time to look again.
func (c *chats) best(channel string, now int64) (place core.Target, best *chat, next int64) {
	soon := int64(math.MaxInt64)
	for t, k := range c.known {
		switch {
		case k.held || t.Channel != channel:
		case !k.due && k.next == 0:
			if k.pausedUntil <= now {
				delete(c.known, t)
			}
		case k.due && k.pausedUntil <= now && k.taken:
			soon = min(soon, now+lookAgainMs)
		case k.due && k.pausedUntil <= now:
			if best == nil || k.first.before(best.first) {
				best, place = k, t
			}
		default:
			soon = min(soon, max(k.next, k.pausedUntil))
		}
	}
	if soon == math.MaxInt64 {
		soon = 0
	}
	return place, best, soon
}

// refresh looks at the channel's chats that changed, or where time has passed
// what was known. A chat that somebody holds waits for its release.
func (c *chats) refresh(ctx context.Context, q querier, channel string, now int64) error {
	touched := c.take()
	if touched[anyChat] {
		if err := c.discover(ctx, q); err != nil {
			c.touch(slices.Collect(maps.Keys(touched)))
			return err
		}
		delete(touched, anyChat)
	}
	for t := range touched {
		c.of(t).stale = true
	}
	for t, k := range c.known {
		passed := k.next != 0 && k.next <= now || k.due && k.first.dueMs > now
		if t.Channel != channel || k.held || !k.stale && !passed {
			continue
		}
		if err := c.look(ctx, q, k, t, now); err != nil {
			return err // it stays stale
		}
	}
	return nil
}

// discover makes every chat that has work known, and all that is known stale.
func (c *chats) discover(ctx context.Context, q querier) error {
	rows, err := q.query(ctx, chatsWithWork)
	if err != nil {
		return err
	}
	for _, k := range c.known {
		k.stale = true
	}
	return each(rows, func() error {
		var t core.Target
		err := rows.Scan((*text)(&t.Channel), (*text)(&t.To))
		c.of(t).stale = true
		return err
	})
}

func (c *chats) look(ctx context.Context, q querier, k *chat, t core.Target, now int64) (err error) {
	k.stale = true
	var f queue
	var first turn
	_, more, known := c.pop(t, now)
	c.forget(t)
	if more || !known {
		if f, first, err = dueIn(ctx, q, t, now); err != nil {
			return err
		}
	}
	due := len(f.rest) > 0
	var next number
	if !due {
		rows, err := q.query(ctx, nextDue, t.Channel, t.To)
		if err != nil {
			return err
		}
		if _, err = one(rows, &next); err != nil {
			return err
		}
	}
	k.stale, k.due, k.first, k.queue, k.next = false, due, first, f, int64(next)
	return nil
}

// dueIn gives a chat's most urgent due deliveries and the first one's place among
// all chats'.
func dueIn(ctx context.Context, q querier, t core.Target, now int64) (f queue, first turn, err error) {
	rows, err := q.query(ctx, dueDeliveries, t.Channel, t.To, now, queueLength)
	if err != nil {
		return f, first, err
	}
	err = each(rows, func() error {
		var d core.Delivery
		var at turn
		var version number
		if err := scanDelivery(rows, nil, &d, (*number)(&at.turn), (*number)(&at.since), &version); err != nil {
			return err
		}
		d.Version, at.id, at.dueMs = int64(version), d.ID, d.DueMs
		if f.rest = append(f.rest, d); len(f.rest) == 1 {
			first = at
		}
		return nil
	})
	f.all, f.atMs = len(f.rest) < queueLength, now
	return f, first, err
}

// ReleaseChat gives a chat back that ClaimChat gave, and lets nobody have it
// before pausedUntilMs (0: no pause), in no instance. An error says that others
// may not know of the pause; the chat is given back all the same.
func (s *Store) ReleaseChat(ctx context.Context, place core.Target, pausedUntilMs int64) error {
	place = place.Normal().Chat()
	err := s.vacate(ctx, place, pausedUntilMs)
	c := &s.chats
	c.claim.Lock()
	defer c.claim.Unlock()
	if _, more, known := c.pop(place, nowMs()); more || !known || pausedUntilMs > 0 {
		c.forget(place) // what was taken last may be due again
	}
	k := c.of(place)
	k.held, k.pausedUntil, k.stale = false, pausedUntilMs, true
	return err
}

// NextDelivery gives the chat's most urgent due delivery: cards of pending
// approvals that nobody has seen yet first, the highest rank and then the oldest
// before the others; then the rest in the order in which it fell due. False when
// nothing is due, or the chat was claimed here and may be another instance's by
// now.
func (s *Store) NextDelivery(ctx context.Context, place core.Target, now int64) (core.Delivery, bool, error) {
	place = place.Normal()
	if !s.presence.mayServe(chatLease(place)) {
		return core.Delivery{}, false, nil
	}
	chat := place.Chat()
	if d, ok, known := s.chats.pop(chat, now); known {
		return d, ok, nil
	}
	keep := s.chats.seek(chat)
	f, _, err := dueIn(ctx, s.read, place, now)
	if err != nil || len(f.rest) == 0 {
		if err == nil {
			keep(f)
		}
		return core.Delivery{}, false, err
	}
	d := f.rest[0]
	f.rest = f.rest[1:]
	keep(f)
	return d, true, nil
}
