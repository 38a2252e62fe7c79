package policy

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// shipped is the policy of the example configuration: what reaches R3 asks, and of commands
// what the table recognises up to R2 runs unasked (exec: security allowlist, ask on-miss).
func shipped(c *Config) {
	c.Mode = "adaptive"
	c.AllowedApprovers = []approval.Factor{approval.UserRequest, approval.RulesBased}
	c.MinApprovals = 1
	c.RequireApprovalAtOrAbove, c.RequireHumanApproverAtOrAbove = new(approval.R3), new(approval.R3)
	c.RequireApprovalForExternalWrite, c.RequireApprovalForMessagingSend = new(true), new(true)
	c.ExecSecurity, c.ExecAsk = "allowlist", "on-miss"
}

// refusing is what an operator adds to it to have R4 refused.
func refusing(c *Config) { c.DenyAtOrAbove = new(approval.R4) }

// example is one call of the corpus.
type example struct {
	mark, class, outcome, tool, text string
}

func (x example) call(t testing.TB) approval.Call {
	if x.tool == "$" {
		return lineCall(t, strings.ReplaceAll(x.text, "␤", "\n"))
	}
	require.True(t, json.Valid([]byte(x.text)), x.text)
	return approval.Call{ToolName: x.tool, Params: json.RawMessage(x.text), AgentID: "main"}
}

// corpus reads testdata/corpus.tsv: mark, class, outcome, tool, params.
func corpus(t testing.TB) (list []example) {
	t.Helper()
	f, err := os.Open("testdata/corpus.tsv")
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		cols := strings.SplitN(lines.Text(), "\t", 5)
		require.Len(t, cols, 5, lines.Text())
		list = append(list, example{cols[0], cols[1], cols[2], cols[3], cols[4]})
	}
	return list
}

// TestCorpus judges calls that agents make, everyday ones, risky ones and
// destructive ones, the last in every disguise, under the shipped policy.
func TestCorpus(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	count := map[string]map[string]int{}
	for _, x := range corpus(t) {
		j := judge(e, x.call(t))
		if count[x.mark] == nil {
			count[x.mark] = map[string]int{}
		}
		count[x.mark][j.Outcome.String()]++
		count[x.mark]["all"]++
		if got := j.Assessment; got.RiskClass.String() != x.class || j.Outcome.String() != x.outcome {
			t.Errorf("%s %s: is %v %v %v, want %s %s", x.tool, x.text, got.RiskClass, j.Outcome, got.ReasonCodes, x.class, x.outcome)
		}
	}
	t.Logf("%-12s %6s %6s %6s %6s", "", "allow", "ask", "deny", "all")
	for _, mark := range []string{"everyday", "risky", "destructive"} {
		n := count[mark]
		t.Logf("%-12s %6d %6d %6d %6d", mark, n["allow"], n["ask"], n["deny"], n["all"])
	}
	daily := count["everyday"]
	require.LessOrEqual(t, 20*daily["ask"], daily["all"], "everyday work asks in at most one of twenty calls")
	require.Zero(t, daily["deny"], "and is never refused")
	require.Zero(t, count["destructive"]["allow"], "nothing destructive is ever allowed")
	require.GreaterOrEqual(t, daily["all"], 200)
	require.GreaterOrEqual(t, count["destructive"]["all"], 100)
	require.GreaterOrEqual(t, daily["all"]+count["risky"]["all"]+count["destructive"]["all"], 420)
}

// A desk tries a change of its policy on the whole corpus.
func TestExamplesAreTheCorpus(t *testing.T) {
	t.Parallel()
	examples, e := Examples(), engine(t, shipped)
	require.Len(t, examples, len(corpus(t)))
	for _, c := range examples {
		require.NotContains(t, e.Judge(t.Context(), c).Assessment.ReasonCodes, "malformed-call", string(c.Params))
	}
}
