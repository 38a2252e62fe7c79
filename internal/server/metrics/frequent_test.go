package metrics

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// A tool that is called often has its name in the label; what callers send makes a bounded number of
// labels, and none of a name that could be a sentence or a secret.
func TestFrequentToolsAreNamed(t *testing.T) {
	m := New("mail.send")
	call := func(tool string, times int) {
		for range times {
			m.Observe(core.Change{New: true, Approval: approval.Approval{Asked: approval.Asked{ToolName: tool}}})
		}
	}
	require.Equal(t, "mail.send", m.tool("mail.send"), "configured")
	call("deploy", frequentAfter)
	require.Equal(t, "other", m.tool("deploy"))
	call("deploy", 1)
	require.Equal(t, "deploy", m.tool("deploy"))
	for _, name := range []string{"", "two words", "ghp_" + string(make([]byte, 60)), "line\nbreak", "ä"} {
		call(name, 2*frequentAfter)
		require.Equal(t, "other", m.tool(name), "%q", name)
	}
	for i := range 10 * maxCounted {
		call(fmt.Sprint("once", i), 1)
	}
	require.LessOrEqual(t, len(m.tools.counts), maxCounted)
	for i := range 3 * maxFrequent {
		call(fmt.Sprint("t", i), 2*frequentAfter)
	}
	require.Len(t, m.tools.often, maxFrequent)
}
