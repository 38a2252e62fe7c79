package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// maxPage is the most that List gives at once, and what it gives unasked.
const maxPage = 200

// List gives approvals newest first, with deliveries. A Limit outside 1 to 200
// means 200. One that is not believed is left out. A Cursor that List did not make is CodeInvalidRequest.
func (s *Store) List(ctx context.Context, f core.Filter) (core.Page, error) {
	if f.Search != "" || f.Risk != nil && f.Status != approval.Pending {
		return s.search(ctx, f)
	}
	return s.list(ctx, f)
}

func (s *Store) list(ctx context.Context, f core.Filter) (core.Page, error) {
	if f.Limit < 1 || f.Limit > maxPage {
		f.Limit = maxPage
	}
	if !slices.Contains(statuses, f.Status) { // no approval has it
		return core.Page{}, nil
	}
	by, err := s.narrowest(ctx, conditionsOf(f))
	if err != nil {
		return core.Page{}, err
	}
	query, args, err := listQuery(f, by)
	if err != nil {
		return core.Page{}, err
	}
	rows, err := s.read.query(ctx, query, args...)
	if err != nil {
		return core.Page{}, err
	}
	all, doubted, err := s.keys.scanApprovals(rows)
	if err != nil {
		return core.Page{}, err
	}
	p := core.Page{Items: all}
	if len(all) > f.Limit {
		p = core.Page{Items: all[:f.Limit], Next: cursor(all[f.Limit-1].CreatedAtMs, all[f.Limit-1].Key)}
	}
	if doubted != nil {
		p.Items = slices.DeleteFunc(p.Items, func(a approval.Approval) bool { return doubted[a.Key] != nil })
	}
	return p, nil
}

// statuses are those that a filter may name.
var statuses = []approval.Status{"", approval.Pending, approval.Approved, approval.Denied, approval.Expired, approval.Withdrawn}

// condition is what a filter asks of one column.
type condition struct {
	column string
	value  string
	text   string // what the column is compared with, if not a parameter: so the condition of a partial index is met
	lane   bool   // an index begins with the column, ordered by created_ms + 0
}

// conditionsOf are those of a filter that an index knows: not the status approved, which most have.
func conditionsOf(f core.Filter) (all []condition) {
	switch f.Status {
	case approval.Pending:
		all = append(all, condition{column: "status", text: "status = 'pending'"})
	case approval.Denied, approval.Expired, approval.Withdrawn:
		all = append(all, condition{column: "status", lane: true, text: "status = '" + string(f.Status) + "'"})
	}
	for _, c := range []condition{{column: "owner", value: f.Owner}, {column: "agent_id", value: f.AgentID, lane: true},
		{column: "session_key", value: f.SessionKey, lane: true}, {column: "tool_name", value: f.ToolName, lane: true}} {
		if c.value != "" {
			all = append(all, c)
		}
	}
	return all
}

// sql is the condition, by its index or, if another one's is used, by none. param gives a parameter's place.
func (c condition) sql(indexed bool, param func(any) string) string {
	column := c.column
	if !indexed {
		column += " || ''"
	}
	switch {
	case c.text != "":
		return strings.Replace(c.text, c.column, column, 1)
	case indexed && (c.column == "agent_id" || c.column == "session_key"):
		return column + " = " + param(c.value) + " AND " + column + " <> ''" // as the partial index has it
	}
	return column + " = " + param(c.value)
}

// fewRows is how many approvals of each condition are counted to find the narrowest.
const fewRows = 1000

// narrowest gives the condition that the fewest approvals meet, which leads to an index; nil: there is none. A planner
// cannot tell, since SQLite has no statistics and PostgreSQL's are of yesterday.
func (s *Store) narrowest(ctx context.Context, all []condition) (*condition, error) {
	if len(all) < 2 {
		return first(all), nil
	}
	var args []any
	param := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	counts := make([]string, len(all))
	for i, c := range all { // without an order, PostgreSQL looks for a value that nothing has in all approvals
		order := "created_ms"
		if c.lane {
			order += " + 0"
		}
		counts[i] = fmt.Sprintf("(SELECT COUNT(*) FROM (SELECT 1 FROM approvals WHERE %s ORDER BY %s DESC LIMIT %d) AS c%d)",
			c.sql(true, param), order, fewRows, i)
	}
	rows, err := s.read.query(ctx, "SELECT "+strings.Join(counts, ", "), args...)
	if err != nil {
		return nil, err
	}
	n, dest := make([]number, len(all)), make([]any, len(all))
	for i := range n {
		dest[i] = &n[i]
	}
	if _, err := one(rows, dest...); err != nil {
		return nil, err
	}
	return &all[slices.Index(n, slices.Min(n))], nil
}

func first(all []condition) *condition {
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// listQuery selects one more approval than asked for, so that List knows whether
// there are more. It walks the index of one condition, or all approvals if by is nil.
func listQuery(f core.Filter, by *condition) (string, []any, error) {
	var where []string
	var args []any
	param := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	// The pending ones of an owner have an index of their own.
	pendingOf := by != nil && !by.lane && f.Status == approval.Pending
	for _, c := range conditionsOf(f) {
		where = append(where, c.sql(c == *by || pendingOf && !c.lane, param))
	}
	if f.Status == approval.Approved {
		where = append(where, "status = "+param(string(f.Status)))
	}
	switch {
	case f.Risk != nil && f.Status == approval.Pending:
		where = append(where, "risk = "+param(int64(*f.Risk)))
	case f.Risk != nil: // an older program wrote R4 for all that have ended, so these are looked at
		where = append(where, fmt.Sprintf("(risk = %s OR risk = %d)", param(int64(*f.Risk)), approval.R4))
	}
	if f.RoundAfterMs != 0 { // the number is spelled out as the small index of rounds has it
		where = append(where, "round_ms > 0 AND round_ms > "+param(f.RoundAfterMs))
	}
	created, key, err := before(f)
	if err != nil {
		return "", nil, err
	}
	// The first page has a bound too: it leads to an index in the right order. The expression leads to one that has not
	// the order of the page, but finds so few that they can be sorted.
	asked := "created_ms"
	if f.RoundAfterMs != 0 || by != nil && by.lane {
		asked = "created_ms + 0"
		where = append(where, asked+" <= "+param(created))
	}
	if f.SinceMs != 0 {
		where = append(where, asked+" >= "+param(f.SinceMs))
	}
	where = append(where, fmt.Sprintf("(%s, key) < (%s, %s)", asked, param(created), param(key)))
	return selectApprovals + "a.key IN (SELECT key FROM approvals WHERE " + strings.Join(where, " AND ") +
		" ORDER BY " + asked + " DESC, key DESC LIMIT CAST(" + param(f.Limit+1) + " AS BIGINT)) ORDER BY a.created_ms " +
		"DESC, a.key DESC, d.created_ms, d.id", args, nil
}

// before gives the place before which a page begins.
func before(f core.Filter) (created int64, key string, err error) {
	switch {
	case f.Cursor != "":
		return parseCursor(f.Cursor)
	case f.BeforeMs != 0:
		return f.BeforeMs, "", nil
	}
	return math.MaxInt64, "", nil
}

func cursor(createdMs int64, key string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", createdMs, key))
}

func parseCursor(s string) (created int64, key string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	ms, key, ok := strings.Cut(string(b), " ")
	if err == nil && ok {
		created, err = strconv.ParseInt(ms, 10, 64)
	}
	if err != nil || !ok {
		return 0, "", approval.Invalid(approval.FieldError{Field: "cursor", Problem: "is not the nextCursor of an " +
			"earlier page"})
	}
	return created, key, nil
}
