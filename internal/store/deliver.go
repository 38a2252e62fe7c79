package store

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	insertDelivery = insertInto + ` VALUES
 ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26,$27)`
	insertInto = `INSERT INTO deliveries (id, key, kind, channel, chat, thread, state, message_id, reply_to, for_user,
 attached, shown, deny_only, fallback, error, attempts, due_ms, revision, rank, created_ms, turn, since_ms,
 sent_ms, silent, mention, digest, mac)`
	deliveryArgs = 27 // of one row
	atOnce       = 50 // rows of insertDeliveries
	redrawCard   = `UPDATE deliveries SET due_ms = $1, revision = $2, turn = $3, since_ms = $4
 WHERE key = $5 AND id = $6 AND (state = 'queued' OR (state IN ('sent', 'settled') AND message_id <> ''))`
	calmCards = `UPDATE deliveries SET turn = 0, since_ms = due_ms WHERE key = $1 AND turn < 0`
)

// insertDeliveries is insertDelivery of atOnce rows. SQLite is not given it: there a statement costs less than what its
// driver, which compares every parameter with every value, takes for so many.
var insertDeliveries = sync.OnceValue(func() string {
	text := []byte(insertInto + " VALUES (")
	for i := range atOnce * deliveryArgs {
		switch {
		case i == 0:
		case i%deliveryArgs == 0:
			text = append(text, "),("...)
		default:
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '$'), int64(i+1), 10)
	}
	return string(append(text, ')'))
})

// urgency is a delivery's place in its chat's queue, least first. A card of a pending
// approval that was never shown, or a digest, comes before everything else if no try has
// failed for it: by highest rank, then by age. The rest is sorted by when it fell due.
func urgency(d approval.Delivery, pending bool) (turn, since int64) {
	asks := d.Kind == approval.CardDelivery || d.Kind == approval.DigestDelivery
	unseen := asks && d.State == approval.Queued && d.MessageID == ""
	if pending && unseen && d.Attempts == 0 {
		return -1 - int64(d.Rank), d.CreatedMs
	}
	return 0, d.DueMs
}

// deliver writes what a change means for the approval's deliveries, and gives all of them
// as they are afterwards.
func (t *tx) deliver(before *approval.Approval, a approval.Approval, c core.Change) ([]approval.Delivery, error) {
	all := slices.Clone(a.Deliveries)
	redraw := c.Redraw && len(all) > 0
	ends := before != nil && !before.Final() && a.Final()
	calm := ends && len(all) > 0
	if calm && !redraw {
		if err := t.put(calmCards, a.Key); err != nil {
			return nil, err
		}
		for _, d := range all {
			t.own.stirred = append(t.own.stirred, anything(d.Target))
		}
	}
	if redraw {
		if err := t.redraw(a, all); err != nil {
			return nil, err
		}
	}
	for _, place := range c.Open {
		if err := t.unfold(a, place, all); err != nil {
			return nil, err
		}
	}
	rest := c.Deliveries
	for ; t.dialect.many && areNew(rest); rest = rest[atOnce:] {
		added, err := t.addDeliveries(a, rest[:atOnce])
		if err != nil {
			return nil, err
		}
		all = append(all, added...)
	}
	for _, d := range rest {
		if d.State == approval.Folded {
			begun, err := t.fold(a, &d)
			if err != nil {
				return nil, err
			}
			all = append(all, begun...)
		}
		added, ok, err := t.addDelivery(a, d)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, added)
		}
	}
	slices.SortFunc(all, func(a, b approval.Delivery) int {
		return cmp.Or(cmp.Compare(a.CreatedMs, b.CreatedMs), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// redraw makes the approval's cards due, here and in all: those in a chat or on
// their way; of one that is folded, its digest. It reaches every card that is urgent, so an ended approval's are so
// no more.
func (t *tx) redraw(a approval.Approval, all []approval.Delivery) error {
	now := nowMs()
	for i, d := range all {
		if d.InDigest() {
			if err := t.raiseDigestOf(d); err != nil {
				return err
			}
			continue
		}
		stands := d.State == approval.Queued || d.MessageID != ""
		if d.Kind != approval.CardDelivery || d.State == approval.Failed || !stands {
			continue
		}
		d.DueMs, d.Revision = now, d.Revision+1
		turn, since := urgency(d, !a.Final())
		// Another instance may just have seen it fail.
		if err := t.putOne(redrawCard, d.DueMs, d.Revision, turn, since, a.Key, d.ID); err != nil {
			return err
		}
		all[i] = d
		t.stands(d, a.Version, turn, since)
	}
	return nil
}

// stands notes the state that a delivery will have once this is committed. version is its
// approval's, 0 if that is not known here.
func (t *tx) stands(d approval.Delivery, version, turn, since int64) {
	d.Version = version
	t.own.stirred = append(t.own.stirred, waiting{Delivery: d, turn: turn, since: since})
}

// areNew reports whether the first atOnce deliveries can be inserted together. One that is in a digest, or a message
// already, depends on rows before it.
func areNew(all []approval.Delivery) bool {
	return len(all) >= atOnce && !slices.ContainsFunc(all[:atOnce], func(d approval.Delivery) bool {
		return d.State == approval.Folded || d.MessageID != ""
	})
}

// addDeliveries inserts atOnce deliveries that areNew.
func (t *tx) addDeliveries(a approval.Approval, all []approval.Delivery) (added []approval.Delivery, err error) {
	args := make([]any, 0, atOnce*deliveryArgs)
	for _, d := range all {
		if d, err = identified(a, d); err != nil {
			return nil, err
		}
		args = t.appendRow(args, a, d)
		added = append(added, d)
	}
	return added, t.put(insertDeliveries(), args...)
}

// addDelivery inserts a delivery of the approval, unless it is a message that is
// known already: two taps on one unknown copy of a card adopt it once.
func (t *tx) addDelivery(a approval.Approval, d approval.Delivery) (_ approval.Delivery, added bool, err error) {
	if d.MessageID != "" {
		known, found, err := t.keys.byMessage(context.Background(), t, d.Target.Normal(), d.MessageID)
		if err != nil || found && known.Key == a.Key {
			return d, false, err
		}
	}
	if d, err = identified(a, d); err != nil {
		return d, false, err
	}
	return d, true, t.put(insertDelivery, t.appendRow(make([]any, 0, deliveryArgs), a, d)...)
}

// identified is a new delivery of the approval, with all that names it.
func identified(a approval.Approval, d approval.Delivery) (approval.Delivery, error) {
	d.Key, d.Target = a.Key, d.Target.Normal()
	if d.ID == "" {
		id, err := uuid.NewV7() // ascending: deliveries of one moment keep their order
		if err != nil {
			return d, err
		}
		d.ID = id.String()
	}
	if d.CreatedMs == 0 {
		d.CreatedMs = nowMs()
	}
	return d, nil
}

// appendRow appends the values of insertDelivery, and notes what the delivery is once this is committed.
func (t *tx) appendRow(args []any, a approval.Approval, d approval.Delivery) []any {
	turn, since := urgency(d, !a.Final())
	t.stands(d, a.Version, turn, since)
	return append(args, d.ID, d.Key, string(d.Kind), d.Target.Channel, d.Target.To, d.Target.ThreadID,
		string(d.State), d.MessageID, d.ReplyTo, d.ForUser,
		stored(d.Attached), stored(d.Shown), stored(d.DenyOnly), stored(d.Fallback), d.Error,
		int64(d.Attempts), d.DueMs, d.Revision, int64(d.Rank), d.CreatedMs, turn, since, d.SentMs,
		stored(d.Silent), strings.Join(d.Mention, " "), d.Digest, t.keys.rows.delivery(d).end())
}

const selectByMessage = `SELECT ` + deliveryColumns + ` FROM deliveries d
 WHERE d.channel = CAST($1 AS TEXT) AND d.chat = $2 AND d.message_id = $3 AND d.message_id <> ''
 ORDER BY d.created_ms DESC, d.id DESC LIMIT 1`

// ByMessage finds the delivery that a message in a chat (in any thread of it) is; false
// if the desk did not post that message. A message whose record is on its way to the disk
// is known: changes that are asked for from now on come after it.
func (s *Store) ByMessage(ctx context.Context, chat approval.Target, messageID string) (approval.Delivery, bool, error) {
	if d, ok := s.posted.find(chat.Normal().Chat(), messageID); ok {
		return d, true, nil
	}
	return s.keys.byMessage(ctx, s.read, chat.Normal(), messageID)
}

// Posted gives a channel that is closed when ByMessage knows one message more
// that was posted here.
func (s *Store) Posted() <-chan struct{} {
	s.posted.mu.Lock()
	defer s.posted.mu.Unlock()
	return s.posted.more
}

func (k keyring) byMessage(
	ctx context.Context, q querier, chat approval.Target, messageID string,
) (d approval.Delivery, found bool, err error) {
	rows, err := q.query(ctx, selectByMessage, chat.Channel, chat.To, messageID)
	if err != nil {
		return d, false, err
	}
	return k.oneDelivery(rows)
}

// oneDelivery gives the one delivery of rows, if there is one and it is believed.
func (k keyring) oneDelivery(rows result) (d approval.Delivery, found bool, err error) {
	err = each(rows, func() (err error) { found, err = k.scanDelivery(rows, nil, &d); return err })
	if !found {
		d = approval.Delivery{}
	}
	return d, found, err
}
