package core

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKeyCode(t *testing.T) {
	require.Equal(t, "000000", KeyCode("00000003-0000-4000-8000-000000000000"))
	require.Equal(t, "000001", KeyCode("00000004-0000-4000-8000-000000000000"))
	require.Equal(t, "ZZZZZZ", KeyCode("ffffffff-ffff-4fff-bfff-ffffffffffff"))
	for _, no := range []string{"", "mine", "deploy-1-and-more"} {
		require.Empty(t, KeyCode(no))
	}
	for _, no := range []string{"", "K7QX2", "K7QX2MM", "NOBODY", "k7qx2m"} {
		first, end := CodeKeys(no)
		require.Empty(t, first+end)
	}
	rapid.Check(t, func(t *rapid.T) {
		key, other := newKey(), newKey()
		first, end := CodeKeys(KeyCode(key))
		require.True(t, first <= key && key < end, "%s is not from %s to %s", key, first, end)
		require.Equal(t, KeyCode(other) == KeyCode(key), first <= other && other < end)
		last := end[:8] + key[8:]
		require.Equal(t, KeyCode(key), KeyCode(last))
	})
}
