package store

import (
	"context"
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

const (
	// The character after a blank is an exclamation mark.
	chatLeases = `SELECT l.name, l.not_before_ms, CASE WHEN EXISTS (SELECT 1 FROM instances i
  WHERE i.id = l.holder AND i.id <> $1 AND i.seen_ms > ` + databaseTime + ` - $2)
  AND CONCAT(l.holder, ' ', l.lock_no) <> ALL(CAST($3 AS TEXT[])) THEN 1 ELSE 0 END
 FROM leases l WHERE l.name >= 'chat ' AND l.name < 'chat!'`
	chatHolder = `SELECT holder, token FROM leases WHERE name = $1`
	pauseChat  = `UPDATE leases SET not_before_ms = $4 WHERE name = $1 AND holder = $2 AND token = $3`
)

// chatLease is the name of a chat's lease.
func chatLease(t approval.Target) string { return "chat " + t.Channel + ":" + t.To }

// lookAtForeign learns which chats other instances hold and which are paused;
// dueQueue.claim is held.
func (s *Store) lookAtForeign(ctx context.Context) error {
	if !s.dialect.many || s.due.foreign.fresh() {
		return nil
	}
	rows, err := s.read.query(ctx, chatLeases, s.heartbeat.id, leaseMs, s.heartbeat.deadLocks())
	if err != nil {
		s.due.foreign.stale()
		return err
	}
	return each(rows, func() error {
		var name text
		var notBefore number
		var taken truth
		if err := rows.Scan(&name, &notBefore, &taken); err != nil {
			return err
		}
		channel, to, _ := strings.Cut(strings.TrimPrefix(string(name), "chat "), ":")
		if k := s.due.find(approval.Target{Channel: channel, To: to}); k != nil && !k.held {
			k.taken, k.pausedUntil = bool(taken), max(k.pausedUntil, int64(notBefore))
		}
		return nil
	})
}

// occupy makes a chat this instance's, if no other has it; dueQueue.claim is held.
func (s *Store) occupy(ctx context.Context, place approval.Target, k *chat, now int64) (ok bool, err error) {
	if !s.dialect.many {
		return true, nil
	}
	name := chatLease(place)
	l := s.heartbeat.holds(name)
	if l == nil {
		var notBefore int64
		if l, notBefore, err = s.take(ctx, name); err != nil {
			return false, err
		}
		s.answering.forget(place) // another instance may have had it
		if k.taken, k.pausedUntil = l == nil, notBefore; l == nil || notBefore > now {
			return false, nil
		}
	}
	s.heartbeat.serve(l)
	return true, nil
}

// vacate ends the work on a chat, and writes down its pause for the other instances. The
// lease stays for a while: there may soon be more to do.
func (s *Store) vacate(ctx context.Context, place approval.Target, pausedUntilMs int64) error {
	if !s.dialect.many {
		return nil
	}
	name := chatLease(place)
	token, served := s.heartbeat.unserve(name)
	if !served || pausedUntilMs == 0 {
		return nil
	}
	return s.do(ctx, func(t *tx) error {
		_, err := t.exec(pauseChat, name, s.heartbeat.id, token, pausedUntilMs)
		return err
	})
}

// fence refuses a write about a chat if this instance worked on the chat and another
// instance has it by now.
func (s *Store) fence(t *tx, place approval.Target) error {
	if !s.dialect.many {
		return nil
	}
	name := chatLease(place)
	token, served := s.heartbeat.servedAs(name)
	if !served {
		return nil
	}
	rows, err := t.rows(chatHolder, name)
	if err != nil {
		return err
	}
	var holder text
	var now number
	if _, err := one(rows, &holder, &now); err != nil {
		return err
	}
	if string(holder) != s.heartbeat.id || int64(now) != token {
		return approval.Refuse(approval.CodeUnavailable, "Another instance has taken over this chat, so this "+
			"instance's work there is not recorded.")
	}
	return nil
}

// ClaimChat claims the chat (without a thread) of that channel that has the most urgent
// due delivery. Chats that are paused, or held by this or another instance, are left out.
// The chat is the caller's until ReleaseChat, or until this instance has not reached a
// shared database for eight seconds. If no chat can be claimed, next is the time to look
// again: when the first delivery falls due or the first pause ends, or in a second if
// another instance holds a chat with work; 0 if no such time is known. Chats that are
// held in this instance do not count for next: a caller that releases one looks again
// anyway.
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

// failDoubted marks deliveries that are not believed as failed, and has their approvals look for other people to ask.
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

// ReleaseChat gives a chat back that ClaimChat gave. No instance can claim it before
// pausedUntilMs (0: no pause). An error says that others may not know of the pause; the
// chat is given back all the same.
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

// NextDelivery gives the chat's most urgent due delivery: first the cards of pending approvals that were never shown
// and for which no try has failed, by highest rank and then by age; then the rest in the order in which it fell due.
// It gives false if no delivery is due, or if the chat was claimed here and may be another instance's by now.
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

const maxLooks = 3 // in a row, if a commit comes between every time

const failDoubted = `UPDATE deliveries SET state = 'failed', error = 'not written by this desk', due_ms = 0, turn = 0,
 since_ms = 0 WHERE key = $1 AND id || '' = $2`
