package web

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// T3: people vote for one more run on the request's page, after the whole call stood
// there; who asked, and who did not see it, do not.
func TestAdversary_T3_RetryOnThePage(t *testing.T) {
	t.Parallel()
	d, ctx := newDesk(t), t.Context()
	a := d.run("terraform plan -out p")
	d.sees("bob", "/a/"+a.Code)
	require.Equal(t, http.StatusSeeOther, d.votes("bob", a.Code, approval.AllowOnce).Code)
	require.NotContains(t, d.sees("bob", "/a/"+a.Code), `value="retry"`, "it can be claimed yet")
	_, err := d.gate.Claim(ctx, deployer, a.ID, core.ClaimInput{ClaimID: "1"})
	require.NoError(t, err)

	page := d.sees("bob", "/a/"+a.Code)
	require.Contains(t, page, `value="retry"`)
	require.Contains(t, page, `name="withoutResult" value="1" required`)
	require.Contains(t, page, `<span class="t-program">terraform</span>`)
	require.Contains(t, page, `name="after" value="0"`)
	retry := url.Values{"decision": {"retry"}, "after": {"0"}}
	require.Equal(t, http.StatusConflict, d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote", retry).Code, "without a result, and not said so")
	retry.Set("withoutResult", "1")
	require.Equal(t, http.StatusBadRequest, d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote",
		url.Values{"decision": {"retry"}, "withoutResult": {"1"}}).Code, "a page that does not name the run")
	unseen := d.asks("alice", http.MethodPost, "/a/"+a.Code+"/vote", retry)
	require.Equal(t, http.StatusConflict, unseen.Code)
	require.Zero(t, d.get(a).Retries, "alice has not seen the call")
	out := d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote", retry)
	require.Equal(t, http.StatusSeeOther, out.Code, out.Body.String())
	require.Equal(t, []string{"person:bob"}, d.get(a).RetriedBy[0].By)
	require.Contains(t, d.sees("bob", out.Header().Get("Location")), "It may run once more, within 5 minutes.")

	_, err = d.gate.Claim(ctx, deployer, a.ID, core.ClaimInput{ClaimID: "2"})
	require.NoError(t, err)
	_, err = d.gate.Report(ctx, deployer, a.ID, "2", approval.Result{Status: "succeeded"})
	require.NoError(t, err)
	require.NotContains(t, d.sees("bob", "/a/"+a.Code), `value="retry"`)
}

// asksTwo is a policy that asks two people.
type asksTwo struct{ core.Policy }

func (p asksTwo) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.Policy.Judge(ctx, c)
	j.Rule.MinApprovals = 2
	return j
}

// T3: the inbox names the calls on whose one more run people vote, to those who see them.
func TestAdversary_T3_TheInboxNamesOpenRounds(t *testing.T) {
	t.Parallel()
	d, ctx := newDesk(t), t.Context()
	a := d.run("terraform plan -out p")
	d.sees("bob", "/a/"+a.Code)
	require.Equal(t, http.StatusSeeOther, d.votes("bob", a.Code, approval.AllowOnce).Code)
	_, err := d.gate.Claim(ctx, deployer, a.ID, core.ClaimInput{ClaimID: "1"})
	require.NoError(t, err)
	_, err = d.gate.Report(ctx, deployer, a.ID, "1", approval.Result{Status: "failed"})
	require.NoError(t, err)
	require.NotContains(t, d.sees("bob", "/"), a.Code)
	rules := d.gate.Rules()
	rules.Policy = asksTwo{rules.Policy}
	d.gate.Use(rules)
	d.sees("bob", "/a/"+a.Code)
	require.Equal(t, http.StatusSeeOther,
		d.asks("bob", http.MethodPost, "/a/"+a.Code+"/vote", url.Values{"decision": {"retry"}, "after": {"0"}}).Code)
	for _, who := range []string{"bob", "alice"} {
		page := d.sees(who, "/")
		require.Contains(t, page, `<a href="/a/`+a.Code+`">🔁 `+a.Code+`</a>`)
		require.Contains(t, page, "retry asked by bob, 1 of 2 yes (bob)")
	}
	out := d.votes("alice", a.Code, approval.Deny)
	require.Equal(t, http.StatusSeeOther, out.Code)
	require.Contains(t, d.sees("alice", out.Header().Get("Location")), "Denied: it does not run again.")
	require.NotContains(t, d.sees("bob", "/"), "🔁")
	require.Contains(t, d.sees("alice", "/a/"+a.Code), "retry denied by alice")
	require.Equal(t, http.StatusSeeOther, d.votes("alice", a.Code, approval.Deny).Code, "again")
}
