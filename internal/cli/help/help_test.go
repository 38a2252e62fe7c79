package help

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30)
	for text, want := range map[string]string{
		"one\ntwo":                   "one two",
		"one:\n  $ two\nthree\nfour": "one:\n  $ two\nthree four",
		"one\n\ntwo":                 "one\n\ntwo",
		long:                         strings.TrimSpace(strings.Repeat("word ", 15)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 15)) + " ",
	} {
		require.Equal(t, want, wrap(text, ""))
	}
	require.Equal(t, "  abcdef\n    "+strings.Repeat("x", 90), wrap("  abcdef "+strings.Repeat("x", 90), "    "))
	require.Equal(t, strings.Repeat("ä", 78), wrap(strings.Repeat("ä", 78), ""))
}
