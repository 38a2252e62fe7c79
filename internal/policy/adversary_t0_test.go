package policy

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/command"
	grammar "approvalbot/internal/policy/shell"
	"approvalbot/internal/policy/workspace"
)

// TestAdversary_T0_EveryReaderConsumesOrRefuses: what only begins like a redirection is
// refused in as many steps as any other line takes, wherever it stands.
func TestAdversary_T0_EveryReaderConsumesOrRefuses(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, redirect := range []string{"1>&3", "1>&", "1>&-", "1>&x", "1>&$x", "1>&22", `1>&"2"`} {
		for _, around := range []string{"echo x REDIRECT", "REDIRECT echo", "echo REDIRECT x", "(ls) REDIRECT", "{ ls; } REDIRECT",
			"for i in a; do ls; done REDIRECT", "while read x; do ls; done REDIRECT", "x=$(echo REDIRECT)", "a=b REDIRECT",
			"diff <(ls REDIRECT) a", "ls | cat REDIRECT", "if ls REDIRECT; then ls; fi"} {
			line := strings.ReplaceAll(around, "REDIRECT", redirect)
			steps := budget.New(nil)
			require.True(t, steps.Within(func() {
				_, why, ok := grammar.Plain(nil, line, &steps)
				require.False(t, ok, line)
				require.NotEmpty(t, why.What, line)
			}), "%q takes all steps of a judgement", line)
			require.Less(t, steps.Taken(), 1000, line)

			j := judge(e, lineCall(t, line))
			require.GreaterOrEqual(t, j.Assessment.RiskClass, approval.R3, line)
			require.NotEqual(t, approval.OutcomeAllow, j.Outcome, line)
			require.False(t, j.CutShort, line)
		}
	}
}

// looping is an engine whose row for the program "loops" neither consumes nor refuses its
// words: each of its rounds begins with the function, and is one step.
func looping(t *testing.T, round func(), change ...func(*Config)) *Engine {
	e := engine(t, change...)
	rules := e.lines.Rules
	e.lines.Rules = func(name string) command.Rule {
		if name != "loops" {
			return rules(name)
		}
		return func(x *command.Call, _ string, _ []workspace.Word) {
			for {
				round()
				x.Steps.Step()
			}
		}
	}
	return e
}

// TestAdversary_T0_LoopEndsAsUnreadable: where a reader loops all the same, the steps of
// the judgement end it. The call asks, and no word of an operator's lets it run.
func TestAdversary_T0_LoopEndsAsUnreadable(t *testing.T) {
	t.Parallel()
	rounds := 0
	e := looping(t, func() { rounds++ }, func(c *Config) {
		c.ExecAllowlist, c.ExecAskFallback = []string{"loops", "ls"}, "full"
		c.Rules = []Rule{{Name: "yes", Outcome: "allow", Match: Match{Command: []string{"loops"}}},
			{Name: "tools", Outcome: "allow", Match: Match{Tool: []string{"mcp__x__run"}}}}
		c.Sandboxed = []string{"main"}
		c.Classifier.Enabled = true
	})
	for name, c := range map[string]approval.Call{
		"a line":        lineCall(t, "loops"),
		"first of two":  lineCall(t, "loops; ls"),
		"argv":          callOf(t, "exec", map[string]any{"argv": []string{"loops", "x"}}),
		"in a shell":    lineCall(t, "sh -c 'loops'"),
		"another tool":  callOf(t, "mcp__x__run", map[string]any{"command": "loops"}),
		"in the middle": lineCall(t, "ls && (ls; loops) && ls"),
	} {
		c.SessionKey = "s"
		rounds = 0
		j := judge(e, c)
		require.Positive(t, rounds, name)
		require.LessOrEqual(t, rounds, budget.Steps+1, name)
		require.True(t, j.CutShort, name)
		require.Equal(t, approval.OutcomeAsk, j.Outcome, name)
		require.Contains(t, j.Assessment.ReasonCodes, "unparsable-command", name)
		require.Equal(t, []approval.Decision{approval.AllowOnce, approval.Deny}, j.Offers, name)
		require.Zero(t, j.GrantScope, name)
		require.NotEqual(t, approval.OutcomeAllow, j.Unreached, name)
		require.False(t, j.Unsure, "%s: no classifier stands in for what was not read", name)
		require.Empty(t, j.Votes, name)
	}
	j := judge(e, lineCall(t, "loops; rm -rf /"))
	require.Equal(t, approval.R4, j.Assessment.RiskClass, "the words behind it are looked through all the same")
	j = judge(e, lineCall(t, "ls"))
	require.Equal(t, approval.OutcomeAllow, j.Outcome, "the next call has steps of its own")
	require.False(t, j.CutShort)
}

// TestAdversary_T0_CallerGoneEndsIt: a judgement does not outlive its caller.
func TestAdversary_T0_CallerGoneEndsIt(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	rounds := 0
	e := looping(t, func() {
		if rounds++; rounds == 10 {
			leave()
		}
	})
	j := e.Judge(ctx, lineCall(t, "loops"))
	require.True(t, j.CutShort)
	require.NotEqual(t, approval.OutcomeAllow, j.Outcome)
	require.Less(t, rounds, budget.Steps/100)
}

// TestAdversary_T0_OneCoreStaysFree: no more calls are judged at a time than leave one
// core for everything else; a caller who goes away waits for no turn.
func TestAdversary_T0_OneCoreStaysFree(t *testing.T) {
	e := engine(t)
	require.Equal(t, max(1, runtime.GOMAXPROCS(0)-1), cap(e.turns))
	for range cap(e.turns) {
		e.turns <- struct{}{}
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	j := e.Judge(ctx, lineCall(t, "ls"))
	require.NotEqual(t, approval.OutcomeAllow, j.Outcome)
	require.Len(t, e.turns, cap(e.turns), "a turn that was not had is not given back")

	judged := make(chan approval.Outcome)
	go func() { judged <- e.Judge(t.Context(), lineCall(t, "ls")).Outcome }()
	select {
	case <-judged:
		t.Fatal("it was judged without a turn")
	case <-e.turns: // somebody's judgement ends
	}
	require.Equal(t, approval.OutcomeAllow, <-judged)
}

// TestAdversary_T0_BombsLeaveSteps: the largest calls that the desk takes leave more than
// half of the steps.
func TestAdversary_T0_BombsLeaveSteps(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for name, c := range bombs(t) {
		j := e.read(t.Context(), c)
		require.Less(t, j.steps.Taken(), budget.Steps/2, name)
		require.False(t, j.cut, name)
		e.spent(j)
	}
}
