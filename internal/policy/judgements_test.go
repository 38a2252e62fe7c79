package policy

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

var update = flag.Bool("update", false, "rewrite testdata/judgements.tsv from what policy says now; read the diff")

const judgements = "testdata/judgements.tsv"

// judged reads the stored calls.
func judged(t testing.TB) (list []example) {
	t.Helper()
	stored, err := os.ReadFile(judgements)
	require.NoError(t, err)
	for line := range strings.Lines(string(stored)) {
		if cols := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 5); len(cols) == 5 {
			list = append(list, example{"judged", cols[0], cols[1], cols[3], cols[4]})
		}
	}
	return list
}

// TestJudgementsStay compares every stored call with what policy said of it
// before: class, outcome and reason codes, under the shipped policy. A change of
// policy shows here line by line, also where no other test looks.
func TestJudgementsStay(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	stored, err := os.ReadFile(judgements)
	require.NoError(t, err)
	var now strings.Builder
	looser, calls := 0, 0
	for line := range strings.Lines(string(stored)) {
		if strings.HasPrefix(line, "#") {
			now.WriteString(line)
			continue
		}
		cols := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 5)
		require.Len(t, cols, 5, line)
		calls++
		j := judge(e, example{tool: cols[3], text: cols[4]}.call(t))
		a := j.Assessment
		cols[0], cols[1], cols[2] = a.RiskClass.String(), j.Outcome.String(), strings.Join(a.ReasonCodes, ",")
		if got := strings.Join(cols, "\t") + "\n"; got != line {
			if !*update {
				t.Errorf("was %s is  %s", line, got)
			}
			if j.Outcome == approval.OutcomeAllow {
				looser++
			}
			line = got
		}
		now.WriteString(line)
	}
	require.Greater(t, calls, 9000, "calls are added, not taken away")
	if *update {
		t.Logf("%d changed lines are allowed now", looser)
		require.NoError(t, os.WriteFile(judgements, []byte(now.String()), 0o644))
	}
}
