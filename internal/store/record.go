package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"approvalbot/internal/approval"
)

const (
	deliveryByID = `SELECT ` + deliveryColumns + `, a.status FROM deliveries d JOIN approvals a ON a.key = d.key
 WHERE d.key = $1 AND d.id = $2`
	recordTry = `UPDATE deliveries SET message_id = $1, state = $2, attached = $3, deny_only = $4, shown = $5,
 error = $6, attempts = $7, due_ms = $8, turn = $9, since_ms = $10, sent_ms = $11, mac = $12 WHERE key = $13 AND id = $14`
	// recordDone is recordTry for the most frequent case: the delivery is unchanged since
	// it was read. recordEdit is that for a message that was there before, and leaves the
	// index of messages alone.
	recordDone = `UPDATE deliveries SET message_id = $1, sent_ms = $2, state = $3, attached = $4, deny_only = $5,
 shown = $6, error = $7, attempts = $8,
 mac = $9, due_ms = 0, turn = 0, since_ms = 0 WHERE key = $10 AND id = $11 AND revision = $12
 AND channel = CAST($13 AS TEXT) AND chat = $14`
	recordEdit = `UPDATE deliveries SET state = $1, attached = $2, deny_only = $3, shown = $4, error = $5, attempts = $6,
 mac = $7, due_ms = 0, turn = 0, since_ms = 0 WHERE key = $8 AND id = $9 AND revision = $10
 AND channel = CAST($11 AS TEXT) AND chat = $12 AND message_id = $13`
	hurryApproval = `UPDATE approvals SET timer_ms = $2
 WHERE key = $1 AND status = 'pending' AND (timer_ms IS NULL OR timer_ms > $2)`

	failDoubles = `UPDATE deliveries SET state = 'failed', error = 'same chat as another card', due_ms = 0, turn = 0,
 since_ms = 0
 WHERE channel = $1 AND chat = $2 AND kind = 'card' AND state <> 'failed' AND EXISTS (SELECT 1 FROM deliveries o
  WHERE o.key = deliveries.key AND o.kind = 'card' AND o.state <> 'failed' AND o.channel = $3 AND o.chat = $4
 AND o.thread = deliveries.thread)`
	// Message ids start anew in the new chat (Bot API, migrate_to_chat_id), so no id is
	// taken along: a message that waited for an answer is posted again, one that had
	// ended is left behind.
	leaveBehind = `UPDATE deliveries SET state = 'failed', error = 'left behind in the chat that moved', due_ms = 0,
 turn = 0, since_ms = 0, message_id = '', shown = 0
 WHERE channel = $1 AND chat = $2 AND message_id <> '' AND state = 'sent'
 AND kind <> 'digest'
 AND (kind <> 'card' OR EXISTS (SELECT 1 FROM approvals a WHERE a.key = deliveries.key AND a.status <> 'pending'))`
	postAgain = `UPDATE deliveries SET state = 'queued', due_ms = $3, turn = -1 - rank, since_ms = created_ms,
 message_id = '', shown = 0, attached = 0
 WHERE channel = $1 AND chat = $2 AND message_id <> '' AND state = 'sent'`
	moveDeliveries = `UPDATE deliveries SET channel = $3, chat = $4, message_id = '', shown = 0, attached = 0
 WHERE channel = $1 AND chat = $2`
	insertMove = `INSERT INTO moves (old_channel, old_chat, new_channel, new_chat, mac) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (old_channel, old_chat) DO UPDATE SET new_channel = excluded.new_channel, new_chat = excluded.new_chat,
 mac = excluded.mac`
	deleteMove  = `DELETE FROM moves WHERE old_channel = $1 AND old_chat = $2`
	ofChat      = `SELECT ` + deliveryColumns + ` FROM deliveries d WHERE d.channel = CAST($1 AS TEXT) AND d.chat = $2`
	markMoved   = `UPDATE deliveries SET mac = $1 WHERE key = $2 AND id = $3`
	selectMoves = `SELECT old_channel, old_chat, new_channel, new_chat, mac FROM moves`
)

// Record writes down what became of one try at a delivery, durably.
//
// The facts are written as d has them, but an empty MessageID keeps the known
// one. A delivery that was redrawn since d.Revision stays due at once, unless it
// has failed. When one fails while its approval is pending, the approval's timer
// is set to now, so that Due gives it. With MovedTo, every delivery of the old
// chat moves to the new one and keeps its thread; a card that would be the
// second of its approval there fails instead. A delivery that was swept away
// meanwhile is CodeNotFound. If the chat was claimed here and is another instance's by
// now, that one knows better: Record writes no row and returns CodeUnavailable.
//
// The record waits a moment for another write to go along with, unless more is due
// in its chat. What is committed in that time takes it along, so a delivery that becomes due then does not wait for
// it; and as always, the chat's next message leaves after the record is on disk. [Store.ByMessage] knows of the
// message as soon as the record is queued, and a change of the approval from then on finds it recorded.
//
// A shared database that is out of reach or slow is tried for half a minute: what
// is not written down is posted a second time.
func (s *Store) Record(ctx context.Context, d approval.Delivered) error {
	if !s.dialect.many {
		return s.recordNow(ctx, d)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, recordPatience, unwritten(errLate))
	defer cancel()
	for {
		err := s.recordNow(ctx, d)
		var lost *failure
		if !errors.As(err, &lost) {
			return err
		}
		select {
		case <-time.After(recordAgain):
		case <-ctx.Done():
			return err
		}
	}
}

const (
	recordPatience = 30 * time.Second
	recordAgain    = 250 * time.Millisecond
)

func (s *Store) recordNow(ctx context.Context, d approval.Delivered) error {
	chat := d.Was.Target.Normal().Chat()
	j := &job{on: locks{approval: d.Key}, calm: func() bool {
		return d.Deferrable != nil && d.Deferrable() || s.due.idle(chat, nowMs())
	}, do: func(t *tx) error {
		if finished(d) {
			if err := s.fence(t, d.Was.Target); err != nil {
				return err
			}
			t.wrote, t.batch.wrote = true, true
			t.changedKey(d.Key)
			statement, args := t.keys.recordAll(d, nowMs())
			n, err := t.writer.exec(statement, args...)
			if n > 0 {
				t.stands(approval.Delivery{ID: d.ID, Target: d.Was.Target}, 0, 0, 0)
				err = s.hear(t, d.Was.Target, d.Outcome)
			}
			if err != nil || n > 0 {
				return err
			}
		}
		row, status, err := t.delivery(d.Key, d.ID)
		if err == nil {
			err = s.fence(t, row.Target)
		}
		if err != nil {
			return err
		}
		if err := s.hear(t, row.Target, d.Outcome); err != nil {
			return err
		}
		return t.record(row, status, d, nowMs())
	}}
	if !finished(d) {
		j.on.reads = []read{{deliveryByID, []any{d.Key, d.ID}, []int64{keyName(d.Key)}}}
	}
	defer s.posted.forget(d)
	return s.wait(ctx, j, func() { s.posted.note(d) })
}

// finished reports whether a message is in its chat and needs no further try.
func finished(d approval.Delivered) bool {
	switch {
	case d.Was.ID != d.ID, d.MessageID == "", d.DueMs != 0, d.MovedTo != nil, d.Was.Kind == approval.DigestDelivery:
		return false
	}
	return d.State == approval.Sent || d.State == approval.Settled
}

// recordAll writes down a try after which no further one is needed.
func (k keyring) recordAll(d approval.Delivered, now int64) (statement string, args []any) {
	row := d.Was
	row.Key, row.Shown, row.DenyOnly = d.Key, d.Shown, d.DenyOnly
	args = []any{string(d.State), stored(d.Attached), stored(d.DenyOnly), stored(d.Shown), d.Error, int64(d.Attempts),
		k.rows.delivery(row).end(), d.Key, d.ID, d.Revision, d.Was.Target.Channel, d.Was.Target.To}
	if d.Was.MessageID == d.MessageID {
		return recordEdit, append(args, d.MessageID)
	}
	return recordDone, append([]any{d.MessageID, cmp.Or(d.Was.SentMs, now)}, args...)
}

func (t *tx) record(row approval.Delivery, status approval.Status, d approval.Delivered, now int64) error {
	pending := status == approval.Pending
	was := row.Target.Chat()
	due := row.DueMs
	row.State, row.Error, row.Attempts, row.DueMs = d.State, d.Error, d.Attempts, d.DueMs
	if d.MessageID != "" {
		row.MessageID, row.SentMs = d.MessageID, cmp.Or(row.SentMs, now)
	}
	if row.Revision > d.Revision && d.State != approval.Failed {
		row.DueMs = due
		if due == 0 {
			row.DueMs = now
		}
	}
	if row.Kind == approval.DigestDelivery {
		var err error
		if row, err = t.recordDigest(row, d, now); err != nil {
			return err
		}
	}
	turn, since := urgency(row, pending)
	t.changedKey(row.Key)
	row.Attached, row.DenyOnly, row.Shown = d.Attached, d.DenyOnly, d.Shown
	err := t.put(recordTry, row.MessageID, string(row.State), stored(row.Attached), stored(row.DenyOnly), stored(row.Shown),
		row.Error, int64(row.Attempts), row.DueMs, turn, since, row.SentMs, t.keys.rows.delivery(row).end(), row.Key, row.ID)
	if err != nil {
		return err
	}
	t.stands(row, 0, turn, since)
	if d.State == approval.Failed && pending {
		if err := t.put(hurryApproval, row.Key, now); err != nil {
			return err
		}
	}
	if d.MovedTo == nil {
		return nil
	}
	return t.move(was, d.MovedTo.Normal().Chat())
}

func (t *tx) delivery(key, id string) (d approval.Delivery, status approval.Status, err error) {
	rows, err := t.rows(deliveryByID, key, id)
	if err != nil {
		return d, "", err
	}
	believed := false
	err = each(rows, func() (err error) {
		believed, err = t.keys.scanDelivery(rows, nil, &d, (*text)(&status))
		return err
	})
	if err == nil && !believed {
		err = approval.Refuse(approval.CodeNotFound, "There is no such delivery.")
	}
	return d, status, err
}

// move moves all deliveries of the old chat to the new one, and remembers the move.
func (t *tx) move(from, to approval.Target) error {
	if from == to {
		return nil
	}
	rows, err := t.rows(ofChat, from.Channel, from.To)
	if err != nil {
		return err
	}
	var all []approval.Delivery
	err = each(rows, func() error {
		var d approval.Delivery
		believed, err := t.keys.scanDelivery(rows, nil, &d)
		if believed {
			all = append(all, d)
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := t.exec(leaveBehind, from.Channel, from.To); err != nil {
		return err
	}
	if _, err := t.exec(postAgain, from.Channel, from.To, nowMs()); err != nil {
		return err
	}
	args := []any{from.Channel, from.To, to.Channel, to.To}
	for _, statement := range []string{failDoubles, moveDeliveries} {
		if _, err := t.exec(statement, args...); err != nil {
			return err
		}
	}
	known, err := t.keys.moves(context.Background(), t)
	if err != nil {
		return err
	}
	known[from] = from
	for old, now := range known {
		if now == from {
			columns := []any{old.Channel, old.To, to.Channel, to.To}
			if err := t.put(insertMove, append(columns, t.keys.rows.mac("moves", columns))...); err != nil {
				return err
			}
		}
	}
	for _, d := range all { // moveDeliveries changes these of what their MACs are over
		d.Target.Channel, d.Target.To, d.Shown = to.Channel, to.To, false
		if err := t.put(markMoved, t.keys.rows.delivery(d).end(), d.Key, d.ID); err != nil {
			return err
		}
	}
	t.own.stirred, t.own.moved = append(t.own.stirred, anything(from), anything(to)), true
	_, err = t.exec(deleteMove, to.Channel, to.To) // the chat is back at an address that it once left
	return err
}

// Moves gives the chats that live elsewhere now, each with the new one. Who moved
// twice is found under both old names.
func (s *Store) Moves(ctx context.Context) (map[approval.Target]approval.Target, error) {
	return s.keys.moves(ctx, s.read)
}

func (k keyring) moves(ctx context.Context, q querier) (map[approval.Target]approval.Target, error) {
	rows, err := q.query(ctx, selectMoves)
	if err != nil {
		return nil, err
	}
	all := map[approval.Target]approval.Target{}
	err = each(rows, func() error {
		var from, to approval.Target
		var mac text
		err := rows.Scan((*text)(&from.Channel), (*text)(&from.To), (*text)(&to.Channel), (*text)(&to.To), &mac)
		if err == nil && !k.rows.row("moves").text(from.Channel).text(from.To).text(to.Channel).text(to.To).fits(string(mac)) {
			_ = k.rows.doubt("moves", from.Channel+" "+from.To) // logged and counted
		} else {
			all[from] = to
		}
		return err
	})
	return all, err
}
