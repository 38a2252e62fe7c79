package core_test

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store"
)

// besideFile is a fixture whose store is a file, and what writes to that beside the desk, without its key.
func besideFile(t *testing.T) (d *fixture, change func(statement string, args ...any)) {
	t.Helper()
	d = newFixture(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "desk.db")
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite:" + file, KeyFile: filepath.Join(dir, "desk.key")})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	t.Cleanup(func() { require.NoError(t, s.Close()); require.NoError(t, <-ended) })
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	d.store, d.Gate = s, core.NewGate(s.CoreStores(), d.rules, slog.New(slog.DiscardHandler))
	return d, func(statement string, args ...any) {
		t.Helper()
		_, err := db.Exec(statement, args...)
		require.NoError(t, err)
	}
}

// rowsNamed reports how many rows the check of the store names.
func rowsNamed(t *testing.T, d *fixture) (n int) {
	t.Helper()
	_, err := d.store.CheckRows(t.Context(), 0, nil, func(string) { n++ })
	require.NoError(t, err)
	return n
}

// A row that names another owner's call gives it to no caller.
func TestAdversary_T9_AnothersCallByID(t *testing.T) {
	d, change := besideFile(t)
	a := d.submit(t, "ask")
	d.allow(t, a, bob)
	change("INSERT INTO approval_ids (id, owner, key) VALUES ('mine', 'mallory', ?)", a.Key)
	mallory := core.Caller{Token: "mallory", MayRequest: true}
	_, err := d.Get(t.Context(), mallory, "mine")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	_, err = d.Withdraw(t.Context(), mallory, "mine", "")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	_, err = d.Claim(t.Context(), mallory, "mine", core.ClaimInput{})
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	_, err = d.Report(t.Context(), mallory, "mine", "", approval.Result{Status: "succeeded"})
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	require.NotZero(t, rowsNamed(t, d))
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.NoError(t, err)
}

// A row says where a card is, that it showed the whole call, and that it has a button for a yes: one that
// the desk did not write so counts for nothing.
func TestAdversary_T9_DeliveryByHand(t *testing.T) {
	d, change := besideFile(t)
	a := d.submit(t, "ask")
	require.NotEmpty(t, a.Deliveries)
	change("UPDATE deliveries SET shown = 1, message_id = '5', state = 'sent'")
	_, err := d.Vote(t.Context(), a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"},
		Decision: approval.AllowOnce, Chat: &ops, ReceivedMs: a.CreatedAtMs + 1})
	require.Error(t, err, "no card was shown")
	require.NotZero(t, rowsNamed(t, d))
	got, err := d.store.Get(t.Context(), a.Key)
	require.NoError(t, err)
	require.Empty(t, got.Deliveries)
}

// A row with a text in a column of numbers, which SQLite keeps, counts for nothing and stops nothing else.
func TestAdversary_T9_NoNumbers(t *testing.T) {
	d, change := besideFile(t)
	a, b := d.submit(t, "ask"), d.submit(t, "serious")
	change("UPDATE approvals SET resolved_ms = 'x', timer_ms = 'x' WHERE key = ?", a.Key)
	change("INSERT INTO inbound (source, id, body, received_ms, waited, handled_ms, mac) VALUES ('telegram', 1, 'x', 'y', 0, 0, '')")
	change("INSERT INTO absences (person, stand_in, since_ms, until_ms, said_by, mac) VALUES ('zed', '', 'y', 0, '', '')")
	all, err := d.Chats().PendingCards(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, b.Key, all[0].Key)
	updates, err := d.store.Inbound(t.Context(), "telegram", 10)
	require.NoError(t, err)
	require.Empty(t, updates)
	away, err := d.store.Absences(t.Context())
	require.NoError(t, err)
	require.Empty(t, away.All)
	_, _, err = d.store.Due(t.Context(), time.Now().UnixMilli(), 10)
	require.NoError(t, err)
	require.Equal(t, 3, rowsNamed(t, d))
}
