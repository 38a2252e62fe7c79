package answer

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Help is for who names no runtime: a runtime takes an answer that is none for a yes.
func TestCommand_HelpBesideARuntimeIsADeny(t *testing.T) {
	said := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := Command(t.Context(), args, Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &bytes.Buffer{}})
		return code, out.String()
	}
	code, text := said("-h")
	require.Zero(t, code)
	require.Equal(t, usage, text)
	for _, args := range [][]string{{"claude-code", "PreToolUse", "-h"}, {"--help", "claude-code"}} {
		_, text = said(args...)
		require.Contains(t, text, `"permissionDecision":"deny"`, args)
	}
}
