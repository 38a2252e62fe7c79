package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	// isRecorded is true of the types of records that an approval counts, see [approval.Records]: those
	// of steps that change what may run. It is a row of OR, not IN: for an index's condition, SQLite makes a
	// table of the list of an IN each time that a record is written.
	isRecorded = `type = 'tool.approval.vote' OR type = 'tool.approval.resolved' OR type = 'tool.approval.expired'
 OR type = 'tool.approval.withdrawn' OR type = 'tool.approval.revoked' OR type = 'tool.approval.result'
 OR type = 'audit.claimed' OR type = 'audit.joined' OR type = 'audit.rejudged' OR type = 'audit.retry'`
	// isOutcome is the condition of the index events_outcome.
	isOutcome = `(` + isRecorded + ` OR type = 'audit.grant_ended')`
	// outcomeData is what is read of a record: all of it if it says how the approval or a grant
	// ended, else its number.
	outcomeData = `CASE WHEN type IN ('tool.approval.resolved', 'audit.grant_ended') THEN data
 ELSE substr(data, 1, 40) END`
	// readOutcome is what the log says of what became of an approval, and of grants that ended. SQLite
	// compares a bare parameter with what partial indexes have in its place (events_ended), and makes the
	// statement anew for each new key; of an expression it does not.
	readOutcome = `SELECT type, ` + outcomeData + `, seq FROM events WHERE key = CAST($1 AS TEXT) AND ` + isOutcome + `
 ORDER BY seq`
	// readLegible is readOutcome for SQLite, with those records of the approval that no look-up finds, see odd:
	// their type here is empty.
	readLegible = `SELECT type, ` + outcomeData + `, seq FROM events WHERE key = CAST($1 AS TEXT) AND ` + isOutcome + `
 UNION ALL SELECT '', '', seq FROM events WHERE ` + odd + ` AND key || '' = $1 ORDER BY 3`
)

// endedSince counts the records since a time that an operator's grant ended, by the index events_ended.
const endedSince = `SELECT COUNT(*) FROM events WHERE key = '' AND type = 'audit.grant_ended' AND at_ms >= $1
 AND data LIKE $2`

// oddOf is a record, of an approval or of the desk itself (empty key), whose type or key is no text: on SQLite a
// look-up by type or key does not find a record that was made bytes, though its hash fits. PostgreSQL keeps no bytes
// there.
const (
	odd   = `(type || '' <> type OR key || '' <> key)`
	oddOf = `SELECT seq FROM events WHERE ` + odd + ` AND key || '' = $1 LIMIT 1`
)

var (
	recordedTypes = []approval.EventType{approval.EventVote, approval.EventResolved, approval.EventExpired, approval.EventWithdrawn,
		approval.EventRevoked, approval.EventResult, approval.EventClaimed, approval.EventJoined, approval.EventRejudged, approval.EventRetry}
	outcomeTypes = append(slices.Clone(recordedTypes), approval.EventUngranted)
)

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
	first    int64 // the number of the first record that has one
	record   int64 // and of the newest
	skips    bool  // a number did not follow the one before: an older row was put back, and went on
}

func (o *logged) add(kind approval.EventType, data []byte) {
	if n := numberOf(data); n != 0 {
		if o.record == 0 {
			o.first = n
		}
		o.skips = o.skips || o.record != 0 && n != o.record+1
		o.record = n
	}
	switch kind {
	case approval.EventResolved:
		o.allowed = statusOf(data) == approval.Approved
		o.since, o.revoked = 0, false
		o.resolved++
	case approval.EventClaimed:
		o.claims++
		o.since++
	case approval.EventRevoked:
		o.revoked = true
		o.undone = o.undone || o.resolved <= 1
	case approval.EventUngranted:
		o.ended = append(o.ended, data)
	}
}

// statusOf is the status in a record's data, which comes early in it, so that most of a check's records need not be
// read to their end; empty if there is none.
func statusOf(data []byte) approval.Status {
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return ""
		}
		if name.String() != "status" {
			if d.SkipValue() != nil {
				return ""
			}
			continue
		}
		if status, err := d.ReadToken(); err == nil && status.Kind() == '"' {
			return approval.Status(status.String())
		}
		return ""
	}
}

// numberMark is what a numbered record's data begins with. The number says which it is of all
// that the log has of one thing; the thing's row has the newest, so an older row shows.
const numberMark = `{"record":`

// numbered is the data of a record, a JSON object or empty, with its number.
func numbered(data []byte, n int64) []byte {
	out := append(make([]byte, 0, len(data)+len(numberMark)+20), numberMark...)
	out = strconv.AppendInt(out, n, 10)
	if rest := bytes.TrimPrefix(data, []byte("{")); len(rest) > 1 {
		return append(append(out, ','), rest...)
	}
	return append(out, '}')
}

// numberOf is the number of a record, of which the beginning is enough; 0: it is not
// numbered.
func numberOf(data []byte) int64 {
	rest, is := bytes.CutPrefix(data, []byte(numberMark))
	end := bytes.IndexAny(rest, ",}")
	if !is || end < 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(rest[:end]), 10, 64)
	return n
}

// recording numbers those of a step's records that the approval counts, which is then at the newest.
func recording(a *approval.Approval, events []approval.Event) []approval.Event {
	out := slices.Clone(events)
	for i, e := range out {
		if e.Key == a.Key && slices.Contains(recordedTypes, e.Type) {
			a.Records++
			out[i].Data = numbered(e.Data, a.Records)
		}
	}
	return out
}

// saying reads what the log says, in a transaction.
type saying struct {
	keys    keyring
	many    bool // of PostgreSQL
	query   func(text string, args ...any) (result, error)
	pending []approval.Event // what the batch is going to add
}

// says is what the log says, with what the batch is going to add to it.
func (t *tx) says() saying {
	return saying{t.keys, t.dialect.many, t.rows, slices.Concat(t.done.events, t.own.events)}
}

// legible refuses to go by the log's records of an approval, or of the desk itself (empty key), if one of them cannot
// be found by its type or key: a [*Disbelieved].
func (l saying) legible(key string) error {
	if l.many {
		return nil
	}
	n, err := l.count(oddOf, key)
	if err == nil && n > 0 {
		err = l.keys.rows.doubt("events", strconv.Itoa(int(n)))
	}
	return err
}

func (l saying) count(text string, args ...any) (n number, err error) {
	rows, err := l.query(text, args...)
	if err == nil {
		_, err = one(rows, &n)
	}
	return n, err
}

// outcome reads what the log says of an approval. If it is not legible it is a [*Disbelieved].
func (l saying) outcome(key string) (o logged, err error) {
	query := readLegible
	if l.many {
		query = readOutcome
	}
	rows, err := l.query(query, key)
	if err != nil {
		return o, err
	}
	var hidden number
	err = each(rows, func() error {
		var kind, data text
		var seq number
		err := rows.Scan(&kind, &data, &seq)
		if kind == "" {
			hidden = seq
		}
		o.add(approval.EventType(kind), []byte(data))
		return err
	})
	if err == nil && hidden != 0 {
		err = l.keys.rows.doubt("events", strconv.Itoa(int(hidden)))
	}
	for _, e := range l.pending {
		if e.Key == key && slices.Contains(outcomeTypes, e.Type) {
			o.add(e.Type, e.Data)
		}
	}
	return o, err
}

// rowState is what a row of an approval says that the log says, too.
type rowState struct {
	status  approval.Status
	records int64 // the number of its newest record that has one
	claims  int   // how often it was handed out
	claimed bool
	revoked bool
}

// stateOf is what the row of an approval says. An older release did not keep the runs before a retry.
func stateOf(a approval.Approval) rowState {
	s := rowState{status: a.Status, records: a.Records, claims: max(0, a.Retries-len(a.RetriedBy)),
		claimed: a.ClaimedAtMs != 0, revoked: a.RevokedAtMs != 0}
	for _, r := range a.RetriedBy {
		if r.Before.ClaimedAtMs != 0 {
			s.claims++
		}
	}
	if s.claimed {
		s.claims++
	}
	return s
}

// older says that the row of an approval is not the newest, or that an older one was put back
// before; empty if neither is so. Records that retention has forgotten, or that a release wrote
// without numbers, are no evidence.
func (o logged) older(row rowState) string {
	switch {
	case o.skips:
		return "the log shows that somebody put back an older state of the approval"
	case o.record != 0 && o.record != row.records:
		return fmt.Sprintf("the approval's newest record is number %d in the log, but number %d in the "+
			"store", o.record, row.records)
	}
	return ""
}

// contradicts says how the log contradicts the row of an approval; empty if it does not.
func (o logged) contradicts(row rowState) string {
	switch {
	case row.status != approval.Approved:
		if o.allowed {
			return "the log says that the approval was allowed, but the store says that it is " + string(row.status)
		}
	case !o.allowed:
		return "the store says that the approval was allowed, but the log does not say so"
	case o.claims > row.claims || !row.claimed && o.since > 0:
		return "the log says that the call was handed out, but the store does not say so"
	case row.claimed && o.since == 0:
		return "the store says that the call was handed out, but the log does not say so"
	case o.revoked && !row.revoked:
		return "the log says that the approval was revoked, but the store does not say so"
	}
	return o.older(row)
}

// current refuses to hand out an approval if the log contradicts its row, and to count a yes for an
// approval whose row is not the newest.
func (t *tx) current(c core.Change, before *approval.Approval) error {
	countsYes := c.Absences != 0
	if before == nil || !c.HandsOut && !countsYes {
		return nil
	}
	o, err := t.says().outcome(before.Key)
	if err != nil {
		_, doubted := errors.AsType[*Disbelieved](err)
		t.refused = t.refused || doubted
		return err
	}
	row := stateOf(*before)
	what := o.older(row)
	if c.HandsOut {
		what = o.contradicts(row)
	}
	if what == "" {
		return nil
	}
	t.refused = true
	_ = t.keys.rows.doubt("events", before.Key) // logged and counted
	return &approval.Error{Code: approval.CodeNotClaimable, Why: approval.WhyPolicy, Message: "The desk's log and " +
		"its store contradict each other about " +
		before.Code + ", so the call is neither allowed nor handed out: " + what +
		". An operator can check both with: approvalbot audit verify."}
}

// unended leaves out the grants that have ended by the log: a row that was removed may have been
// put back.
func (l saying) unended(all []approval.Grant) ([]approval.Grant, error) {
	said := map[string]logged{}
	var failed error
	all = slices.DeleteFunc(all, func(g approval.Grant) bool {
		if g.Kind == approval.CoolDown || failed != nil { // it only refuses
			return false
		}
		ended, err := l.ended(g, said)
		if _, doubted := errors.AsType[*Disbelieved](err); doubted {
			return true
		}
		failed = err
		if ended {
			_ = l.keys.rows.doubt("grants", g.ID) // logged and counted
		}
		return ended
	})
	return all, failed
}

// ended reports whether the log says that a grant ended. said caches what the log says of each
// approval.
func (l saying) ended(g approval.Grant, said map[string]logged) (ended bool, err error) {
	if g.Approval == "" { // of these the log has many, and each grant only those since it was made
		if err := l.legible(""); err != nil {
			return false, err
		}
		n, err := l.count(endedSince, g.CreatedAtMs-clocksApartMs, "%"+g.ID+"%")
		return n > 0 || slices.ContainsFunc(l.pending, func(e approval.Event) bool {
			return e.Type == approval.EventUngranted && bytes.Contains(e.Data, []byte(g.ID))
		}), err
	}
	o, known := said[g.Approval]
	if !known {
		if o, err = l.outcome(g.Approval); err != nil {
			return false, err
		}
		said[g.Approval] = o
	}
	return o.undone || slices.ContainsFunc(o.ended, func(data []byte) bool {
		return bytes.Contains(data, []byte(g.ID))
	}), nil
}
