package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client file that is another user's is refused: it would name that user's desk.
func TestAdversary_N7_AClientFileOfAnotherUser(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	require.NoError(t, err)
	require.True(t, ownedBy(info, os.Geteuid()))
	require.False(t, ownedBy(info, os.Geteuid()+1))
	if os.Geteuid() != 0 {
		return
	}
	path := filepath.Join(t.TempDir(), "client.yaml")
	require.NoError(t, os.WriteFile(path, []byte("token: x\n"), 0o600))
	require.NoError(t, os.Chown(path, 65534, -1))
	_, err = OpenClientFile(path)
	require.ErrorContains(t, err, "belongs to another user")
}
