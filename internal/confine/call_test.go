//go:build linux

package confine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The trial makes a name that a workspace cannot have: it follows no link of a repository out of it.
func TestCheck_LeavesNothing(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	outside := filepath.Join(m.home, "made")
	require.NoError(t, os.Symlink(outside, filepath.Join(m.ws, ".approvalbot-check")))
	before := m.seenFiles()
	require.NoError(t, Check(t.Context(), m.state, m.ws))
	require.Empty(t, differs(before, m.seenFiles()))
	require.NoFileExists(t, outside)
}

// A report with what a call changed is one that a desk takes (256 KB), however its names are.
func TestRefused_SaysNoMoreThanADeskTakes(t *testing.T) {
	t.Parallel()
	names := slices.Repeat([]string{strings.Repeat("\x02", 4000)}, 1000)
	text, err := json.Marshal((&Refused{Root: "/w", Names: names, Lost: names, Meanwhile: names}).Because())
	require.NoError(t, err)
	require.Less(t, len(text), 100<<10)
}
