package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// What `promtool check metrics` says: nothing but of the name and of the labels that
// the blueprint gives.
func TestMetricsAsPromtoolWantsThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	problems, err := promlint.New(strings.NewReader(r.body("/metrics", ""))).Lint()
	require.NoError(t, err)
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool {
		return strings.HasPrefix(p.Metric, "tool_approval_") && strings.Contains(p.Text, "camelCase")
	})
	require.Len(t, problems, 1, "%v", problems)
	require.Equal(t, "tool_safety_classifier_latency_ms", problems[0].Metric)
}

// The documentation lists each metric with its labels, and none that is not there.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	var described []string
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:tool|approvalbot)_[^`]*)` \\|").FindAllStringSubmatch(string(page), -1) {
		described = append(described, m[1])
	}
	var have []string
	for name, labels := range describedMetrics(t) {
		if !strings.HasPrefix(name, "tool_") && !strings.HasPrefix(name, "approvalbot_") {
			continue
		}
		if all := strings.Join(labels, ","); all != "" {
			name += "{" + all + "}"
		}
		have = append(have, name)
	}
	require.ElementsMatch(t, have, described)
}

// Tools that the operator names are counted by their names, others are not; and a
// reload changes that.
func TestMetricsKnowTheToolsThatRulesName(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		r.tools = "    rules: [{name: ship, match: {tool: [ship_it, \"jira__*\"]}, outcome: ask}]\n"
	})
	ask := func(tool string) {
		_, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: tool, Params: []byte(`{}`), AgentID: "main"}, api.CreateOptions{})
		require.NoError(t, err)
	}
	count := func(tool string) string {
		m := regexp.MustCompile(`tool_approval_requests_total\{channel="none",riskClass="R3",risk_class="R3",tool="` + tool + `"\} (\d+)`).
			FindStringSubmatch(r.body("/metrics", ""))
		if m == nil {
			return ""
		}
		return m[1]
	}
	ask("ship_it")
	ask("jira__create")
	require.Equal(t, "1", count("ship_it"))
	require.Equal(t, "1", count("other"))
	require.Empty(t, count("jira__create"))

	r.tools = strings.Replace(r.tools, "ship_it", "other_tool", 1)
	r.reload()
	ask("ship_it")
	require.Equal(t, "1", count("ship_it"))
	require.Equal(t, "2", count("other"))
}

// An opinion that is not sure enough is a fallback as a missing one is, and its reason
// codes have one prefix.
func TestMetricsCountAnUnsureClassifier(t *testing.T) {
	t.Parallel()
	opinion := func(confidence string) string {
		return `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":` +
			fmt.Sprintf("%q", `{"riskClass":"R4","sideEffects":["none"],"confidence":`+confidence+`,"reasonCodes":["mass-mail"]}`) + `}}]}`
	}
	model := newOutsider(t, opinion("0.5"))
	r := newRig(t, func(r *rig) {
		r.tools = fmt.Sprintf("    classifier: {enabled: true, model: tiny, apiUrl: %q, timeoutMs: 30000}\n", model.URL)
	})
	ask := func(n int) api.Approval {
		a, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "deploy", Params: fmt.Appendf(nil, `{"n":%d}`, n), AgentID: "main"}, api.CreateOptions{})
		require.NoError(t, err)
		return a
	}
	const unsure = `tool_safety_classifier_fallback_total{reason="low-confidence"} 1`
	ask(1)
	require.Contains(t, r.body("/metrics", ""), unsure)
	model.say(opinion("1"))
	require.Contains(t, ask(2).ReasonCodes, "classifier:mass-mail")
	require.Contains(t, r.body("/metrics", ""), unsure)
}
