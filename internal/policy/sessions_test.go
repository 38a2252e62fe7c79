package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

const sessions = "testdata/sessions.tsv"

// TestSessionsStay compares lines of agents' sessions with what policy made of them before, for an asker that can confine
// them: harmless ones and dangerous ones, by writers who knew nothing of policy. A change shows line by line; -update
// rewrites the file.
func TestSessionsStay(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped, unsure)
	stored, err := os.ReadFile(sessions)
	require.NoError(t, err)
	var now strings.Builder
	count := map[string]int{}
	for line := range strings.Lines(string(stored)) {
		if strings.HasPrefix(line, "#") {
			now.WriteString(line)
			continue
		}
		cols := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		require.Len(t, cols, 3, line)
		j := judge(e, confinable(t, cols[2]))
		if cols[1] = j.Outcome.String(); j.Outcome == approval.OutcomeAllow && j.Confined != nil {
			cols[1] = "confined"
		}
		count[cols[0]+" "+cols[1]]++
		count[cols[0]]++
		got := strings.Join(cols, "\t") + "\n"
		if got != line && !*update {
			t.Errorf("was %s is  %s", line, got)
		}
		now.WriteString(got)
	}
	t.Log(count)
	require.Zero(t, count["harmless deny"])
	require.LessOrEqual(t, count["harmless ask"]*100, count["harmless"]*7, "questions that nobody needs")
	require.LessOrEqual(t, count["dangerous allow"], 7, "they write what a file tool may write, too")
	if *update {
		require.NoError(t, os.WriteFile(sessions, []byte(now.String()), 0o644))
	}
}
