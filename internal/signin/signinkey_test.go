package signin

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A challenge to sign in ends after five minutes, and is of one browser and one key.
func TestSignInChallenge(t *testing.T) {
	t.Parallel()
	k := randomSignInKey()
	c := k.challenge("browser", 1000)
	end := c.ExpiresMs
	require.Equal(t, 1000+CeremonyLife.Milliseconds(), end)
	got, ok := k.read(c.ID, "browser", end-1)
	require.True(t, ok)
	require.Equal(t, c, got)
	other := randomSignInKey()
	for _, x := range []struct {
		key       signInKey
		id, whose string
		now       int64
	}{{k, c.ID, "browser", end}, {k, c.ID, "other", 1000}, {other, c.ID, "browser", 1000}, {k, c.ID[:40], "browser", 1000}, {k, "", "browser", 1000}} {
		_, ok := x.key.read(x.id, x.whose, x.now)
		require.False(t, ok, x)
	}
}
