package program

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page has a heading for each program, and a line for each set of options that rows share.
func TestDescribe(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	page, shared, _ := strings.Cut(Describe(), "\n# Options that programs share\n")
	for line := range strings.Lines(page) {
		if names, is := strings.CutPrefix(strings.TrimSpace(line), "## "); is {
			for _, name := range strings.Split(names, ", ") {
				require.False(t, named[name], name)
				named[name] = true
			}
		}
	}
	for name := range entries() {
		require.True(t, named[name], name)
	}
	require.Len(t, named, len(entries()))
	for set := range tables().options() {
		require.Contains(t, shared, "- **"+set+"**: ")
	}
}
