package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"approvalbot/core"
)

// readOutcome is what the log says of how an approval ended and was handed out, and of grants
// that ended; the index events_outcome has the same condition.
const readOutcome = `SELECT type, CASE WHEN type = 'audit.claimed' THEN '' ELSE data END FROM events WHERE key = $1
 AND type IN ('tool.approval.resolved', 'tool.approval.revoked', 'audit.claimed', 'audit.grant_ended') ORDER BY seq`

// endedSince counts the records since a time that an operator's grant ended, by the index events_ended.
const endedSince = `SELECT COUNT(*) FROM events WHERE key = '' AND type = 'audit.grant_ended' AND at_ms >= $1
 AND data LIKE $2`

// oddOf is a record of an approval, or of none, whose type or key is no text: on SQLite a record that
// was made bytes is not found by these, though its hash fits. PostgreSQL keeps no bytes there.
const (
	odd   = `(type || '' <> type OR key || '' <> key)`
	oddOf = `SELECT seq FROM events WHERE ` + odd + ` AND key || '' = $1 LIMIT 1`
)

var outcomeTypes = []core.EventType{core.EventResolved, core.EventRevoked, core.EventClaimed, core.EventUngranted}

func outcomeOf(key string) read { return read{readOutcome, []any{key}, []int64{keyName(key)}} }

// logged is what the log says of one approval: a row that was put back to an older state has
// a MAC that fits, and the log goes on.
type logged struct {
	allowed bool     // the newest resolved allows
	claims  int      // how often it was handed out
	since   int      // of these, after the newest resolved
	revoked bool     // after the newest resolved
	undone  bool     // it was revoked after its first resolved, which ends the grants that it left
	ended   [][]byte // data of the grants that were ended
	// resolved is how many there are.
	resolved int
}

func (o *logged) add(kind core.EventType, data []byte) {
	switch kind {
	case core.EventResolved:
		var facts struct {
			Status core.Status `json:"status"`
		}
		o.allowed = json.Unmarshal(data, &facts) == nil && facts.Status == core.Approved
		o.since, o.revoked = 0, false
		o.resolved++
	case core.EventClaimed:
		o.claims++
		o.since++
	case core.EventRevoked:
		o.revoked = true
		o.undone = o.undone || o.resolved <= 1
	case core.EventUngranted:
		o.ended = append(o.ended, data)
	}
}

// legible refuses to go by the log's records of an approval, or of none, if one cannot be found by its
// type or key: a [*Disbelieved].
func (t *tx) legible(key string) error {
	if t.dialect.many {
		return nil
	}
	n, err := t.count(oddOf, key)
	if err == nil && n > 0 {
		t.refused, err = true, t.keys.rows.doubt("events", strconv.Itoa(n))
	}
	return err
}

// outcome reads what the log says, with what the batch is going to add to it.
func (t *tx) outcome(key string) (o logged, err error) {
	if err := t.legible(key); err != nil {
		return o, err
	}
	rows, err := t.rows(readOutcome, key)
	if err != nil {
		return o, err
	}
	err = each(rows, func() error {
		var kind, data text
		err := rows.Scan(&kind, &data)
		o.add(core.EventType(kind), []byte(data))
		return err
	})
	for _, e := range slices.Concat(t.done.events, t.own.events) {
		if e.Key == key && slices.Contains(outcomeTypes, e.Type) {
			o.add(e.Type, e.Data)
		}
	}
	return o, err
}

// claimsKnown is how often the approval says that it was handed out. An older release did not
// keep the runs before a retry.
func claimsKnown(a core.Approval) int {
	n := max(0, a.Retries-len(a.RetriedBy))
	for _, r := range a.RetriedBy {
		if r.Before.ClaimedAtMs != 0 {
			n++
		}
	}
	if a.ClaimedAtMs != 0 {
		n++
	}
	return n
}

// contradicts says what the log says otherwise than the row of an approval, or nothing.
func (o logged) contradicts(a core.Approval) string {
	switch {
	case a.Status != core.Approved:
		if o.allowed {
			return "the log says that it was allowed, and the row that it is " + string(a.Status)
		}
	case !o.allowed:
		return "the row says that it was allowed, and the log does not"
	case o.claims > claimsKnown(a) || a.ClaimedAtMs == 0 && o.since > 0:
		return "the log says that it was handed out, and the row does not"
	case a.ClaimedAtMs != 0 && o.since == 0:
		return "the row says that it was handed out, and the log does not"
	case o.revoked && a.RevokedAtMs == 0:
		return "the log says that it was revoked, and the row does not"
	}
	return ""
}

// handOut refuses to hand out an approval of which the log says otherwise than its row.
func (t *tx) handOut(c core.Change, before *core.Approval) error {
	if !c.HandsOut {
		return nil
	}
	if before == nil { // allowed and handed out in one commit
		return nil
	}
	o, err := t.outcome(before.Key)
	if err != nil {
		return err
	}
	what := o.contradicts(*before)
	if what == "" {
		return nil
	}
	t.refused = true
	_ = t.keys.rows.doubt("events", before.Key) // logged and counted
	return &core.Error{Code: core.CodeNotClaimable, Why: core.WhyPolicy, Message: "The desk's log and its record of " +
		before.Code + " differ, so it is not handed out: " + what + "; an operator looks with: approvalbot audit verify."}
}

// unended are the grants of which the log does not say that they ended: one that was removed
// may have been put back.
func (t *tx) unended(all []core.Grant) ([]core.Grant, error) {
	said := map[string]logged{}
	var failed error
	all = slices.DeleteFunc(all, func(g core.Grant) bool {
		if g.Kind == core.CoolDown || failed != nil { // it only refuses
			return false
		}
		ended, err := t.ended(g, said)
		if _, doubted := errors.AsType[*Disbelieved](err); doubted {
			return true
		}
		failed = err
		if ended {
			_ = t.keys.rows.doubt("grants", g.ID) // logged and counted
		}
		return ended
	})
	return all, failed
}

// ended reports whether the log says that a grant ended. said has what it says of approvals so far.
func (t *tx) ended(g core.Grant, said map[string]logged) (ended bool, err error) {
	if g.Approval == "" { // of these the log has many, and each grant only those since it was made
		if err := t.legible(""); err != nil {
			return false, err
		}
		n, err := t.count(endedSince, g.CreatedAtMs-clocksApartMs, "%"+g.ID+"%")
		return n > 0 || slices.ContainsFunc(slices.Concat(t.done.events, t.own.events), func(e core.Event) bool {
			return e.Type == core.EventUngranted && bytes.Contains(e.Data, []byte(g.ID))
		}), err
	}
	o, known := said[g.Approval]
	if !known {
		if o, err = t.outcome(g.Approval); err != nil {
			return false, err
		}
		said[g.Approval] = o
	}
	return o.undone || slices.ContainsFunc(o.ended, func(data []byte) bool {
		return bytes.Contains(data, []byte(g.ID))
	}), nil
}
