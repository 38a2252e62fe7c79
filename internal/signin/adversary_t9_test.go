package signin_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/signin"
)

// besideFile is a rig whose store is a file, and what writes to that beside the desk, without its key.
func besideFile(t *testing.T) (d *rig, change func(statement string, args ...any)) {
	t.Helper()
	d, file := inFile(t)
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return d, func(statement string, args ...any) {
		t.Helper()
		_, err := db.Exec(statement, args...)
		require.NoError(t, err)
	}
}

// rowsNamed reports how many rows the check of the store names.
func rowsNamed(t *testing.T, d *rig) (n int) {
	t.Helper()
	_, err := d.store.CheckRows(t.Context(), 0, nil, func(string) { n++ })
	require.NoError(t, err)
	return n
}

// A session that was not used for too long does not hold by a row that says otherwise.
func TestAdversary_T9_LapsedSessionByHand(t *testing.T) {
	d, change := besideFile(t)
	d.session(t, "old", signin.SessionIdle+time.Hour, 2*signin.SessionIdle)
	_, err := d.Session(t.Context(), "old")
	require.Error(t, err)
	change("UPDATE sessions SET used_ms = ?", time.Now().UnixMilli())
	_, err = d.Session(t.Context(), "old")
	require.Error(t, err)
	require.NotZero(t, rowsNamed(t, d))
}

// A row that says that a session was confirmed by a passkey enrols none.
func TestAdversary_T9_ConfirmedByHand(t *testing.T) {
	d, change := besideFile(t)
	require.NoError(t, d.store.ChangePasskeys(t.Context(), "alice", func([]signin.Passkey) (signin.PasskeyChange, error) {
		return signin.PasskeyChange{Add: &signin.Passkey{ID: "k1", Person: "alice"}}, nil
	}))
	s := d.session(t, "stolen", 2*time.Hour, time.Hour)
	change("INSERT INTO ceremonies (id, kind, expires_ms, body) VALUES ('confirmed stolen', 'confirmed', ?, ?)",
		time.Now().UnixMilli()+3_600_000, `{"kind":"confirmed","browser":"stolen","person":"alice"}`)
	_, err := d.Enrol(t.Context(), s, signin.Passkey{ID: "evil"})
	require.Error(t, err)
	require.NotZero(t, rowsNamed(t, d))
}
