package fakechat

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Texts and times of getUpdates (telegram-bot-api Client.cpp).
const (
	otherPoller     = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	webhookActive   = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
	byWebhook       = "Conflict: terminated by setWebhook request"
	maxPollTimeout  = 50
	conflictPause   = 3 * time.Second
	samePollPause   = 3 * time.Second
	samePollOneOnly = 500 * time.Millisecond
)

// pollState is what the server remembers between getUpdates calls.
type pollState struct {
	waiting      *waitingPoll
	offset       int       // of the last call
	started      time.Time // when the last call came
	nextConflict time.Time // a conflict before it is answered late
}

// waitingPoll is a getUpdates call that waits for an update.
type waitingPoll struct {
	offset, limit int
	deadline      time.Time
	updates       []json.RawMessage
	err           *apiError
}

// getUpdates takes the lock itself, because it waits.
func (tg *Telegram) getUpdates(ctx context.Context, q *tgQuery) (any, *apiError) {
	poll, err := tg.beginPoll(q)
	if err != nil {
		return nil, err
	}
	waitErr := tg.wait(ctx, poll.deadline, func() bool { return poll.err != nil || tg.fillPoll(poll) })
	tg.mu.Lock()
	defer tg.mu.Unlock()
	if tg.poll.waiting == poll {
		tg.poll.waiting = nil
	}
	if waitErr != nil && !errors.Is(waitErr, errDeadline) {
		return nil, &apiError{code: http.StatusInternalServerError, description: "Internal Server Error: restart"}
	}
	return poll.updates, poll.err
}

// beginPoll answers at once if it can; else it makes the call the waiting one.
// It takes the lock.
func (tg *Telegram) beginPoll(q *tgQuery) (*waitingPoll, *apiError) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	if tg.hook.url != "" {
		return nil, tg.conflict(webhookActive)
	}
	offset, limit := leadingInt(q.params["offset"]), q.integer("limit", 100, 1, 100)
	timeout := q.integer("timeout", 0, 0, maxPollTimeout)
	tg.queue.setAllowed(q.params["allowed_updates"])
	limit, timeout = tg.throttlePoll(offset, limit, timeout)
	poll := &waitingPoll{offset: offset, limit: limit, deadline: tg.now().Add(time.Duration(timeout) * time.Second)}
	if !tg.fillPoll(poll) && timeout > 0 {
		tg.abortPoll(nil)
		tg.poll.waiting = poll
	}
	tg.wake()
	return poll, nil
}

// throttlePoll slows a bot that asks for the same offset again and again: within
// 3 s the call waits for 3 s, within half a second it gets one update.
func (tg *Telegram) throttlePoll(offset, limit, timeout int) (int, int) {
	now := tg.now()
	if p := tg.poll; offset == p.offset && !p.started.IsZero() {
		if timeout < 3 && now.Before(p.started.Add(samePollPause)) {
			timeout = 3
		}
		if now.Before(p.started.Add(samePollOneOnly)) {
			limit = 1
		}
	}
	tg.poll.offset, tg.poll.started = offset, now
	return limit, timeout
}

// fillPoll takes what is pending, once, and reports whether that is anything. A call
// that waited keeps the offset it came with; a negative one has done its work.
func (tg *Telegram) fillPoll(poll *waitingPoll) bool {
	if len(poll.updates) > 0 {
		return true
	}
	poll.updates = tg.queue.take(tg.now(), poll.offset, poll.limit)
	poll.offset = max(0, poll.offset)
	if len(poll.updates) == 0 {
		return false
	}
	if tg.poll.waiting == poll {
		tg.poll.waiting = nil
	}
	tg.wake()
	return true
}

// abortPoll ends the waiting call, with a conflict if err is nil.
func (tg *Telegram) abortPoll(err *apiError) {
	if tg.poll.waiting == nil {
		return
	}
	if err == nil {
		err = tg.conflict(otherPoller)
	}
	tg.poll.waiting.err = err
	tg.poll.waiting = nil
}

// conflict is a 409; when they follow each other within 3 s they come 3 s late.
func (tg *Telegram) conflict(description string) *apiError {
	err := &apiError{code: http.StatusConflict, description: description}
	tg.note("409 %s", description)
	if now := tg.now(); now.Before(tg.poll.nextConflict) {
		err.notBefore = now.Add(conflictPause)
	} else {
		tg.poll.nextConflict = now.Add(conflictPause)
	}
	return err
}

// Polling says whether a getUpdates call is waiting for an update.
func (tg *Telegram) Polling() bool {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	return tg.poll.waiting != nil
}
