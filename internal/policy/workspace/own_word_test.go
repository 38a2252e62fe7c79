package workspace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWantsOther(t *testing.T) {
	for _, line := range secretLines {
		require.NotContains(t, otherSigns, line)
		for _, c := range line {
			require.NotContains(t, otherSigns, string(c), "it stands in %q", line)
		}
	}
	for _, pattern := range []string{"func (s", "handler", "func.*?token", "1+"} {
		require.Equal(t, pattern != "func.*?token", wantsOther(pattern), pattern)
	}
	for _, pattern := range []string{"", "h?assword", "h*token", "h{0}token", "foo|token", "token", ".assword", "[f]oo"} {
		require.False(t, wantsOther(pattern), pattern)
	}
}
