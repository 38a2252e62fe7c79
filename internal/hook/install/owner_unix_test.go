//go:build unix

package install

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A new file in a home is its user's alone, and one that is there keeps its mode and, where
// root writes, its owner.
func TestWrite_KeepsWhoseItIs(t *testing.T) {
	o := machine(t, "claude-code", User)
	changes, err := Plan(o)
	apply(t, changes, err)
	path := filepath.Join(o.Home, ".claude/settings.json")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	require.NoError(t, os.Chmod(path, 0o640))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(path, 12345, 12345))
	}
	changes, err = Plan(o)
	apply(t, changes, err)
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	if os.Geteuid() == 0 {
		require.EqualValues(t, 12345, info.Sys().(*syscall.Stat_t).Uid)
	}
}
