package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// copied are the tables that [Copy] takes along, with their columns, parents
// before children. The first so many columns are a row's key.
var copied = []struct {
	table   string
	key     int
	columns string
}{
	{"approvals", 1, "key, version, owner, id, status, agent_id, session_key, tool_name, fingerprint, created_ms, " +
		"expires_ms, timer_ms, resolved_ms, kept_ms, round_ms, risk, body, sealed, mac"},
	{"owners", 1, "owner, pending"},
	{"approval_ids", 2, "id, owner, key, mac"},
	{"deliveries", 2, `key, id, kind, channel, chat, thread, state, message_id, reply_to, for_user,
 attached, shown, deny_only, fallback, error, attempts, due_ms, revision, rank, created_ms, turn, since_ms,
 sent_ms, silent, mention, digest, mac`},
	{"digest_lists", 3, "key, id, version, keys, drawn_ms"},
	{"grants", 1, "id, owner, agent_id, name, session_key, approval, created_ms, expires_ms, body, mac"},
	{"passkeys", 1, "id, person, sign_count, backed_up, used_ms, created_ms, body, mac"},
	{"suspended_passkeys", 1, "id, person, sign_count, backed_up, used_ms, created_ms, body, suspended_ms, mac"},
	{"tools", 3, "owner, server, tool, hash"},
	{"absences", 1, "person, stand_in, since_ms, until_ms, said_by, mac"},
	{"moves", 2, "old_channel, old_chat, new_channel, new_chat, mac"},
	{"push_subscriptions", 1, "id, person, endpoint, p256dh, auth, browser, created_ms, session"},
	{"silences", 2, "channel, chat, since_ms, tried_ms"},
	{"inbound", 2, "source, id, body, received_ms, waited, handled_ms, mac"},
	{"sessions", 1, "id, cookie, person, how, browser, enrols, created_ms, used_ms, ends_ms, mac"},
	{"login_links", 1, "hash, person, made_by, enrols, ends_ms, mac"},
	{"spent", 1, "hash, ends_ms"},
	{"notices", 1, "id, channel, chat, text, session, created_ms, due_ms, attempts"},
	{"events", 1, "seq, at_ms, type, key, owner, data, hash"},
}

const (
	copyHead = `UPDATE log_head SET seq = $1, hash = $2 WHERE id = 1`
)

// Copied is what [Copy] copied.
type Copied struct {
	Rows   map[string]int // by table
	Events int            // in the log
	Head   string         // hash of the log's newest entry, the same in both stores
}

// Copy copies all that one store holds into another, empty one, in one transaction. Each may be on either engine. It
// copies approvals with their sealed calls (sealed anew if the keys differ), deliveries, grants, platform updates and
// the log. The log is verified before in the one and after in the other, and must be the same. It refuses a source
// without any record, a target that holds anything, and stores that other instances have open. from need not run, to
// must ([Store.Run]); no other caller may use either.
func Copy(ctx context.Context, from, to *Store) (Copied, error) {
	c := Copied{}
	for _, s := range []*Store{from, to} {
		if err := s.onlyOne(ctx); err != nil {
			return c, err
		}
	}
	to.saying.say("checking the log of the store to copy from", 0, 0)
	n, head, err := from.Verify(ctx)
	if err != nil {
		return c, fmt.Errorf("the store to copy from failed its check, so it was not copied: %w", err)
	}
	if n == 0 {
		return c, errors.New("the store to copy from has an empty log, so there is no data to copy; name the store " +
			"that the desk used")
	}
	err = to.do(ctx, func(t *tx) error {
		c.Rows = map[string]int{}
		if err := t.empty(); err != nil {
			t.refused = true
			return err
		}
		for _, table := range copied {
			rows, err := t.copyTable(ctx, from, table.table, strings.Split(table.columns, ","), table.key, to.saying)
			if err != nil {
				return fmt.Errorf("table %s cannot be copied: %w", table.table, err)
			}
			c.Rows[table.table] = rows
		}
		if err := from.copyMeta(ctx, t); err != nil {
			return err
		}
		_, err := t.exec(copyHead, n, head)
		return err
	})
	if err != nil {
		return c, err
	}
	to.due.touch(anyChats)
	to.saying.say("checking the log of the copy", 0, 0)
	if c.Events, c.Head, err = to.Verify(ctx); err == nil && (c.Events != n || c.Head != head) {
		err = errors.New("the log of the copy differs from the log of the original")
	}
	if err != nil {
		return c, fmt.Errorf("do not use the copy, because it failed its check: %w", err)
	}
	return c, nil
}

// empty refuses a store that holds anything.
func (t *tx) empty() error {
	for _, table := range copied {
		n, err := t.count("SELECT COUNT(*) FROM (SELECT 1 AS one FROM " + table.table + " LIMIT 1) AS first_row")
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("the store to copy to is not empty, because its table %s has rows; name a new "+
				"store", table.table)
		}
	}
	return nil
}

// copyTable copies a table page by page, in the order of its key.
func (t *tx) copyTable(
	ctx context.Context, from *Store, table string, columns []string, key int, saying Saying,
) (n int, err error) {
	list := strings.Join(columns, ",")
	keys := strings.Join(columns[:key], ",")
	order := " ORDER BY " + keys + " LIMIT " + strconv.Itoa(copyPage)
	first := "SELECT " + list + " FROM " + table + order
	next := "SELECT " + list + " FROM " + table + " WHERE (" + keys + ") > (" + placeholders(key) + ")" + order
	insert := "INSERT INTO " + table + " (" + list + ") VALUES (" + placeholders(len(columns)) + ")"
	query, args := first, []any(nil)
	changes, err := readOne(ctx, from.read, readRevision)
	if err != nil {
		return 0, err
	}
	for {
		page, err := from.page(ctx, len(columns), query, args...)
		if err != nil {
			return n, err
		}
		for _, row := range page {
			if err := carry(table, columns, row, changes, from.keys, t.keys); err != nil {
				return n, err
			}
			if _, err := t.exec(insert, row...); err != nil {
				return n, err
			}
		}
		n += len(page)
		saying.say(fmt.Sprintf("copying %s: %d", table, n), 0, 0)
		if len(page) < copyPage {
			return n, nil
		}
		query, args = next, page[len(page)-1][:key]
	}
}

// page reads whole rows.
func (s *Store) page(ctx context.Context, columns int, query string, args ...any) (all [][]any, err error) {
	rows, err := s.read.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return wholeRows(rows, columns)
}

// carry makes a row fit for the other store: sealed calls are sealed with its key, MACs are
// checked and made anew, and platform updates are valid text.
func carry(table string, names []string, row []any, changes string, from, to keyring) error {
	for _, m := range marked {
		if handled := table == "inbound" && row[5] != int64(0); m.name == table && !handled {
			if err := m.carry(names, row, changes, from, to); err != nil {
				return err
			}
		}
	}
	switch table {
	case "approvals":
		last := len(row) - 2
		key, value := row[0].(string), row[last].(string)
		if value == "" || from.id == to.id {
			return nil
		}
		call, err := from.open(key, value)
		if err != nil {
			return err
		}
		row[last] = to.seal(key, call)
	}
	return nil
}

// carry gives a row, whose last column is its MAC, that of the other store. How often absences
// have changed is copied before them.
func (m markedTable) carry(names []string, row []any, changes string, from, to keyring) error {
	columns := make([]any, len(m.columns))
	for i, name := range m.columns {
		switch name {
		case absenceChanges:
			columns[i] = changes
			continue
		case inboundKey:
			columns[i] = words(row[:2])
			continue
		}
		columns[i] = row[slices.IndexFunc(names, func(n string) bool { return strings.TrimSpace(n) == name })]
	}
	last := len(row) - 1
	if from.rows.mac(m.name, columns) != row[last] {
		return fmt.Errorf("%w; remove that row from the store to copy from, or restore a backup in which the row was "+
			"not changed yet",
			from.rows.doubt(m.name, fmt.Sprint(row[0])))
	}
	if m.name == "inbound" {
		row[2] = cleaned(row[2].(string))
		columns[1] = row[2]
	}
	row[last] = to.rows.mac(m.name, columns)
	return nil
}

// copyMeta makes another store's log begin at the same entry as this one's, and copies
// how often absences have changed and which keys this store had before.
func (s *Store) copyMeta(ctx context.Context, t *tx) error {
	from, err := readLogStart(ctx, s.read)
	if err != nil {
		return err
	}
	if from.seq > 1 {
		if _, err := t.exec(setMeta, startName, strconv.FormatInt(from.seq, 10)+" "+from.before); err != nil {
			return err
		}
	}
	changes, err := readOne(ctx, s.read, readRevision)
	if err == nil && changes != "" {
		_, err = t.exec(setMeta, absencesName, changes)
	}
	if err == nil && s.put { // what it would hand out is still to be revoked
		_, err = t.exec(setMeta, copyName, isRestored)
	}
	if err != nil {
		return err
	}
	retired, err := s.Retired(ctx)
	if err != nil || len(retired) == 0 {
		return err
	}
	return t.retire(t.keys, retired)
}
