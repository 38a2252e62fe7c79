package server

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// T3b: a hook's process reports a result without a claimId, by the id of its tool call. That
// is the result of the run which that call claimed, however late it comes.
func TestAdversary_T3b_ALatePostToolUseIsItsOwnRuns(t *testing.T) {
	for name, joins := range map[string]bool{"the approval's own id": false, "an id that joined": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, ctx := newDesk(t), t.Context()
				body := func(id string) string { return claudeBody("ask", `{"a":1}`, "s", id) }
				first := "toolu_1"
				if joins {
					first = "toolu_0"
					d.ask("ask", `{"a":1}`, func(r *api.CreateRequest) {
						r.ID, r.SessionKey, r.Bind = first, "s", &api.Bind{Workdir: new("/work/app")}
					})
				}
				one := d.begin(ctx, "POST", claudePre, "agent", body("toolu_1"))
				require.False(t, one.done.Load())
				d.rule(first, api.AllowOnce)
				synctest.Wait()
				allowed := func(a *asked) bool { yes, _ := hookDecision(t, a.r); return yes }
				require.True(t, allowed(one))
				a := d.the("toolu_1")

				code, _ := d.retryAs("alice", a.Code, `{"withoutResult":true}`)
				require.Empty(t, code)
				two := d.begin(ctx, "POST", claudePre, "agent", body("toolu_2"))
				synctest.Wait()
				require.True(t, allowed(two))
				require.Equal(t, a.Code, d.the("toolu_2").Code, "the retry was taken")

				post := strings.Replace(body("toolu_1"), "PreToolUse", "PostToolUse", 1)
				for range 2 {
					r := d.do("POST", "/hooks/claude/PostToolUse", "agent", post)
					require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`, r.text)
				}
				got := d.the("toolu_2")
				require.Nil(t, got.Result, "the second runs on")
				require.NotNil(t, got.Retries[0].Result)
				require.Equal(t, "succeeded", got.Retries[0].Result.Status)
				d.do("POST", "/hooks/claude/PostToolUse", "agent", strings.Replace(post, "toolu_1", "toolu_2", 1))
				require.Equal(t, "succeeded", d.the("toolu_2").Result.Status)
			})
		})
	}
}

// T3b: an id under which no run was claimed gives the newest run its result, as before.
func TestAdversary_T3b_AnotherIdIsTheNewestRuns(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	named := func(id string) func(*api.CreateRequest) {
		return func(r *api.CreateRequest) { r.ID, r.SessionKey = id, "s" }
	}
	a := d.ask("ask", `{"n":1}`, named("own"))
	d.ask("ask", `{"n":1}`, named("joined"))
	d.rule("own", api.AllowOnce)
	for _, claimID := range []string{"1", "2"} {
		_, err := d.agent.Claim(ctx, "own", api.ClaimRequest{ClaimID: claimID})
		require.NoError(t, err)
		if claimID == "1" {
			code, _ := d.retryAs("alice", a.Code, `{"withoutResult":true}`)
			require.Empty(t, code)
		}
	}
	_, err := d.agent.Result(ctx, "joined", api.ResultRequest{Status: "failed"})
	require.NoError(t, err)
	got := d.the("own")
	require.NotNil(t, got.Result)
	require.Nil(t, got.Retries[0].Result)
}
