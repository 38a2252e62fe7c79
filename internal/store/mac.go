package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// rowKey makes and checks the MACs of rows: HMAC-SHA-256 under a key derived for that
// purpose, over the store's key id, its own id, the table, and every column that decides, the
// row's key among them. Each has its type and length in front, so that no two rows read the
// same. Safe for concurrent use.
type rowKey struct {
	begin  []byte // of what every MAC is over
	makers sync.Pool
	doubts doubts
}

// of is the keyring of one store, which makes and checks the MACs of its rows.
func (k keyring) of(storeID string, log *slog.Logger) keyring {
	r := &rowKey{doubts: doubts{log: log}}
	r.makers.New = func() any { return &maker{of: r, mac: hmac.New(sha256.New, k.macs)} }
	r.begin = (&maker{}).text("approvalbot row 1").text(k.id).text(storeID).buf
	k.store, k.rows = storeID, r
	return k
}

// row begins the MAC of a row of that table. Every column follows, in the table's order.
func (r *rowKey) row(table string) *maker {
	m := r.makers.Get().(*maker)
	m.buf = append(m.buf[:0], r.begin...)
	return m.text(table)
}

// maker makes one MAC after the other.
type maker struct {
	of  *rowKey
	mac interface { // a hash.Hash
		io.Writer
		Sum([]byte) []byte
		Reset()
	}
	buf    []byte
	sum    [sha256.Size]byte
	text64 []byte
}

func (m *maker) text(s string) *maker {
	m.buf = binary.BigEndian.AppendUint64(append(m.buf, 't'), uint64(len(s)))
	m.buf = append(m.buf, s...)
	return m
}

func (m *maker) number(n int64) *maker {
	m.buf = binary.BigEndian.AppendUint64(append(m.buf, 'n'), uint64(n))
	return m
}

// value is text or number, as a driver gives it.
func (m *maker) value(v any) *maker {
	switch v := v.(type) {
	case string:
		return m.text(v)
	case []byte:
		return m.text(string(v))
	case int64:
		return m.number(v)
	}
	m.buf = fmt.Appendf(append(m.buf, '?'), "%T", v) // the desk writes no such column
	return m
}

// end gives the MAC; the maker must not be used any more.
func (m *maker) end() string {
	defer m.of.makers.Put(m)
	return string(m.made())
}

// made is the MAC, until the maker makes another.
func (m *maker) made() []byte {
	m.mac.Reset()
	m.mac.Write(m.buf)
	m.text64 = base64.RawStdEncoding.AppendEncode(m.text64[:0], m.mac.Sum(m.sum[:0]))
	return m.text64
}

// fits reports whether that is the MAC; the maker must not be used any more.
func (m *maker) fits(mac string) bool {
	defer m.of.makers.Put(m)
	made := m.made()
	m.buf = append(m.buf[:0], mac...)
	return hmac.Equal(made, m.buf)
}

// mac is the MAC of a row, whose columns are in the order of [markedTable.columns].
func (r *rowKey) mac(table string, columns []any) string {
	m := r.row(table)
	for _, v := range columns {
		m.value(v)
	}
	return m.end()
}

// approval begins the MAC of a row of approvals, whose id and body are as stored.
func (r *rowKey) approval(a *approval.Approval, id, body string) *maker {
	return r.row("approvals").text(a.Key).number(a.Version).text(a.Owner).text(id).text(string(a.Status)).
		text(a.AgentID).text(a.SessionKey).text(a.ToolName).text(a.Fingerprint).
		number(a.CreatedAtMs).number(a.ExpiresAtMs).number(a.ResolvedAtMs).text(body)
}

// marked are the tables whose rows have MACs, with the columns that these are over. The
// first is the row's key.
var marked = []markedTable{
	{name: "approvals", columns: []string{"key", "version", "owner", "id", "status", "agent_id", "session_key", "tool_name",
		"fingerprint", "created_ms", "expires_ms", "resolved_ms", "body"}},
	{name: "grants", columns: []string{"id", "owner", "agent_id", "name", "session_key", "approval", "created_ms", "expires_ms", "body"}},
	{name: "passkeys", columns: []string{"id", "person", "sign_count", "backed_up", "used_ms", "created_ms", "body"}},
	{name: "suspended_passkeys", columns: []string{"id", "person", "sign_count", "backed_up", "used_ms", "created_ms", "body",
		"suspended_ms"}},
	// With how often absences have changed: one that was put back does not fit any more.
	{name: "absences", columns: []string{"person", "stand_in", "since_ms", "until_ms", "said_by", absenceChanges}},
	{name: "sessions", columns: []string{"id", "cookie", "person", "how", "browser", "enrols", "created_ms", "used_ms",
		"ends_ms"}},
	{name: "ceremonies", columns: []string{"id", "kind", "expires_ms", "body"}, later: true},
	{name: "login_links", columns: []string{"hash", "person", "made_by", "enrols", "ends_ms"}},
	{name: "approval_ids", columns: []string{"id", "owner", "key"}, key: []string{"id", "owner"}, later: true},
	// What is shown, in which chat, to whom, and with which buttons; not which message it
	// is.
	{name: "deliveries", columns: []string{"key", "id", "kind", "channel", "chat", "thread", "for_user", "shown", "deny_only"},
		key: []string{"key", "id"}, later: true},
	{name: "moves", columns: []string{"old_channel", "old_chat", "new_channel", "new_chat"},
		key: []string{"old_channel", "old_chat"}, later: true},
	{name: "inbound", columns: []string{inboundKey, "body", "received_ms", "waited"}, only: "handled_ms = 0",
		key: []string{"source", "id"}},
}

type markedTable struct {
	name    string
	columns []string
	only    string   // the condition of the rows that have one; empty: all
	key     []string // of a row; empty: the first column
	later   bool     // its rows have MACs since [macSchema] alone
}

func (m markedTable) keys() []string {
	if m.key == nil {
		return m.columns[:1]
	}
	return m.key
}

// isRow is the condition that names a row by its key, whose values follow that placeholder.
func (m markedTable) isRow(after int) string {
	var all []string
	for i, name := range m.keys() {
		all = append(all, name+" = $"+strconv.Itoa(after+1+i))
	}
	return strings.Join(all, " AND ")
}

// words is a row's key as people read it.
func words(key []any) string { return strings.TrimSpace(fmt.Sprintln(key...)) }

// inboundKey is the key of a platform update in one text.
const inboundKey = "source || ' ' || CAST(id AS TEXT)"

// where is the condition of the table's rows, after and beside a further one.
func (m markedTable) where(further string) string {
	all := slices.DeleteFunc([]string{m.only, further}, func(s string) bool { return s == "" })
	if len(all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(all, " AND ")
}

// Disbelieved is the error for a row whose MAC is not the one that the store's key gives it:
// another writer than the desk wrote it. It is a CodeNotFound: the row is treated as absent.
type Disbelieved struct {
	Table string
	ID    string // the row's key
}

// Error names the row, and how all such are found.
func (d *Disbelieved) Error() string {
	return fmt.Sprintf("row %.80q of table %s was not written by this desk (its MAC is wrong), so the desk ignores "+
		"the row; check the store with: approvalbot audit verify", d.ID, d.Table)
}

// Unwrap is what a caller may be told.
func (d *Disbelieved) Unwrap() error { return core.ErrDisbelieved }

// doubts are the rows that were not believed: each is logged and counted once.
type doubts struct {
	log   *slog.Logger
	mu    sync.Mutex
	known map[Disbelieved]bool
	rows  atomic.Int64
}

// maxDoubts is how many rows are told apart.
const maxDoubts = 10_000

// doubt gives the error for a row that is not believed.
func (r *rowKey) doubt(table, id string) error {
	d := &r.doubts
	row := Disbelieved{table, id}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known[row] && len(d.known) < maxDoubts {
		if d.known == nil {
			d.known = map[Disbelieved]bool{}
		}
		d.known[row] = true
		d.rows.Add(1)
		d.log.Error("store: ignored a row that this desk did not write; for details run: approvalbot audit verify",
			"table", table, "row", id)
	}
	return &row
}

const (
	// absenceChanges is the last column of an absence's MAC.
	absenceChanges = `COALESCE((` + readRevision + `), '')`
	readRevision   = `SELECT value FROM meta WHERE name = 'absences'`
)
