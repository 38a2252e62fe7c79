package store

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// grownStore makes a store of which a large part is free pages.
func grownStore(t *testing.T, records int) (o Options, dir string) {
	dir = t.TempDir()
	s := openDisk(t, dir)
	all := chained(t, s, records)
	require.NoError(t, s.CutLog(ctx, int64(records/2), all[records/2-1].Hash, approval.Event{Type: approval.EventCut}))
	_, err := s.DropCut(ctx)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return fileOptions(dir), dir
}

func compacts(o Options) (before Compaction, bytes int64, err error) {
	c, err := OpenToCompact(ctx, o)
	if err != nil {
		return before, 0, err
	}
	defer c.Close()
	bytes, err = c.Run(ctx)
	return *c, bytes, err
}

func TestCompact(t *testing.T) {
	t.Parallel()
	o, dir := grownStore(t, 3000)
	file := filepath.Join(dir, "desk.db")
	require.NoError(t, os.Chmod(file, 0o640))
	before, bytes, err := compacts(o)
	require.NoError(t, err)
	require.Less(t, bytes, before.Bytes*3/4)
	require.InDelta(t, before.Needs, bytes, float64(before.Needs)/10, "what it says before")
	require.Positive(t, before.Disk)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, bytes, info.Size())
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "the store's own")
	require.NoFileExists(t, file+"-wal")
	require.NoFileExists(t, file+draftSuffix)
	openAndClose(t, o, func(s *Store) {
		_, _, err := s.Verify(ctx)
		require.NoError(t, err)
		_, err = createWhole(s)
		require.NoError(t, err)
	})
}

func TestCompact_AloneWithTheStore(t *testing.T) {
	t.Parallel()
	o, dir := grownStore(t, 100)
	look, err := OpenToRead(ctx, o)
	require.NoError(t, err)
	_, _, err = compacts(o)
	require.ErrorContains(t, err, "another program has")
	_, _, err = look.Verify(ctx)
	require.NoError(t, err, "the reader goes on")
	require.NoError(t, look.Close())

	s := openDisk(t, dir)
	_, _, err = compacts(o)
	require.ErrorContains(t, err, "store is in use")
	require.NoError(t, s.Close())

	_, _, err = compacts(Options{URL: "postgres://desk@localhost/desk"})
	require.ErrorContains(t, err, "VACUUM FULL")
	_, _, err = compacts(o)
	require.NoError(t, err)
}

func TestCompact_FullDisk(t *testing.T) {
	t.Parallel()
	o, dir := grownStore(t, 100)
	c, err := OpenToCompact(ctx, o)
	require.NoError(t, err)
	c.Disk = c.Needs - 1
	_, err = c.Run(ctx)
	require.ErrorContains(t, err, "free some space")
	require.NoError(t, c.Close())
	require.NoFileExists(t, filepath.Join(dir, "desk.db"+draftSuffix))
	openAndClose(t, o, func(s *Store) {
		_, _, err := s.Verify(ctx)
		require.NoError(t, err)
	})
}

// TestCompact_Killed ends the process that compacts by SIGKILL at several points: the store is as it was, or compacted,
// and nothing is left of the copy once a desk has started.
func TestCompact_Killed(t *testing.T) {
	t.Parallel()
	if o := killedOptions(); o.URL != "" { // the process to be killed
		_, _, err := compacts(o)
		require.NoError(t, err)
		return
	}
	o, dir := grownStore(t, 6000)
	draft, file := filepath.Join(dir, "desk.db"+draftSuffix), filepath.Join(dir, "desk.db")
	var events int
	var head string
	openAndClose(t, o, func(s *Store) {
		var err error
		events, head, err = s.Verify(ctx)
		require.NoError(t, err)
	})
	killed := 0
	for _, part := range []int64{0, 1, 2, 4} { // quarters of the copy that are written by then
		c, err := OpenToCompact(ctx, o)
		require.NoError(t, err)
		needs := c.Needs
		require.NoError(t, c.Close())
		p := exec.Command(os.Args[0], "-test.run=^TestCompact_Killed$")
		p.Env = append(os.Environ(), "STORE_TEST_WRITE="+o.URL, "STORE_TEST_KEY="+o.KeyFile)
		require.NoError(t, p.Start())
		over := make(chan error, 1)
		go func() { over <- p.Wait() }()
		for ended := false; !ended; {
			info, err := os.Stat(draft)
			if err == nil && info.Size() >= part*needs*9/40 {
				require.NoError(t, p.Process.Kill())
				<-over
				killed++
				break
			}
			select {
			case <-over: // it was quicker
				ended = true
			case <-time.After(100 * time.Microsecond):
			}
		}
		require.NoError(t, databaseIsWhole(file))
		openAndClose(t, o, func(s *Store) {
			n, h, err := s.Verify(ctx)
			require.NoError(t, err)
			require.Equal(t, []any{events, head}, []any{n, h})
		})
		require.NoFileExists(t, draft)
	}
	require.Positive(t, killed)
	before, bytes, err := compacts(o)
	require.NoError(t, err)
	require.LessOrEqual(t, bytes, before.Bytes)
}

func databaseIsWhole(file string) error {
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		return err
	}
	defer db.Close()
	var found string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&found); err != nil || found != "ok" {
		return os.ErrInvalid
	}
	return nil
}
