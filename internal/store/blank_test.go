package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// schemaOf gives the statements of a database's schema, and the schema's version.
func schemaOf(t *testing.T, p *pool) (statements []string, version int) {
	t.Helper()
	rows, err := p.db.Query(`SELECT COALESCE(sql, name) FROM sqlite_master ORDER BY type, name`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		statements = append(statements, s)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, p.db.QueryRow(`SELECT MAX(version_id) FROM goose_db_version`).Scan(&version))
	return statements, version
}

// New stores in memory and on disk have the schema that the migrations make, and nothing else in
// common: each has an id of its own.
func TestNewStoresHaveTheMigrationsSchema(t *testing.T) {
	t.Parallel()
	p, err := openMemory()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.db.Close()) })
	_, err = migrate(ctx, p.db, sqlite, memory, migrations(), nil)
	require.NoError(t, err)
	want, version := schemaOf(t, p)
	require.Equal(t, newest(t), version)
	ids := map[string]bool{}
	for range 2 {
		for _, s := range []*Store{openInMemory(t), openDisk(t, t.TempDir())} {
			got, at := schemaOf(t, s.write)
			require.Equal(t, want, got)
			require.Equal(t, version, at)
			ids[s.keys.store] = true
		}
	}
	require.Len(t, ids, 4)
}

// The file of a new store is its owner's alone, and nothing else lies beside it.
func TestANewStoresFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "desk.db")
	require.NoError(t, os.WriteFile(path+".part", []byte("a start that was killed"), 0o644))
	require.NoError(t, begin(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// A log that lies where a database was taken away brings nothing of it into the new one.
func TestANewStoreBesideAnOldLog(t *testing.T) {
	t.Parallel()
	dir, old := t.TempDir(), t.TempDir()
	s := openDisk(t, old)
	a := create(t, s, pendingApproval("bot"), core.Change{})
	log, err := os.ReadFile(filepath.Join(old, "desk.db-wal"))
	require.NoError(t, err)
	require.NotEmpty(t, log)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "desk.db-wal"), log, 0o600))
	fresh := openDisk(t, dir)
	_, err = fresh.Get(ctx, a.Key)
	require.Error(t, err)
	require.Equal(t, 0, count(t, fresh, `SELECT COUNT(*) FROM approvals`))
}
