package store

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// A backup made under load is one moment of the store: whole, and good to go on
// with.
func TestBackup_UnderLoad(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	o := fileOptions(dir)
	s := openDisk(t, dir)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, err := createWhole(s)
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for i := range 3 {
		file := filepath.Join(elsewhere, fmt.Sprint(i), "desk.db")
		require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
		b, err := Backup(ctx, o.URL, file)
		require.NoError(t, err)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
		require.Equal(t, info.Size(), b.Bytes)
		require.Equal(t, s.keys.id, b.KeyID)
		names, err := os.ReadDir(filepath.Dir(file))
		require.NoError(t, err)
		require.Len(t, names, 1, "nothing is left beside it")
	}
	close(stop)
	wg.Wait()
	for i := range 3 {
		restored, err := Open(ctx, Options{URL: "sqlite:" + filepath.Join(elsewhere, fmt.Sprint(i), "desk.db"), KeyFile: o.KeyFile})
		require.NoError(t, err)
		start(t, restored)
		whole(t, restored)
		page, err := restored.List(ctx, core.Filter{Limit: 1})
		require.NoError(t, err)
		for _, a := range page.Items {
			call, err := restored.Sealed(ctx, a.Key)
			require.NoError(t, err)
			require.Equal(t, "call", string(call))
		}
		_, err = createWhole(restored)
		require.NoError(t, err)
	}
}

func TestBackup_Refuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileOptions(dir)
	s := openDisk(t, dir)
	chained(t, s, 5)
	for _, url := range []string{"sqlite::memory:", "postgres://x", "sqlite:", "sqlite:" + dir + "/none.db", "sqlite:" + o.KeyFile} {
		_, err := Backup(ctx, url, filepath.Join(dir, "b"))
		require.Error(t, err, url)
		require.NoFileExists(t, filepath.Join(dir, "b"))
	}
	require.NoFileExists(t, dir+"/none.db")
	_, err := Backup(ctx, o.URL, o.KeyFile)
	require.ErrorContains(t, err, "already exists")

	meddle(t, dir, `UPDATE events SET owner = 'x' WHERE seq = 3`)
	_, err = Backup(ctx, o.URL, filepath.Join(dir, "b"))
	require.ErrorContains(t, err, "log record 3 was changed")
	left, err := filepath.Glob(filepath.Join(dir, "b*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Looking at a store changes nothing in it, and needs neither its lock nor its key.
func TestOpenToRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileOptions(dir)
	s := openDisk(t, dir)
	all := chained(t, s, 5)
	look, err := OpenToRead(ctx, Options{URL: o.URL})
	require.NoError(t, err)
	got, err := look.Log(ctx, 0, 9)
	require.NoError(t, err)
	require.Equal(t, all, got)
	_, err = look.read.db.Exec(`DELETE FROM events`)
	require.Error(t, err)
	require.NoError(t, look.Close())

	look, err = OpenToRead(ctx, o)
	require.NoError(t, err)
	require.Equal(t, s.Seed(), look.Seed())
	require.NoError(t, look.Close())
	other := filepath.Join(dir, "other.key")
	_, err = makeKey(other)
	require.NoError(t, err)
	_, err = OpenToRead(ctx, Options{URL: o.URL, KeyFile: other})
	require.ErrorContains(t, err, "sealed with key")
}

// A store that is named by a relative path is backed up like any other.
func TestBackup_RelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s, err := Open(t.Context(), Options{URL: "sqlite:desk.db", KeyFile: "desk.key"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	b, err := Backup(t.Context(), "sqlite:desk.db", "copy.db")
	require.NoError(t, err)
	require.Positive(t, b.Bytes)
	require.FileExists(t, "copy.db")
}
