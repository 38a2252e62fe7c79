package policy

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	holds := func(when string, c approval.Call) bool {
		t.Helper()
		return outcomeOf(ruleEngine(t, Rule{When: when, Outcome: "deny"}), c) == approval.OutcomeDeny
	}
	line := lineCall(t, "cd src && git push https://x.org/y && cat a")
	line.SessionKey, line.Context = "s1", approval.CallContext{Provider: "p", Model: "m", Group: "g", Sandboxed: true}
	for _, when := range []string{
		`call.toolName == "exec" && call.tool == "exec"`, `call.command.contains("git push")`, `size(call.argv) == 0`, `call.programs == ["cd", "git", "cat"]`, `"x.org" in call.hosts`, `call.class >= 3`,
		`call.paths.exists(p, p == "/workspace/src/a")`, `call.agentId == "main" && call.sessionKey == "s1"`, `"external_write" in call.sideEffects`, `call.params.command.matches("push")`, `"command" in call.params`, `!has(call.params.env)`,
		`call.context.provider == "p" && call.context.model == "m" && call.context.group == "g" && call.context.sandboxed && !call.context.subagent`,
	} {
		require.True(t, holds(when, line), when)
		require.False(t, holds("!("+when+")", line), when)
	}
	require.True(t, holds(`call.argv == ["ls", "-l"] && call.command == ""`, callOf(t, "exec", map[string]any{"argv": []string{"ls", "-l"}})))
	pay := callOf(t, "wire_funds", map[string]any{"amount": 250, "to": map[string]any{"iban": "X"}})
	require.True(t, holds(`call.params.amount > 100 && call.params.to.iban == "X"`, pay))

	const missing, heavy = `call.params.nothing == "x"`, `call.params.list.exists(a, (a + a).matches("n+o+p+q+r+s+"))`
	list := make([]string, 4000)
	for i := range list {
		list[i] = strings.Repeat("x", 40)
	}
	for when, c := range map[string]approval.Call{missing: callOf(t, "jira__create", map[string]any{}), heavy: callOf(t, "jira__create", map[string]any{"list": list})} {
		require.Equal(t, approval.OutcomeDeny, outcomeOf(ruleEngine(t, Rule{When: when, Outcome: "deny"}), c), "an error counts where it tightens")
		j := judge(ruleEngine(t, Rule{Match: Match{Tool: []string{"jira__create"}}, When: when, Outcome: "allow"}), c)
		require.Equal(t, approval.OutcomeAsk, j.Outcome, "and not where it loosens")
		require.Contains(t, j.Trace, approval.Step{Stage: "rules", Rule: "ra", Outcome: "error", Text: `The condition of the rule "ra" could not be evaluated; a rule that tightens counts then, a rule that loosens does not.`})
	}
}

func TestConditionMistakes(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rule{
		"undefined field 'agent'": {Name: "r", Outcome: "deny", When: `call.agent == "x"`},
		"no matching overload":    {Name: "r", Outcome: "deny", When: `call.agentId == 1`},
		"must give true or false": {Name: "r", Outcome: "deny", When: `call.params.x`},
		"undeclared reference":    {Name: "r", Outcome: "deny", When: `cal.tool == "x"`},
		"could take too long":     {Name: "r", Outcome: "deny", When: `call.argv.all(a, call.argv.all(b, call.argv.all(c, a == b && b == c)))`},
		"longer than 4096 bytes":  {Name: "r", Outcome: "deny", When: `true ||` + strings.Repeat(" ", 5000) + `true`},
	} {
		cfg := desked()
		cfg.Rules = []Rule{r}
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "rule 1 (r): when: ")
		require.Len(t, strings.Split(err.Error(), "\n"), 1, err)
	}
	plain, when := engine(t), ruleEngine(t, Rule{Outcome: "ask", When: "call.class > 1"})
	require.NotEqual(t, plain.Hash(), when.Hash())
	require.NotEqual(t, ruleEngine(t, Rule{Outcome: "ask", When: "call.class > 2"}).Hash(), when.Hash())
}

// FuzzRule gives any text as a condition, and any params to it: it is refused or
// it is bounded, and it never loosens R4.
func FuzzRule(f *testing.F) {
	for _, when := range []string{`call.class > 2`, `call.params.a.b == "x"`, `call.argv.exists(a, a.matches("(x+)+y"))`, `call.paths.map(p, p + p).size() > 3`, `call`, `1 +`, `bool(call.params.x)`, `call.params["a"] in call.hosts`,
		`[1,2,3].all(x, x > call.class)`, `has(call.params.x) && call.params.x`, `call == call`, `dyn(call).nothing`} {
		f.Add(when, `{"command":"rm -rf / ; frob x"}`)
	}
	f.Fuzz(func(t *testing.T, when, params string) {
		cfg := desked()
		cfg.Rules = []Rule{{Name: "loose", Match: Match{Command: []string{"frob *"}, Tool: []string{"exec"}}, When: when, Outcome: "allow"}, {Name: "tight", When: when, Outcome: "ask"}}
		e, err := New(cfg)
		if err != nil {
			return
		}
		for _, tool := range []string{"exec", "jira__x", "read"} {
			c := approval.Call{ToolName: tool, Params: []byte(params), AgentID: "main"}
			plain, ruled := judge(plainEngine(), c), judge(e, c)
			if plain.Assessment.RiskClass == approval.R4 && ruled.Outcome < plain.Outcome {
				t.Fatalf("%q loosens R4", when)
			}
			if tool != "exec" && ruled.Outcome < plain.Outcome {
				t.Fatalf("%q loosens %s", when, tool)
			}
		}
	})
}

// plainEngine is the engine of desked, without rules.
var plainEngine = sync.OnceValue(func() *Engine {
	e, err := New(desked())
	if err != nil {
		panic(err)
	}
	return e
})

// BenchmarkCondition is a call to which one rule's condition is put.
func BenchmarkCondition(b *testing.B) {
	e := engine(b, func(c *Config) {
		c.Rules = []Rule{{Name: "big", Match: Match{Tool: []string{"refund"}}, When: `"amount" in call.params && call.params.amount > 100.0 && call.agentId == "main"`, Outcome: "deny"}}
	})
	c := callOf(b, "refund", map[string]any{"amount": 20})
	b.ReportAllocs()
	for b.Loop() {
		e.Judge(context.Background(), c)
	}
}

// BenchmarkRulesWithConditions is BenchmarkRules where every rule has a condition.
func BenchmarkRulesWithConditions(b *testing.B) {
	benchmarkRules(b, func(i int) string {
		if i%2 == 0 {
			return `call.paths.exists(p, p.startsWith("/srv"))`
		}
		return `"amount" in call.params && call.params.amount > 100.0`
	})
}
