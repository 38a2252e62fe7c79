package store

import (
	"context"
	"strings"
	"sync"
	"time"

	"approvalbot/internal/approval"
)

// foreignLeases says when the chats that other instances hold were looked up. A chat
// is an instance's as a whole, by a lease: so two never post the same card, the order within a chat
// holds, and the pace that a platform asks for (the lease's not_before_ms) is
// everybody's. A lease is kept as long as there is something to do every few
// seconds, so that it costs nothing while a chat is busy.
type foreignLeases struct {
	mu    sync.Mutex
	known time.Time // when it was looked up
}

// foreignMs is how long what is known of other instances' chats will do.
const foreignMs = 1000

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

func isChat(lease string) bool { return strings.HasPrefix(lease, "chat ") }

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

// vacate ends the work on a chat and tells everybody of its pause. The lease stays
// for a while: there may soon be more to do.
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

// fence refuses what was done in a chat that was this instance's and is another's
// by now.
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
		return approval.Refuse(approval.CodeUnavailable, "Another instance has this chat by now, and what was done there "+
			"is not recorded.")
	}
	return nil
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
