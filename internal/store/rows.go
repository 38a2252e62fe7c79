package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// querier runs a read: a pool outside of any transaction, a tx inside one.
type querier interface {
	query(ctx context.Context, text string, args ...any) (result, error)
}

// text, number and truth scan a column into a string, an int64 or a bool; NULL
// leaves the zero value, as outer joins need it. SQLite keeps anything in a column of numbers: a
// value that is no number is read as noNumber, which the desk never writes and no MAC fits, so that
// such a row is not believed and does not stop the others.
type (
	text   string
	number int64
	truth  bool
	list   []string // words, with a blank between
)

// Scan implements sql.Scanner.
func (t *text) Scan(v any) error {
	switch v := v.(type) {
	case nil:
	case string:
		*t = text(v)
	case []byte:
		*t = text(v)
	default:
		return fmt.Errorf("a column of the database has %T instead of text", v)
	}
	return nil
}

const noNumber = math.MinInt64

// Scan implements sql.Scanner.
func (n *number) Scan(v any) error {
	switch v := v.(type) {
	case nil:
	case int64:
		*n = number(v)
	default:
		*n = noNumber
	}
	return nil
}

// Scan implements sql.Scanner.
func (f *truth) Scan(v any) error {
	var n number
	err := n.Scan(v)
	*f = n != 0
	return err
}

// Scan implements sql.Scanner.
func (l *list) Scan(v any) error {
	var t text
	err := t.Scan(v)
	if *l = nil; t != "" {
		*l = strings.Fields(string(t))
	}
	return err
}

// stored is a bool as it is stored.
func stored(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// result is what a statement gives: database/sql's rows, or an answer of PostgreSQL's.
type result interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// one scans a single row, if there is one, and closes rows.
func one(rows result, dest ...any) (found bool, err error) {
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := rows.Scan(dest...); err != nil {
		return false, err
	}
	return true, rows.Close()
}

// each scans every row with scan and closes rows.
func each(rows result, scan func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

const deliveryColumns = `d.id, d.key, d.kind, d.channel, d.chat, d.thread, d.state, d.message_id, d.reply_to,
 d.for_user,
 d.attached, d.shown, d.deny_only, d.fallback, d.error, d.attempts, d.due_ms, d.revision, d.rank, d.created_ms,
 d.sent_ms, d.silent, d.mention, d.digest, d.mac`

// deliveryDest gives the destinations of deliveryColumns for a scan.
func deliveryDest(d *approval.Delivery, attempts, rank *number, mac *text) []any {
	return []any{
		(*text)(&d.ID), (*text)(&d.Key), (*text)(&d.Kind),
		(*text)(&d.Target.Channel), (*text)(&d.Target.To), (*text)(&d.Target.ThreadID),
		(*text)(&d.State), (*text)(&d.MessageID), (*text)(&d.ReplyTo), (*text)(&d.ForUser),
		(*truth)(&d.Attached), (*truth)(&d.Shown), (*truth)(&d.DenyOnly), (*truth)(&d.Fallback), (*text)(&d.Error),
		attempts, (*number)(&d.DueMs), (*number)(&d.Revision), rank, (*number)(&d.CreatedMs),
		(*number)(&d.SentMs), (*truth)(&d.Silent), (*list)(&d.Mention), (*text)(&d.Digest), mac,
	}
}

// scanDelivery scans the current row: deliveryColumns, then more. believed is false if its MAC does not fit: then it
// must not be used.
func (k keyring) scanDelivery(
	rows result, before []any, d *approval.Delivery, after ...any,
) (believed bool, err error) {
	*d = approval.Delivery{}
	var attempts, rank number
	var mac text
	err = rows.Scan(append(append(before, deliveryDest(d, &attempts, &rank, &mac)...), after...)...)
	d.Attempts, d.Rank = int(attempts), int(rank)
	if err == nil && d.ID != "" && k.rows != nil && !k.rows.delivery(*d).fits(string(mac)) {
		_ = k.rows.doubt("deliveries", d.Key+" "+d.ID) // logged and counted
		return false, nil
	}
	return true, err
}

// delivery begins the MAC of a delivery.
func (r *rowKey) delivery(d approval.Delivery) *maker {
	return r.row("deliveries").text(d.Key).text(d.ID).text(string(d.Kind)).text(d.Target.Channel).text(d.Target.To).
		text(d.Target.ThreadID).text(d.ForUser).number(stored(d.Shown)).number(stored(d.DenyOnly))
}

const approvalColumns = `a.key, a.version, a.owner, a.id, a.status, a.agent_id, a.session_key, a.tool_name,
 a.fingerprint, a.created_ms, a.expires_ms, a.resolved_ms, a.body, a.mac`

// approvalDest gives the destinations of approvalColumns for a scan; then see readBody. They are the columns that an
// approval's MAC covers, in its order (see marked), and the MAC. A column that is derived from an approval only to search
// or sort by, such as risk, is written in apply.go and not read.
func approvalDest(a *approval.Approval, body, mac *text) []any {
	return []any{
		(*text)(&a.Key), (*number)(&a.Version), (*text)(&a.Owner), (*text)(&a.ID), (*text)(&a.Status),
		(*text)(&a.AgentID), (*text)(&a.SessionKey), (*text)(&a.ToolName), (*text)(&a.Fingerprint),
		(*number)(&a.CreatedAtMs), (*number)(&a.ExpiresAtMs), (*number)(&a.ResolvedAtMs), body, mac,
	}
}

// readBody completes an approval whose columns have been read: the one place where approvals
// are believed. A [*Disbelieved] is one whose MAC does not fit; all but its key is worthless.
func (k keyring) readBody(a *approval.Approval, body, mac text) error {
	if k.rows != nil && !k.rows.approval(a, a.ID, string(body)).fits(string(mac)) {
		return k.rows.doubt("approvals", a.Key)
	}
	if a.Code = core.KeyCode(a.Key); a.ID == "" {
		a.ID = a.Key
	}
	if err := json.Unmarshal([]byte(body), a); err != nil {
		return fmt.Errorf("approval %s cannot be read: %w", a.Key, err)
	}
	return nil
}

// selectApprovals gives an approval with its deliveries in one statement, so
// that both are of one moment: one row for each delivery, or one without.
const selectApprovals = `SELECT ` + approvalColumns + `, ` + deliveryColumns + `
 FROM approvals a LEFT JOIN deliveries d ON d.key = a.key WHERE `

const deliveriesInOrder = ` ORDER BY d.created_ms, d.id`

// scanApprovals reads the rows of selectApprovals, those of one approval side by
// side. doubted has the errors for those of all that are not believed, by key.
func (k keyring) scanApprovals(rows result) (all []approval.Approval, doubted map[string]*Disbelieved, err error) {
	err = each(rows, func() error {
		var a approval.Approval
		var body, mac text
		var d approval.Delivery
		believed, err := k.scanDelivery(rows, approvalDest(&a, &body, &mac), &d)
		if err != nil {
			return err
		}
		if len(all) == 0 || all[len(all)-1].Key != a.Key {
			err := k.readBody(&a, body, mac)
			if not, is := errors.AsType[*Disbelieved](err); is {
				if doubted == nil {
					doubted = map[string]*Disbelieved{}
				}
				doubted[a.Key] = not
			} else if err != nil {
				return err
			}
			all = append(all, a)
		}
		if last := &all[len(all)-1]; d.ID != "" && believed {
			last.Deliveries = append(last.Deliveries, d)
		}
		return nil
	})
	return all, doubted, err
}

// nowMs is the time as the store writes it.
func nowMs() int64 { return time.Now().UnixMilli() }

// array is a list as PostgreSQL writes one.
func array[T int64 | string](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		switch v := any(v).(type) {
		case int64:
			words[i] = strconv.FormatInt(v, 10)
		case string:
			words[i] = `"` + quoted.Replace(v) + `"`
		}
	}
	return "{" + strings.Join(words, ",") + "}"
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

const approvalByKey = selectApprovals + `a.key = $1` + deliveriesInOrder

// oneApproval gives the one approval that a query finds, or nil; a [*Disbelieved] is one that
// is not believed.
func (k keyring) oneApproval(ctx context.Context, q querier, query string, args ...any) (*approval.Approval, error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	all, doubted, err := k.scanApprovals(rows)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if not := doubted[all[0].Key]; not != nil {
		return nil, not
	}
	return &all[0], nil
}
