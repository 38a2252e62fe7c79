package fakechat

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Lifetimes of undelivered updates (telegram-bot-api Client.cpp, add_update).
const (
	callbackLife = 150 * time.Second
	messageLife  = 24 * time.Hour
)

// farOffset is how far an offset may lie beyond the last update before the
// server ignores it (td, TQueue.cpp).
const farOffset = 10

// TelegramUpdate is an update and what became of it.
type TelegramUpdate struct {
	// ID is the update_id.
	ID int
	// Type is the field that holds the content, such as "callback_query".
	Type string
	// JSON is the whole update as it goes over the wire.
	JSON string
	// Created and Expires are in the fake's time. Telegram keeps an undelivered
	// callback query for 150 s and a message for 24 h.
	Created, Expires time.Time
	// Delivered counts how often the update was handed out.
	Delivered int
	// Failed counts the webhook requests that failed.
	Failed int
	// Confirmed says that the bot confirmed it, by a later offset or by a 2xx
	// answer to the webhook.
	Confirmed bool
	// Lost says that it expired or was dropped unconfirmed.
	Lost bool
}

// queuedUpdate is an update in the queue.
type queuedUpdate struct {
	TelegramUpdate
	lane   int64 // webhook requests of one lane are sent one after another
	forced bool  // handed out once, with any offset
}

// updateQueue is the queue of one bot.
type updateQueue struct {
	next    int
	pending []*queuedUpdate // in order of creation
	all     []*queuedUpdate
	byID    map[int][]*queuedUpdate // the first is the original
	allowed []string                // nil: the default
}

// start sets the first update id.
func (q *updateQueue) start(first int) {
	if first == 0 {
		first = 2_000_001 + rand.IntN(1<<30-2_000_001)
	}
	q.next, q.byID = first, make(map[int][]*queuedUpdate)
}

// notByDefault are the types an empty allowed_updates leaves out (Bot API,
// getUpdates).
func notByDefault() []string {
	return []string{"chat_member", "message_reaction", "message_reaction_count"}
}

// allows says whether an update of this type is created.
func (q *updateQueue) allows(kind string) bool {
	if q.allowed == nil {
		return !slices.Contains(notByDefault(), kind)
	}
	return slices.Contains(q.allowed, kind)
}

// setAllowed remembers allowed_updates. If it is not a list of strings, the old one stays;
// an empty list means the default (Client.cpp, get_allowed_update_types).
func (q *updateQueue) setAllowed(text string) {
	var names []string
	if text == "" || json.Unmarshal([]byte(text), &names) != nil || names == nil {
		return
	}
	q.allowed = nil
	for _, name := range names {
		q.allowed = append(q.allowed, strings.ToLower(name))
	}
}

// expire drops what was not fetched in time.
func (q *updateQueue) expire(now time.Time) {
	q.pending = slices.DeleteFunc(q.pending, func(u *queuedUpdate) bool {
		u.Lost = u.Lost || u.Expires.Before(now)
		return u.Lost
	})
}

// clear drops all but the last keep updates.
func (q *updateQueue) clear(keep int) {
	for len(q.pending) > keep {
		q.pending[0].Lost = true
		q.pending = q.pending[1:]
	}
}

// confirm marks an update as done and removes it.
func (q *updateQueue) confirm(u *queuedUpdate) {
	u.Confirmed = true
	q.pending = slices.DeleteFunc(q.pending, func(other *queuedUpdate) bool { return other == u })
}

// forget confirms everything below offset. An offset far beyond the last update confirms no
// update, which is what lets ids jump back.
func (q *updateQueue) forget(offset int) {
	if offset <= 0 || offset > q.next+farOffset {
		return
	}
	q.pending = slices.DeleteFunc(q.pending, func(u *queuedUpdate) bool {
		if u.forced || u.ID >= offset {
			return false
		}
		u.Confirmed = true
		return true
	})
}

// take hands out up to limit updates from offset on. Forced ones come first and
// only once.
func (q *updateQueue) take(now time.Time, offset, limit int) []json.RawMessage {
	q.expire(now)
	if offset < 0 {
		q.clear(-offset)
	}
	q.forget(offset)
	slices.SortStableFunc(q.pending, func(a, b *queuedUpdate) int { return compareBool(b.forced, a.forced) })
	updates := make([]json.RawMessage, 0, min(limit, len(q.pending)))
	for _, u := range q.pending[:min(limit, len(q.pending))] {
		u.Delivered++
		updates = append(updates, json.RawMessage(u.JSON))
	}
	q.pending = slices.DeleteFunc(q.pending, func(u *queuedUpdate) bool {
		u.Confirmed = u.Confirmed || u.forced && u.Delivered > 0
		return u.Confirmed
	})
	return updates
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// push creates an update if its type is allowed and returns its id, or 0.
func (tg *Telegram) push(kind string, content any, life time.Duration, lane int64) int {
	if !tg.queue.allows(kind) || life < 0 {
		return 0
	}
	id := tg.queue.next
	tg.queue.next++
	body := encodeJSON(map[string]any{"update_id": id, kind: content})
	tg.enqueue(&queuedUpdate{TelegramUpdate: TelegramUpdate{ID: id, Type: kind, JSON: string(body)}, lane: lane}, life)
	return id
}

func (tg *Telegram) enqueue(u *queuedUpdate, life time.Duration) {
	u.Created, u.Expires = tg.now(), tg.now().Add(life)
	tg.queue.pending = append(tg.queue.pending, u)
	tg.queue.all = append(tg.queue.all, u)
	tg.queue.byID[u.ID] = append(tg.queue.byID[u.ID], u)
	tg.wake()
}

// InjectUpdate queues a raw update, for types and fields that do not exist yet. Without an
// "update_id" it gets the next one. With one it keeps it and is handed out exactly once,
// with any offset that the bot sends, as a repeated or stray id. The bot's allowed_updates
// do not apply. It returns the id.
func (tg *Telegram) InjectUpdate(raw string) int {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &fields); err != nil {
		tg.fail("InjectUpdate: %v", err)
		return 0
	}
	u := &queuedUpdate{}
	if id, ok := fields["update_id"]; ok {
		u.forced = true
		json.Unmarshal(id, &u.ID)
	} else {
		u.ID = tg.queue.next
		tg.queue.next++
		fields["update_id"] = encodeJSON(u.ID)
	}
	for name := range fields {
		if name != "update_id" {
			u.Type = name
		}
	}
	u.JSON = string(encodeJSON(fields))
	tg.enqueue(u, messageLife)
	return u.ID
}

// Redeliver hands an update out once more, although it may be confirmed.
func (tg *Telegram) Redeliver(updateID int) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	u := tg.findUpdate(updateID)
	if u == nil {
		tg.fail("Redeliver: there was no update %d", updateID)
		return
	}
	again := &queuedUpdate{TelegramUpdate: TelegramUpdate{ID: u.ID, Type: u.Type, JSON: u.JSON}, lane: u.lane, forced: true}
	tg.enqueue(again, messageLife)
}

// JumpUpdateID makes the next update have this id. After a week without updates
// Telegram chooses the next id at random (Bot API, Update), so it may be lower.
// An offset more than ten beyond the newest update is ignored by the server.
func (tg *Telegram) JumpUpdateID(to int) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.queue.next = to
}

// Updates returns every update so far, in order of creation.
func (tg *Telegram) Updates() []TelegramUpdate {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.queue.expire(tg.now())
	return publicUpdates(tg.queue.all)
}

// PendingUpdates returns the updates that are neither confirmed nor lost.
func (tg *Telegram) PendingUpdates() []TelegramUpdate {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.queue.expire(tg.now())
	return publicUpdates(tg.queue.pending)
}

func publicUpdates(queued []*queuedUpdate) []TelegramUpdate {
	updates := make([]TelegramUpdate, 0, len(queued))
	for _, u := range queued {
		updates = append(updates, u.TelegramUpdate)
	}
	return updates
}

// Confirmed says whether the bot confirmed this update.
func (tg *Telegram) Confirmed(updateID int) bool {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	u := tg.findUpdate(updateID)
	return u != nil && u.Confirmed
}

// Delivered is how often this update was handed out, redeliveries included.
func (tg *Telegram) Delivered(updateID int) int {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	n := 0
	for _, u := range tg.queue.byID[updateID] {
		n += u.Delivered
	}
	return n
}

// findUpdate returns the first update with this id, or nil.
func (tg *Telegram) findUpdate(id int) *queuedUpdate {
	if all := tg.queue.byID[id]; len(all) > 0 {
		return all[0]
	}
	return nil
}
