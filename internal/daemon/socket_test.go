//go:build unix

package daemon

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
)

// folder is a short directory of this user alone.
func folder(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "ab")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// stale leaves a socket at which nothing answers, as a desk that was killed does.
func stale(t *testing.T, path string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.NoError(t, os.Chmod(path, 0o666))
}

func TestAdversary_T6_TheSocketIsItsUsersAlone(t *testing.T) {
	before := syscall.Umask(0) // the most open one
	t.Cleanup(func() { syscall.Umask(before) })
	for name, leave := range map[string]func(path string){
		"a new one":    func(string) {},
		"a stale one":  func(path string) { stale(t, path) },
		"half a start": func(path string) { require.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(path), socketDraft), 0o777)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder(t), "desk.sock")
			leave(path)
			s, err := openSocket(path)
			require.NoError(t, err)
			info, err := os.Lstat(path)
			require.NoError(t, err)
			require.Equal(t, os.ModeSocket|0o600, info.Mode())
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing is left of its making")
			c, err := net.Dial("unix", path)
			require.NoError(t, err)
			require.NoError(t, c.Close())

			_, err = openSocket(path)
			require.ErrorIs(t, err, errLive, "the socket of a desk that runs stays")
			require.NoError(t, s.Close())
			require.NoFileExists(t, path)
			require.NoError(t, s.Close())
		})
	}
}

func TestAdversary_T6_NoSocketIfOthersCouldReplaceIt(t *testing.T) {
	open := func(name string, change func(dir, path string)) error {
		dir := folder(t)
		path := filepath.Join(dir, name)
		change(dir, path)
		s, err := openSocket(path)
		if err == nil {
			require.NoError(t, s.Close())
		}
		return err
	}
	chmod := func(mode os.FileMode) func(string, string) {
		return func(dir, _ string) { require.NoError(t, os.Chmod(dir, mode)) }
	}
	require.NoError(t, open("s", chmod(0o755)))
	require.ErrorContains(t, open("s", chmod(0o775)), "other users may write")
	require.ErrorContains(t, open("s", chmod(os.ModeSticky|0o777)), "other users may write")
	require.ErrorContains(t, open("gone/s", chmod(0o755)), "no such file")
	require.ErrorContains(t, open("s", func(_, path string) { require.NoError(t, os.WriteFile(path, nil, 0o600)) }), "not a socket")
	require.ErrorContains(t, open("s", func(dir, path string) { require.NoError(t, os.Symlink(filepath.Join(dir, "x"), path)) }), "not a socket")
	if os.Geteuid() == 0 {
		require.ErrorContains(t, open("s", func(dir, _ string) { require.NoError(t, os.Chown(dir, 12345, 12345)) }), "another user")
	}
}

// Another user who may look into the directory cannot keep the desk from its socket by a lock on it.
func TestAdversary_T6_AnotherUsersLockOnTheDirectory(t *testing.T) {
	dir := folder(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	theirs, err := os.Open(dir)
	require.NoError(t, err)
	defer theirs.Close()
	require.NoError(t, syscall.Flock(int(theirs.Fd()), syscall.LOCK_EX))
	s, err := openSocket(filepath.Join(dir, "desk.sock"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// A process that keeps the lock keeps a desk neither from saying so nor from stopping.
func TestAdversary_T6_ALockThatIsKept(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "desk.sock")
	s, err := openSocket(path)
	require.NoError(t, err)
	lock := filepath.Join(dir, socketLock)
	theirs, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer theirs.Close()
	require.NoError(t, syscall.Flock(int(theirs.Fd()), syscall.LOCK_EX))
	synctest.Test(t, func(t *testing.T) {
		_, err := openSocket(filepath.Join(dir, "other.sock"))
		require.ErrorContains(t, err, "holds the lock "+lock)
		require.NoError(t, s.Close())
	})
	require.FileExists(t, path)
	require.NoError(t, theirs.Close())
	s, err = openSocket(path)
	require.NoError(t, err, "what stayed is replaced, and a lock file that a crash left is no lock")
	require.NoError(t, s.Close())
	require.NoFileExists(t, lock)
}

// What is at the draft's name is removed only if a start has left it there.
func TestAdversary_T6_WhatIsAtTheDraftsName(t *testing.T) {
	for name, put := range map[string]func(dir, draft string) (stays string){
		"a file": func(_, draft string) string {
			require.NoError(t, os.WriteFile(draft, []byte("mine"), 0o600))
			return draft
		},
		"a link to a directory": func(dir, draft string) string {
			mine := filepath.Join(dir, "mine")
			require.NoError(t, os.Mkdir(mine, 0o700))
			stale(t, filepath.Join(mine, "s"))
			require.NoError(t, os.Symlink(mine, draft))
			return filepath.Join(mine, "s")
		},
		"a directory with a file": func(_, draft string) string {
			require.NoError(t, os.Mkdir(draft, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(draft, "s"), []byte("mine"), 0o600))
			return filepath.Join(draft, "s")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			stays := put(dir, filepath.Join(dir, socketDraft))
			_, err := openSocket(filepath.Join(dir, "desk.sock"))
			require.ErrorContains(t, err, "move away")
			_, err = os.Lstat(stays)
			require.NoError(t, err)
			require.NoFileExists(t, filepath.Join(dir, socketLock))
		})
	}
}

// A desk that stops removes its own socket, and not the one that took its place.
func TestTheSocketOfAnotherDeskIsNotRemoved(t *testing.T) {
	path := filepath.Join(folder(t), "desk.sock")
	first, err := openSocket(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	second, err := openSocket(path)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.FileExists(t, path)
	c, err := net.Dial("unix", path)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, second.Close())
	require.NoFileExists(t, path)
}

func TestWhichSocket(t *testing.T) {
	dir := folder(t)
	wide := folder(t)
	require.NoError(t, os.Chmod(wide, 0o777))
	long := filepath.Join(dir, strings.Repeat("x", socketPathMost))
	live, err := openSocket(filepath.Join(dir, "live"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = live.Close() })
	db := "sqlite:" + filepath.Join(dir, "desk.db")
	for name, x := range map[string]struct{ store, socket, at, logs, err string }{
		"beside SQLite":           {db, "", filepath.Join(dir, "approvalbot.sock"), "", ""},
		"where it is named":       {db, filepath.Join(dir, "s"), filepath.Join(dir, "s"), "", ""},
		"with PostgreSQL":         {"postgres://h/d", "", "", "", ""},
		"named, with PostgreSQL":  {"postgres://h/d", filepath.Join(dir, "s"), filepath.Join(dir, "s"), "", ""},
		"in memory":               {"sqlite::memory:", "", "", "", ""},
		"off":                     {db, "off", "", "", ""},
		"too long":                {db, long, "", "path is too long", ""},
		"beside SQLite, too long": {"sqlite:" + filepath.Join(long, "desk.db"), "", "", "path is too long", ""},
		"beside SQLite, open":     {"sqlite:" + filepath.Join(wide, "desk.db"), "", "", "other users may write", ""},
		"named, open":             {db, filepath.Join(wide, "s"), "", "", "other users may write"},
		"live":                    {db, filepath.Join(dir, "live"), "", "", "another process answers at this path; stop that process, or set server.socket"},
	} {
		t.Run(name, func(t *testing.T) {
			var logs bytes.Buffer
			d := &Daemon{log: slog.New(slog.NewTextHandler(&logs, nil))}
			d.cfg = config.Config{Server: config.Server{Socket: x.socket}, Store: config.Store{URL: x.store}}
			s, err := d.socket()
			if x.err != "" {
				require.ErrorContains(t, err, x.err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, x.at != "", s != nil)
			if s != nil {
				require.FileExists(t, x.at)
				require.NoError(t, s.Close())
			}
			require.Contains(t, logs.String(), x.logs)
			require.Equal(t, x.logs != "", strings.Contains(logs.String(), "WARN"))
		})
	}
}
