package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// By itself the desk has pages only where nobody but this machine reaches it.
func TestWebOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		enabled Switch
		listen  string
		behind  bool
		want    bool
	}{
		{"auto", "127.0.0.1:8787", false, true},
		{"auto", "[::1]:8787", false, true},
		{"auto", "localhost:8787", false, true},
		{"auto", "127.0.0.1:8787", true, false},
		{"auto", "0.0.0.0:8787", false, false},
		{"auto", ":8787", false, false},
		{"true", "0.0.0.0:8787", true, true},
		{"false", "127.0.0.1:8787", false, false},
	} {
		s := Server{Listen: c.listen, BehindProxy: c.behind, Web: Web{Enabled: c.enabled}}
		require.Equal(t, c.want, s.WebOn(), "%+v", c)
	}
}
