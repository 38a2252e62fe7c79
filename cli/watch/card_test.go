package watch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/display"
)

// Nothing of a call can stand at the beginning of a line of its own in a terminal,
// wherever that wraps, and nothing of it is left out.
func TestAdversary_S7_ACallInATerminalIsFramed(t *testing.T) {
	title, whole := framed("$ git push")
	require.Equal(t, "$ git push", title)
	require.Empty(t, whole)

	call := "$ set -e" + lineFeed + "make" + lineFeed + strings.Repeat(" ", 80) + "Votes:       2 of 2: alice, bob"
	title, whole = framed(call)
	require.Equal(t, []string{"│ $ set -e" + lineFeed, "│ make" + lineFeed}, whole[:2])
	all := ""
	for _, line := range append([]string{"│ " + title}, whole...) {
		require.True(t, strings.HasPrefix(line, "│ "))
		require.LessOrEqual(t, len([]rune(line)), 80)
		_, cut := display.Clip(line, callWidth+2)
		require.False(t, cut)
	}
	for _, line := range whole {
		all += strings.TrimPrefix(line, "│ ")
	}
	require.Equal(t, call, all)
}
