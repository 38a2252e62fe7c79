package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// A file with a damaged page is found by a look through it, and by a check of the rows.
func TestADamagedPageIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileOptions(dir)
	openAndClose(t, o, func(s *Store) {
		for range 200 {
			create(t, s, pendingApproval("bot"), core.Change{})
		}
		engine, whole, err := s.Check(ctx)
		require.NoError(t, err)
		require.True(t, whole)
		require.Contains(t, engine, "SQLite 3")
	})
	path := filepath.Join(dir, "desk.db")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for page := len(b)/4096 - 20; page < len(b)/4096; page++ { // of the newest rows and their indexes
		copy(b[page*4096:], "\x0a\xff\xff\xff\xff\xff\xff\xff")
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))

	s, err := OpenToRead(ctx, o)
	require.NoError(t, err)
	defer s.Close()
	_, _, err = s.Check(ctx)
	require.ErrorContains(t, err, "the database is damaged: ")
	var all []string
	_, err = s.CheckRows(ctx, 0, nil, func(problem string) { all = append(all, problem) })
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Contains(t, all[0], "the database is damaged: ")
}

// A long read of a SQLite store ends with its context, so that a desk which stops waits for no check.
func TestLongReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	o := fileOptions(t.TempDir())
	openAndClose(t, o, func(*Store) {})
	s, err := OpenToRead(ctx, o)
	require.NoError(t, err)
	defer s.Close()
	const forever = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n`
	soon, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	rows, err := s.read.queryLong(soon, forever)
	if err == nil {
		var n number
		_, err = one(rows, &n)
	}
	require.Error(t, err)
	require.Error(t, soon.Err())
}
