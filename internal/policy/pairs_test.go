package policy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// Pairs of calls, by people who did not write the rules: a person allowed the first for a session,
// and the second comes later. "worse": they must be asked; "same": they are not; "asks": they are,
// though they would not mind.
func TestPairsOfASession(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) { c.Workspaces = map[string][]string{"main": {"/work/app"}} })
	text, err := os.ReadFile("testdata/pairs.tsv")
	require.NoError(t, err)
	call := func(kind, what, params string) approval.Call {
		if kind == "exec" {
			return lineCall(t, strings.ReplaceAll(what, "␤", "\n"))
		}
		require.True(t, json.Valid([]byte(params)), params)
		return approval.Call{ToolName: what, Params: json.RawMessage(params), AgentID: "main"}
	}
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		require.Len(t, f, 7, line)
		a, b := judge(e, call(f[1], f[2], f[3])), judge(e, call(f[4], f[5], f[6]))
		count[f[0]]++
		passes := b.Outcome == approval.OutcomeAllow || covered(a, b)
		require.Equal(t, f[0] == "same", passes, line)
	}
	require.Greater(t, count["worse"], 200)
}
