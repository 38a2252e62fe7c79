package policy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/workspace"
)

// desked is the configuration that most tests use: agent main works in
// /workspace, and the desk's own files are known.
func desked() Config {
	return Config{
		Enabled:    true,
		Workspaces: map[string][]string{"main": {"/workspace"}},
		Protected: workspace.Protected{
			Files: []string{"/etc/approvalbot/config.yaml", "/var/lib/approvalbot/approvalbot.db", "/var/lib/approvalbot/approvalbot.key", "/var/lib/approvalbot/approvalbot.sock"},
			Port:  "127.0.0.1:8787",
		},
	}
}

func engine(t testing.TB, change ...func(*Config)) *Engine {
	t.Helper()
	cfg := desked()
	for _, f := range change {
		f(&cfg)
	}
	e, err := New(cfg)
	require.NoError(t, err)
	return e
}

// strict is the configuration in which what the table knows as R2 asks.
func strict(c *Config) { c.ExecSecurity, c.ExecStrict = "allowlist", true }

func params(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func callOf(t testing.TB, tool string, p any) approval.Call {
	return approval.Call{ToolName: tool, Params: params(t, p), AgentID: "main"}
}

func lineCall(t testing.TB, line string) approval.Call {
	return callOf(t, "exec", map[string]any{"command": line})
}

func judge(e *Engine, c approval.Call) approval.Judgement {
	c.Explain, c.Scope = true, true
	return e.Judge(context.Background(), c)
}

// row is one line of a specification: what is judged, its class, and codes that
// must be among its reasons ("+" in between, may be empty).
type row struct{ input, want string }

// check judges each row and compares.
func check(t *testing.T, rows []row, ask func(string) approval.Judgement) {
	t.Helper()
	for _, r := range rows {
		class, codes, _ := strings.Cut(r.want, " ")
		j := ask(r.input)
		got := j.Assessment
		if got.RiskClass.String() != class {
			t.Errorf("%-60q is %v %v, want %s", r.input, got.RiskClass, got.ReasonCodes, r.want)
			continue
		}
		for c := range strings.SplitSeq(codes, "+") {
			if c != "" && !slices.Contains(got.ReasonCodes, c) {
				t.Errorf("%-60q has %v, want %s", r.input, got.ReasonCodes, c)
			}
		}
	}
}

func checkLines(t *testing.T, e *Engine, rows []row) {
	t.Helper()
	check(t, rows, func(line string) approval.Judgement { return judge(e, lineCall(t, line)) })
}

// lines makes rows that all want the same.
func lines(want string, list ...string) (rows []row) {
	for _, l := range list {
		rows = append(rows, row{l, want})
	}
	return rows
}
