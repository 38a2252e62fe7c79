package gateway

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// needsTwo is judge with two people.
type needsTwo struct{ judge }

func (p needsTwo) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.judge.Judge(ctx, c)
	j.Rule.MinApprovals = 2
	return j
}

// T3: "retry" through the gateway votes in an open round, and is nothing else.
func TestAdversary_T3_RetryThroughTheGateway(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	rules := d.gate.Rules()
	rules.Owners, rules.Policy = map[string]string{"agent": ""}, needsTwo{}
	d.gate.Use(rules)
	agent, bob := d.connect("agent"), d.connect("bob")
	agent.answer(agent.start("tool.approval.request", `{"id":"p","toolName":"ask","params":{"n":1},"twoPhase":true}`))
	retry := `{"id":"p","decision":"retry"}`
	require.False(t, bob.answer(bob.start("tool.approval.resolve", retry)).OK, "it is pending")
	alice := core.Caller{Token: "alice", Person: "alice", MayDecide: true}
	a, err := d.gate.VoteAs(ctx, alice, "p", approval.AllowOnce, "", "")
	require.NoError(t, err)
	bob.ok("tool.approval.resolve", `{"id":"p","decision":"allow-once"}`)
	for n := range 2 {
		id := fmt.Sprint(n)
		_, err = d.gate.Claim(ctx, agentCaller, "p", core.ClaimInput{ClaimID: id})
		require.NoError(t, err)
		_, err = d.gate.Report(ctx, agentCaller, "p", id, approval.Result{Status: "failed"})
		require.NoError(t, err)
		require.False(t, bob.answer(bob.start("tool.approval.resolve", retry)).OK, "no round is open")
		_, err = d.gate.Retry(ctx, alice, a.Code, false)
		require.NoError(t, err)
		bob.ok("tool.approval.resolve", retry)
		got, err := d.gate.ByKey(ctx, a.Key)
		require.NoError(t, err)
		require.Equal(t, n+1, got.Retries)
	}
}

// T3: a retry through the gateway names the run that it follows, in every dialect; and
// openclaw's resolve counts in an open round.
func TestAdversary_T3_ARetryThroughTheGatewayNamesItsRun(t *testing.T) {
	for method, more := range map[string]string{"tool.approval.resolve": "", "exec.approval.resolve": "",
		"approval.resolve": `,"kind":"exec"`} {
		for _, deny := range []bool{false, true} {
			t.Run(fmt.Sprint(method, " ", deny), func(t *testing.T) {
				d, ctx := newDesk(t), t.Context()
				rules := d.gate.Rules()
				rules.Owners, rules.Policy = map[string]string{"agent": ""}, needsTwo{}
				d.gate.Use(rules)
				agent, bob := d.connect("agent"), d.connect("bob")
				agent.answer(agent.start("exec.approval.request", `{"id":"p","command":"git push","twoPhase":true}`))
				alice := core.Caller{Token: "alice", Person: "alice", MayDecide: true}
				a, err := d.gate.VoteAs(ctx, alice, "p", approval.AllowOnce, "", "")
				require.NoError(t, err)
				bob.ok("tool.approval.resolve", `{"id":"p","decision":"allow-once"}`)
				_, err = d.gate.Claim(ctx, agentCaller, "p", core.ClaimInput{ClaimID: "1"})
				require.NoError(t, err)
				_, err = d.gate.Report(ctx, agentCaller, "p", "1", approval.Result{Status: "failed"})
				require.NoError(t, err)
				_, err = d.gate.Retry(ctx, alice, a.Code, false)
				require.NoError(t, err)
				vote := func(what string) string { return `{"id":"p","decision":` + what + more + `}` }
				require.False(t, bob.answer(bob.start(method, vote(`"retry","after":1`))).OK, "another run's")
				if deny {
					bob.ok(method, vote(`"deny"`))
				} else {
					bob.ok(method, vote(`"retry","after":0`))
				}
				got, err := d.gate.ByKey(ctx, a.Key)
				require.NoError(t, err)
				require.Nil(t, got.Round)
				require.Equal(t, deny, got.Retries == 0)
			})
		}
	}
}
