package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
)

// misread are lines that a parser of bash and real shells read otherwise: to the
// parser a text is printed, in the shells "rm -rf ~" runs.
var misread = []string{
	`echo "${x:-'$(rm -rf ~)'}"`, "echo \"$\\\n(rm -rf ~)\"", "cat <<E\n\\\nE\nrm -rf ~\nE", "cat <<E\n${x:-\nE\nrm -rf ~\n}\nE", "git commit -m \"$(cat <<'EOF'\nfix\nEOF)\"\nrm -rf ~\nEOF\n)\"",
	"cat <<E'\n'F\nE\nrm -rf ~\nEF", "cat <<-E\n\t\\\n\tE\nrm -rf ~\n\tE", "echo a=~/x =rm", `echo "é\"; rm -rf ~; echo \""`, "ls *(e:'rm -rf ~':)", "echo $x[$(rm -rf ~)]", "ls # \\\nrm -rf ~",
}

// TestAdversary_W11_ParserAndShellDisagree: no such line runs unasked, however it is
// given, and the trace says where it leaves the grammar.
func TestAdversary_W11_ParserAndShellDisagree(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for _, line := range misread {
		calls := []approval.Call{lineCall(t, line), callOf(t, "Bash", map[string]any{"command": line})}
		for _, shell := range []string{"bash", "sh", "zsh", "dash", "mksh"} {
			calls = append(calls, callOf(t, "exec", map[string]any{"argv": []string{shell, "-lc", line}}), lineCall(t, shell+" -c "+quote(line)), lineCall(t, "ls && timeout 5 "+shell+" -c "+quote(line)))
		}
		for _, c := range calls {
			j := judge(e, c)
			require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s", c.Params)
			require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3, "%s", c.Params)
		}
	}
	j := judge(e, lineCall(t, "ls && echo `pwd`"))
	require.Equal(t, []string{"unusual-shell"}, j.Assessment.ReasonCodes)
	require.Equal(t, approval.OutcomeAsk, j.Outcome)
	var texts []string
	for _, s := range j.Trace {
		texts = append(texts, s.Text)
	}
	require.Contains(t, texts, finding.Reasons[finding.UnusualShell].Text+" It is at byte 12: \"`\".")
}
