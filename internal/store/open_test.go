package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// openAndClose opens a store, does something with it and closes it again.
func openAndClose(t *testing.T, o Options, with func(*Store)) {
	t.Helper()
	s, err := Open(ctx, o)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	with(s)
	require.NoError(t, s.Close())
	require.NoError(t, <-done)
}

func refused(t *testing.T, o Options, want ...string) {
	t.Helper()
	s, err := Open(ctx, o)
	require.Nil(t, s)
	require.Error(t, err)
	for _, w := range want {
		require.ErrorContains(t, err, w)
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	o := fileOptions(t.TempDir())
	var a approval.Approval
	openAndClose(t, o, func(s *Store) {
		a = create(t, s, pendingApproval("bot"), core.Change{
			Seal: []byte("call"), Deliveries: []approval.Delivery{cardTo("1", 1, 10)},
			Events: []approval.Event{{Type: approval.EventRequested}},
		})
		require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{{InboundRef: approval.InboundRef{Source: "x", ID: 1}}}))
		_, ok, _, err := s.ClaimChat(ctx, "telegram", 100)
		require.NoError(t, err)
		require.True(t, ok)
	})
	openAndClose(t, o, func(s *Store) {
		got, err := s.Get(ctx, a.Key)
		require.NoError(t, err)
		require.Equal(t, a, got)
		call, err := s.Sealed(ctx, a.Key)
		require.NoError(t, err)
		require.Equal(t, "call", string(call))
		in, err := s.Inbound(ctx, "x", 10)
		require.NoError(t, err)
		require.Len(t, in, 1)
		_, ok, _, err := s.ClaimChat(ctx, "telegram", 100)
		require.NoError(t, err)
		require.True(t, ok, "nobody holds anything after a restart")
		require.NoError(t, s.Append(ctx, nil, approval.Event{Type: approval.EventVote}))
		n, _, err := s.Verify(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
	})
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s, err := Open(ctx, fileOptions(t.TempDir()))
	require.NoError(t, err)
	require.NoError(t, s.Close(), "without ever having run")
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Append(ctx, nil), errEnded)
	require.NoError(t, s.Run(ctx))
}

func TestRunFinishesWhatIsQueued(t *testing.T) {
	t.Parallel()
	s, err := Open(ctx, Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	defer s.Close()
	running, stop := context.WithCancel(ctx)
	results := make(chan error, 10)
	for range 10 {
		go func() { results <- s.Append(ctx, nil, approval.Event{Type: approval.EventVote}) }()
	}
	require.Eventually(t, func() bool { return len(s.jobs) == 10 }, patient, time.Millisecond)
	stop()
	require.NoError(t, s.Run(running))
	require.ErrorContains(t, s.Run(running), "twice")
	for range 10 {
		require.NoError(t, <-results)
	}
	require.ErrorIs(t, s.Append(ctx, nil), errEnded)
	n, _, err := s.Verify(ctx)
	require.NoError(t, err, "reading goes on until Close")
	require.EqualValues(t, 10, n)
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"desk.db", "sqlite:", "postgres:x", "postgre://user:hunter2@host/desk"} {
		refused(t, Options{URL: url}, "sqlite:<path>", "postgres://")
	}
	refused(t, Options{URL: "sqlite:" + filepath.Join(t.TempDir(), "no", "desk.db")}, "mkdir -p")
	refused(t, Options{URL: "sqlite:" + filepath.Join(t.TempDir(), "desk.db")}, "store.keyFile")

	folder := fileOptions(t.TempDir())
	folder.URL = "sqlite:" + t.TempDir()
	refused(t, folder, "it must be a file that this user may read and write")
	_, err := OpenToRead(ctx, folder)
	require.ErrorContains(t, err, "is a folder: give the path of the file in it")

	odd := filepath.Join(t.TempDir(), "a b?mode=memory#%41")
	require.NoError(t, os.Mkdir(odd, 0o700))
	o := fileOptions(odd)
	openAndClose(t, o, func(*Store) {})
	info, err := os.Stat(filepath.Join(odd, "desk.db"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// A child of this process that has not executed its program yet has a duplicate of the lock's descriptor. The store
// is free all the same.
func TestALockIsGivenUpWhoeverHasADuplicate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "desk.db.lock")
	lock, err := lockFile(path)
	require.NoError(t, err)
	duplicate, err := syscall.Dup(int(lock.file.Fd()))
	require.NoError(t, err)
	defer syscall.Close(duplicate)
	_, err = lockFile(path)
	require.ErrorContains(t, err, "store is in use")
	require.NoError(t, lock.Close())
	again, err := lockFile(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestSecondProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileOptions(dir)
	if os.Getenv("STORE_TEST_OPEN") != "" { // the second process
		o.URL, o.KeyFile = os.Getenv("STORE_TEST_OPEN"), os.Getenv("STORE_TEST_KEY")
		refused(t, o, "store is in use: process", "desk.db.lock", "stop that process")
		return
	}
	openAndClose(t, o, func(s *Store) {
		refused(t, o, "store is in use: process", filepath.Join(dir, "desk.db.lock"))
		link := filepath.Join(dir, "link.db")
		require.NoError(t, os.Symlink(filepath.Join(dir, "desk.db"), link))
		refused(t, Options{URL: "sqlite:" + link, KeyFile: o.KeyFile}, "store is in use")

		other := exec.Command(os.Args[0], "-test.run=^TestSecondProcess$")
		other.Env = append(os.Environ(), "STORE_TEST_OPEN="+o.URL, "STORE_TEST_KEY="+o.KeyFile)
		out, err := other.CombinedOutput()
		require.NoError(t, err, "%s", out)
		create(t, s, pendingApproval("bot"), core.Change{})
	})
	openAndClose(t, o, func(*Store) {})
}

func TestNewerSchema_ThatDoesNotSayWhatItNeeds(t *testing.T) {
	t.Parallel()
	o := fileOptions(t.TempDir())
	openAndClose(t, o, func(s *Store) {
		require.NoError(t, s.do(ctx, func(t *tx) error {
			_, err := t.exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
			if err == nil {
				_, err = t.exec("DELETE FROM meta WHERE name = $1", needsName)
			}
			return err
		}))
	})
	refused(t, o, "has schema 99", fmt.Sprintf("only schemas up to %d", newest(t)), "run a newer version")
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileOptions(dir)
	openAndClose(t, o, func(*Store) {})
	good, err := os.ReadFile(o.KeyFile)
	require.NoError(t, err)
	require.Regexp(t, "^[0-9a-f]{64}\n$", string(good))
	info, err := os.Stat(o.KeyFile)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = os.Stat(o.KeyFile + ".new")
	require.ErrorIs(t, err, os.ErrNotExist)

	put := func(b []byte, mode os.FileMode) {
		require.NoError(t, os.WriteFile(o.KeyFile, b, 0o600))
		require.NoError(t, os.Chmod(o.KeyFile, mode))
	}
	raw, err := hex.DecodeString(strings.TrimSpace(string(good)))
	require.NoError(t, err)
	put(raw, 0o400)
	openAndClose(t, o, func(*Store) {}) // raw bytes are the same key
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		put(good, mode)
		refused(t, o, "chmod 600 "+o.KeyFile)
	}
	put([]byte(strings.Repeat("ab", 32)), 0o600)
	refused(t, o, "holds key", "was sealed with key")
	put(good[:20], 0o600)
	refused(t, o, "holds 20 bytes", "64 hex digits")
	require.NoError(t, os.Remove(o.KeyFile))
	refused(t, o, "is missing", "put that file back")
	put(good, 0o600)
	openAndClose(t, o, func(*Store) {})

	// A new store takes a key that lies there: a crash before the store knew it,
	// or an operator's own.
	second := Options{URL: "sqlite:" + filepath.Join(dir, "second.db"), KeyFile: o.KeyFile}
	openAndClose(t, second, func(*Store) {})
	kept, err := os.ReadFile(o.KeyFile)
	require.NoError(t, err)
	require.Equal(t, good, kept)
}
