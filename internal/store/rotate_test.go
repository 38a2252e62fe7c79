package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

// meddle changes a store's file from outside.
func meddle(t *testing.T, dir, statement string, args ...any) {
	t.Helper()
	p, err := openPool(filepath.Join(dir, "desk.db"), 1, []string{"busy_timeout(5000)"})
	require.NoError(t, err)
	_, err = p.db.Exec(statement, args...)
	require.NoError(t, err)
	require.NoError(t, p.db.Close())
}

// retiring remembers which seeds it was shown.
func retiring(seen *[][keySize]byte) Retiring {
	return func(old, next [keySize]byte) (json.RawMessage, approval.Event, error) {
		*seen = append(*seen, old, next)
		return json.RawMessage(fmt.Sprintf(`{"n":%d}`, len(*seen)/2)), approval.Event{AtMs: 7, Type: approval.EventRekeyed}, nil
	}
}

func sealedCalls(t *testing.T, s *Store, n int) (keys []string) {
	for i := range n {
		keys = append(keys, create(t, s, pendingApproval("bot"), core.Change{Seal: fmt.Append(nil, "call ", i)}).Key)
	}
	return keys
}

func opens(t *testing.T, s *Store, keys []string) {
	t.Helper()
	for i, key := range keys {
		call, err := s.Sealed(ctx, key)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("call ", i), string(call))
	}
	_, _, err := s.Verify(ctx)
	require.NoError(t, err)
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileOptions(dir)
	s := openDisk(t, dir)
	keys := sealedCalls(t, s, copyPage+3)
	old, err := os.ReadFile(o.KeyFile)
	require.NoError(t, err)
	_, err = RotateKey(ctx, o, false, nil)
	require.ErrorContains(t, err, "store is in use")
	seed := s.Seed()
	require.NoError(t, s.Close())

	var seen [][keySize]byte
	first, err := RotateKey(ctx, o, true, retiring(&seen))
	require.NoError(t, err)
	require.Equal(t, len(keys), first.Calls)
	require.NotEqual(t, first.OldID, first.NewID)
	kept, err := os.ReadFile(first.OldFile)
	require.NoError(t, err)
	require.Equal(t, old, kept)
	second, err := RotateKey(ctx, o, false, retiring(&seen))
	require.NoError(t, err)
	require.Empty(t, second.OldFile)
	require.Equal(t, first.NewID, second.OldID)

	s = openDisk(t, dir)
	opens(t, s, keys)
	require.Equal(t, [][keySize]byte{seed, seen[1], seen[1], s.Seed()}, seen)
	retired, err := s.Retired(ctx)
	require.NoError(t, err)
	require.Equal(t, []json.RawMessage{json.RawMessage(`{"n":1}`), json.RawMessage(`{"n":2}`)}, retired)
	log, err := s.Log(ctx, 0, 9)
	require.NoError(t, err)
	require.Len(t, log, 2)
	require.Equal(t, approval.EventRekeyed, log[1].Type)
	info, err := os.Stat(o.KeyFile)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, names, 7, "database, WAL, its index, lock, key, its mark and one old key: %v", names)
	require.NotContains(t, names, o.KeyFile+nextKey)
}

// Interrupted before or after its commit, a rotation leaves a store that opens
// with all its calls.
func TestAdversary_P2_RotationInterrupted(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(t *testing.T, o Options, old, next []byte){
		"before the commit": func(t *testing.T, o Options, _, _ []byte) {
			_, err := draftKey(o.KeyFile)
			require.NoError(t, err)
		},
		"while it wrote the key": func(t *testing.T, o Options, _, _ []byte) {
			require.NoError(t, os.WriteFile(o.KeyFile+nextKey+".new", []byte("half"), 0o600))
		},
		"after the commit": nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := fileOptions(dir)
			s := openDisk(t, dir)
			keys := sealedCalls(t, s, 3)
			require.NoError(t, s.Close())
			old, err := os.ReadFile(o.KeyFile)
			require.NoError(t, err)
			if interrupt != nil {
				interrupt(t, o, old, nil)
			} else { // the files as they are between commit and rename
				_, err = RotateKey(ctx, o, false, retiring(new([][keySize]byte)))
				require.NoError(t, err)
				require.NoError(t, os.Rename(o.KeyFile, o.KeyFile+nextKey))
				require.NoError(t, os.WriteFile(o.KeyFile, old, 0o600))
			}
			s = openDisk(t, dir)
			opens(t, s, keys)
			require.NoError(t, s.Close())
			_, err = RotateKey(ctx, o, false, retiring(new([][keySize]byte)))
			require.NoError(t, err)
			require.NoFileExists(t, o.KeyFile+nextKey)
			s = openDisk(t, dir)
			opens(t, s, keys)
		})
	}
}

// A commit that fails leaves everything under the old key.
func TestRotateKey_ThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fileOptions(dir)
	s := openDisk(t, dir)
	keys := sealedCalls(t, s, 3)
	meddle(t, dir, `UPDATE approvals SET sealed = 'damaged' WHERE key = $1`, keys[2])
	require.NoError(t, s.Close())
	_, err := RotateKey(ctx, o, false, retiring(new([][keySize]byte)))
	require.ErrorContains(t, err, keys[2])
	s = openDisk(t, dir)
	opens(t, s, keys[:2])
	retired, err := s.Retired(ctx)
	require.NoError(t, err)
	require.Empty(t, retired)
}

// Whoever writes to the database without the key adds no key of their own.
func TestTampering_WithRetiredKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDisk(t, dir)
	keys := sealedCalls(t, s, 1)
	require.NoError(t, s.Close())
	_, err := RotateKey(ctx, fileOptions(dir), false, retiring(new([][keySize]byte)))
	require.NoError(t, err)
	s = openDisk(t, dir)
	for _, forged := range []string{`[{"n":9}]`, s.keys.id + ":" + "AAAA", "(SELECT sealed FROM approvals)"} {
		value := "'" + forged + "'"
		if strings.HasPrefix(forged, "(") {
			value = forged
		}
		meddle(t, dir, `UPDATE meta SET value = `+value+` WHERE name = 'retired-keys'`)
		_, err = s.Retired(ctx)
		require.ErrorContains(t, err, "retired-keys, which keeps the keys")
	}
	opens(t, s, keys)
}

// The same on PostgreSQL, where nothing but the other instances' presence locks.
func TestRotateKey_Postgres(t *testing.T) {
	t.Parallel()
	o := pgOptions(t, pgtest.New(t))
	s, err := Open(ctx, o)
	require.NoError(t, err)
	start(t, s)
	keys := sealedCalls(t, s, 5)
	_, err = RotateKey(ctx, o, false, retiring(new([][keySize]byte)))
	require.ErrorContains(t, err, "stop all instances")
	require.NoError(t, s.Close())
	r, err := RotateKey(ctx, o, false, retiring(new([][keySize]byte)))
	require.NoError(t, err)
	require.Equal(t, 5, r.Calls)
	s, err = Open(ctx, o)
	require.NoError(t, err)
	start(t, s)
	opens(t, s, keys)
}
