package store

import (
	"context"
	"math"
	"strconv"
	"strings"

	"approvalbot/internal/approval"
)

const (
	insertInbound = `INSERT INTO inbound (source, id, body, received_ms, waited, handled_ms, mac)
 VALUES ($1, $2, $3, $4, $5, 0, $6)
 ON CONFLICT (source, id) DO NOTHING`
	// openInbound is a page of them, and whether the log says that each was handled.
	openInbound = `SELECT id, body, received_ms, waited, mac, CASE WHEN ` + inLog + ` THEN 1 ELSE 0 END FROM inbound
 WHERE source = $1 AND handled_ms = 0 AND (received_ms, id) > ($2, $3)
 ORDER BY received_ms, id LIMIT CAST($4 AS BIGINT)`
	inLog = `EXISTS (SELECT 1 FROM events WHERE data || '' LIKE '{"update":%'
 AND data || '' = '{"update":"' || ` + inboundKey + ` || '"}')`
	putBackInbound = `SELECT ` + inboundKey + ` FROM inbound WHERE handled_ms = 0 AND ` + inLog
)

// SaveInbound stores platform updates, all of them or, on an error, not one; those that
// are known already stay as they are. Once it returns nil they may be confirmed to the
// platform.
func (s *Store) SaveInbound(ctx context.Context, in []approval.Inbound) error {
	if len(in) == 0 {
		return nil
	}
	return s.do(ctx, func(t *tx) error {
		t.own.inbound = true
		for _, i := range in {
			body := cleaned(string(i.Body))
			mac := t.keys.rows.inbound(i.Source, i.ID, body, i.ReceivedMs, i.Waited).end()
			if _, err := t.exec(insertInbound, i.Source, i.ID, body, i.ReceivedMs, stored(i.Waited), mac); err != nil {
				return err
			}
		}
		return nil
	})
}

// inbound begins the MAC of a platform update that is not handled.
func (r *rowKey) inbound(source string, id int64, body string, receivedMs int64, waited bool) *maker {
	return r.row("inbound").text(inboundID(source, id)).text(body).number(receivedMs).number(stored(waited))
}

func inboundID(source string, id int64) string { return source + " " + strconv.FormatInt(id, 10) }

// updateMark is what the log says of a platform update that changed something, see inLog.
func updateMark(source string, id int64) string { return `{"update":"` + inboundID(source, id) + `"}` }

// cleaned is a platform update as every engine can store it. JSON decoders read U+FFFD
// for what is replaced here, so the desk reads the same update.
func cleaned(body string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(body, "\ufffd"), "\x00", "\ufffd")
}

// Inbound gives at most limit updates of a source that are not handled yet, in order of arrival (of
// the platform's ids within one millisecond). One that something else than the desk stored, or put
// back, is left out, however many there are: it is no tap of a person.
func (s *Store) Inbound(ctx context.Context, source string, limit int) (all []approval.Inbound, err error) {
	after := approval.Inbound{ReceivedMs: math.MinInt64, InboundRef: approval.InboundRef{ID: math.MinInt64}}
	for {
		rows, err := s.read.query(ctx, openInbound, source, after.ReceivedMs, after.ID, limit)
		if err != nil {
			return nil, err
		}
		n := 0
		err = each(rows, func() error {
			i := approval.Inbound{InboundRef: approval.InboundRef{Source: source}}
			var body, mac text
			var handled truth
			err := rows.Scan((*number)(&i.ID), &body, (*number)(&i.ReceivedMs), (*truth)(&i.Waited), &mac, &handled)
			if err != nil {
				return err
			}
			n++
			after = i
			i.Body = []byte(body)
			if bool(handled) || !s.keys.rows.inbound(source, i.ID, string(body), i.ReceivedMs, i.Waited).fits(string(mac)) {
				_ = s.keys.rows.doubt("inbound", inboundID(source, i.ID)) // logged and counted
			} else if len(all) < limit {
				all = append(all, i)
			}
			return nil
		})
		if err != nil || n < limit || len(all) == limit {
			return all, err
		}
	}
}

// handled marks a platform update handled, and stores it if it comes along with the mark; its content is not kept.
// fresh is false when it was handled before; one that is not stored, and does not come along, is always fresh.
func (t *tx) handled(ref *approval.InboundRef) (fresh bool, err error) {
	if ref == nil {
		return true, nil
	}
	t.wrote, t.batch.wrote = true, true
	if u := ref.Unstored; u != nil {
		// These are not prefetched.
		n, err := t.writer.exec(storeDone, ref.Source, ref.ID, u.ReceivedMs, stored(u.Waited), nowMs())
		return n > 0, err
	}
	mark := updateMark(ref.Source, ref.ID)
	if n, err := t.writer.exec(markDone, nowMs(), ref.Source, ref.ID, mark); err != nil || n > 0 {
		t.update = mark
		return err == nil, err
	}
	n, err := t.count(countInbound, ref.Source, ref.ID)
	return n == 0, err
}

const (
	countInbound = `SELECT COUNT(*) FROM inbound WHERE source = $1 AND id = $2`
	// markDone marks no update of which the log says that it was handled: its row was put back.
	markDone = `UPDATE inbound SET handled_ms = $1, body = '' WHERE source = $2 AND id = $3 AND handled_ms = 0
 AND NOT EXISTS (SELECT 1 FROM events WHERE data || '' LIKE '{"update":%' AND data || '' = $4)`
	storeDone = `INSERT INTO inbound (source, id, body, received_ms, waited, handled_ms)
 VALUES ($1, $2, '', $3, $4, $5)
 ON CONFLICT (source, id) DO UPDATE SET handled_ms = excluded.handled_ms, body = '' WHERE inbound.handled_ms = 0`
)
