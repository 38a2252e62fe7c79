package server

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

func TestCreatePending(t *testing.T) {
	d := newDesk(t)
	r := d.do("POST", "/v1/approvals", "agent", `{"id":"mine:1","toolName":"exec","params":{"command":"make deploy"},"agentId":"main",
		"sessionKey":"s1","origin":{"channel":"telegram","to":"-100777"},"requester":{"channel":"telegram","userId":"999"},
		"justification":"release day","actionSummary":"deploys","context":{"provider":"p","sandboxed":true},"bind":{"workdir":"/srv"},"timeoutMs":60000}`)
	require.Equal(t, http.StatusCreated, r.StatusCode, r.text)
	require.Equal(t, "/v1/approvals/mine:1", r.Header.Get("Location"))
	require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
	require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
	var a api.Approval
	require.NoError(t, json.Unmarshal([]byte(r.text), &a))
	require.Regexp(t, "^[0-9A-HJKMNP-TV-Z]{6}$", a.Code)
	require.Equal(t, "agent", a.Owner)
	require.Equal(t, api.Pending, a.Status)
	require.Contains(t, r.text, `"decision":null`)
	require.Contains(t, a.ParamsSummary, "make deploy")
	require.Len(t, a.ArgsFingerprint, 64)
	require.Equal(t, &api.Bind{Workdir: new("/srv")}, a.Bind)
	require.Equal(t, "telegram", a.Channel)
	require.Equal(t, &api.Requester{Channel: "telegram", UserID: "999"}, a.Requester)
	require.Equal(t, "release day", a.Justification)
	require.Equal(t, "R3", a.RiskClass)
	require.Equal(t, []string{"process_exec"}, a.SideEffects)
	require.Equal(t, api.Approvers{Allowed: []string{"user_request", "rules_based"}, Disabled: []string{},
		Effective: []string{"user_request", "rules_based"}, MinApprovals: 1, RequiresHuman: true}, a.Approvers)
	require.Equal(t, []api.Delivery{{Target: group, State: "queued"}}, a.Deliveries)
	require.True(t, a.Reached)
	require.EqualValues(t, 60000, a.ExpiresAtMs-a.CreatedAtMs)
	require.NotContains(t, r.text, `"resolvedAtMs"`)
	for _, array := range []string{"decidedBy", "votes", "sideEffects", "reasonCodes", "why", "offers", "deliveries"} {
		require.Contains(t, r.text, `"`+array+`":[`)
	}
}

func TestCreateSettledByPolicy(t *testing.T) {
	d := newDesk(t)
	r := d.do("POST", "/v1/approvals", "agent", `{"toolName":"read","params":{}}`)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Contains(t, r.text, `"decidedBy":["policy"]`)

	r = d.do("POST", "/v1/approvals", "agent", `{"toolName":"rm","params":{}}`)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Contains(t, r.text, `"status":"denied","decision":"deny","reason":"never"`)

	a, err := d.agent.Create(t.Context(), request("read", `{"b":2,"a":"<é>"}`), api.CreateOptions{Claim: true, ClaimID: "c1"})
	require.NoError(t, err)
	require.Equal(t, `{"a":"<é>","b":2}`, string(a.Claim.Params))
	require.Equal(t, a.ArgsFingerprint, a.Claim.Fingerprint)
	require.Equal(t, api.AllowOnce, a.Claim.Decision)
	require.NotZero(t, a.ClaimedAtMs)
	again, err := d.agent.Claim(t.Context(), a.ID, api.ClaimRequest{ClaimID: "c1"})
	require.NoError(t, err)
	require.Equal(t, a.Claim, &again)
}

func TestCreateAgain(t *testing.T) {
	d := newDesk(t)
	inSession := func(r *api.CreateRequest) { r.SessionKey = "s" }
	first := d.ask("ask", `{"a":1}`, inSession)

	r := d.do("POST", "/v1/approvals", "agent", `{"toolName":"ask","params":{ "a": 1.0 },"sessionKey":"s","id":"also"}`)
	require.Equal(t, http.StatusOK, r.StatusCode, "an approval that was there already is not created")
	joined, err := d.agent.Get(t.Context(), "also", 0)
	require.NoError(t, err)
	require.Equal(t, first.Code, joined.Code, "the explicit id is an alias")

	require.NotEqual(t, first.Code, d.ask("ask", `{"a":1}`).Code, "without a session nothing is joined")
	theirs, err := d.other.Create(t.Context(), request("ask", `{"a":1}`, inSession), api.CreateOptions{})
	require.NoError(t, err)
	require.NotEqual(t, first.Code, theirs.Code, "another owner's is another one")

	mine := func(r *api.CreateRequest) { r.ID = "mine" }
	one := d.ask("ask", `{"b":1}`, mine)
	require.Equal(t, one.Code, d.ask("ask", `{"b":1}`, mine).Code)
	_, err = d.agent.Create(t.Context(), request("ask", `{"b":2}`, mine), api.CreateOptions{})
	refusal(t, err, approval.CodeIDConflict)
}

func TestSupersede(t *testing.T) {
	d := newDesk(t)
	old := d.ask("ask", `{"v":1}`)
	next := d.ask("ask", `{"v":2}`, func(r *api.CreateRequest) { r.Supersedes = old.ID })
	old, err := d.agent.Get(t.Context(), old.ID, 0)
	require.NoError(t, err)
	require.Equal(t, api.Withdrawn, old.Status)
	require.Equal(t, next.Code, old.SupersededBy)
	require.Equal(t, api.Decision(""), old.Decision)

	_, err = d.agent.Create(t.Context(), request("ask", `{"v":3}`, func(r *api.CreateRequest) { r.Supersedes = old.ID }), api.CreateOptions{})
	refusal(t, err, approval.CodeAlreadyResolved)
	_, err = d.agent.Create(t.Context(), request("ask", `{"v":3}`, func(r *api.CreateRequest) { r.Supersedes = "none" }), api.CreateOptions{})
	require.Equal(t, "supersedes", refusal(t, err, approval.CodeInvalidRequest).Fields[0].Field)
	_, err = d.other.Create(t.Context(), request("ask", `{"v":3}`, func(r *api.CreateRequest) { r.Supersedes = next.ID }), api.CreateOptions{})
	refusal(t, err, approval.CodeInvalidRequest)
}

func TestResolve(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.ask("ask", `{"a":1}`, func(r *api.CreateRequest) { r.SessionKey = "s1" })
	_, err := d.alice.Resolve(ctx, a.Code, api.ResolveRequest{Decision: "maybe"})
	require.Equal(t, "decision", refusal(t, err, approval.CodeInvalidRequest).Fields[0].Field)
	_, err = d.alice.Resolve(ctx, a.Code, api.ResolveRequest{})
	refusal(t, err, approval.CodeInvalidRequest)

	done, err := d.alice.Resolve(ctx, a.Code, api.ResolveRequest{Decision: api.AllowSession, Reason: "fine"})
	require.NoError(t, err)
	require.Equal(t, api.Approved, done.Status)
	require.Equal(t, api.AllowSession, done.Decision)
	require.Equal(t, []string{"person:alice"}, done.DecidedBy)
	require.Equal(t, &api.Voter{Person: "alice", Channel: "api", UserID: "alice"}, done.Votes[0].Voter)
	require.Equal(t, "fine", done.Votes[0].Reason)
	require.Positive(t, done.ClaimUntilMs)

	again, err := d.alice.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.AllowSession})
	require.NoError(t, err, "the same vote again, after the end")
	require.Equal(t, done.ResolvedAtMs, again.ResolvedAtMs)
	_, err = d.alice.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.Deny})
	refusal(t, err, approval.CodeAlreadyResolved)
	_, err = d.bob.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.AllowSession})
	refusal(t, err, approval.CodeAlreadyResolved)

	pair := d.ask("pair", `{}`)
	_, err = d.alice.Resolve(ctx, pair.ID, api.ResolveRequest{Decision: api.AllowAlways})
	refusal(t, err, approval.CodeDecisionNotOffered)
	half, err := d.alice.Resolve(ctx, pair.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, api.Pending, half.Status)
	whole, err := d.bob.Resolve(ctx, pair.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, []string{"person:alice", "person:bob"}, whole.DecidedBy)

	_, err = d.alice.Resolve(ctx, "nothing-here", api.ResolveRequest{Decision: api.Deny})
	refusal(t, err, approval.CodeNotFound)
}

func TestReferences(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.ask("ask", `{"a":1}`)
	for _, ref := range []string{a.ID, a.Code, a.ID[:8]} {
		got, err := d.alice.Get(ctx, ref, 0)
		require.NoError(t, err)
		require.Equal(t, a.Code, got.Code)
	}
	_, err := d.agent.Get(ctx, a.ID, 0)
	require.NoError(t, err)
	_, err = d.agent.Get(ctx, a.Code, 0)
	refusal(t, err, approval.CodeNotFound)
	_, err = d.other.Get(ctx, a.ID, 0)
	refusal(t, err, approval.CodeNotFound)

	for _, c := range []*api.Client{d.agent, d.other} {
		_, err = c.Create(ctx, request("ask", `{"b":1}`, func(r *api.CreateRequest) { r.ID = "same" }), api.CreateOptions{})
		require.NoError(t, err)
	}
	_, err = d.alice.Get(ctx, "same", 0)
	refusal(t, err, approval.CodeAmbiguousID)
	for _, id := range []string{"..", "a%20b", "a%2Fb", "%00", "%FF", "é"} {
		r := d.do("GET", "/v1/approvals/"+id, "agent", "")
		require.Equal(t, "not_found", r.problem(t).Code, id)
	}
	require.Equal(t, "There is no such approval.", d.do("GET", "/v1/approvals/%20", "agent", "").problem(t).Detail)
	require.Equal(t, "There is no such grant.", d.do("DELETE", "/v1/grants/%20", "alice", "").problem(t).Detail)
	require.Equal(t, "There is no failed callback with that id.", d.do("POST", "/v1/callbacks/%20/retry", "alice", "").problem(t).Detail)
	odd := d.ask("ask", `{}`, func(r *api.CreateRequest) { r.ID = "a.b_c:d-e" })
	got, err := d.agent.Get(ctx, odd.ID, 0)
	require.NoError(t, err)
	require.Equal(t, odd.Code, got.Code)
	r := d.do("GET", "/v1/approvals/a%2Eb_c%3Ad-e", "agent", "")
	require.Equal(t, 200, r.StatusCode)
}

func TestExecParamsAreNamed(t *testing.T) {
	d := newDesk(t)
	for params, want := range map[string][]string{
		`{"command":"ls","foo":1,"b\u0000r":2}`: {`params."b\x00r"`, "params.foo"},
		`{"command":5}`:                         {"params.command"},
		`{"command":"ls","timeout":"5s","host":3,"security":"none","ask":"maybe","env":["A=b"],"workdir":{}}`: {
			"params.env", "params.host", "params.timeout", "params.workdir", "params.security", "params.ask"},
		`{"argv":["ls",5]}`: {"params.argv"},
		`{"argv":[]}`:       {"params.argv"},
		`{}`:                {"params.command"},
		`{"env":{"A":1}}`:   {"params.env", "params.command"},
	} {
		p := d.do("POST", "/v1/approvals", "agent", `{"toolName":"exec","params":`+params+`}`).problem(t)
		require.Equal(t, string(approval.CodeInvalidRequest), p.Code)
		var got []string
		for _, f := range p.Fields {
			got = append(got, f.Field)
		}
		require.Equal(t, want, got, params)
		require.NotContains(t, p.Detail, "maybe")
	}
}

func TestList(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	for range 3 {
		d.ask("ask", `{"n":1}`, func(r *api.CreateRequest) { r.AgentID = "main" })
	}
	d.ask("read", `{}`)
	theirs, err := d.other.Create(ctx, request("ask", `{}`, func(r *api.CreateRequest) { r.SessionKey = "s" }), api.CreateOptions{})
	require.NoError(t, err)

	count := func(c *api.Client, f api.Filter) int {
		l, err := c.List(ctx, f)
		require.NoError(t, err)
		return len(l.Items)
	}
	require.Equal(t, 5, count(d.alice, api.Filter{}))
	require.Equal(t, 4, count(d.agent, api.Filter{}))
	require.Equal(t, 1, count(d.other, api.Filter{}))
	require.Equal(t, 4, count(d.alice, api.Filter{Status: api.Pending}))
	require.Equal(t, 1, count(d.alice, api.Filter{ToolName: "read"}))
	require.Equal(t, 3, count(d.alice, api.Filter{AgentID: "main"}))
	require.Equal(t, 1, count(d.alice, api.Filter{SessionKey: "s"}))
	require.Zero(t, count(d.agent, api.Filter{SessionKey: "s"}))

	first, err := d.alice.List(ctx, api.Filter{Limit: 3})
	require.NoError(t, err)
	rest, err := d.alice.List(ctx, api.Filter{Limit: 3, Cursor: first.NextCursor})
	require.NoError(t, err)
	require.Len(t, first.Items, 3)
	require.Len(t, rest.Items, 2)
	require.Empty(t, rest.NextCursor)
	require.NotEqual(t, theirs.ID, rest.Items[1].ID, "newest first")

	r := d.do("GET", "/v1/approvals?status=open&limit=0&cursor=&what=1&limit=2", "alice", "")
	require.Equal(t, []string{"limit", "status", "what"}, fieldsOf(r.problem(t)))
	_, err = d.alice.List(ctx, api.Filter{Cursor: "made-up"})
	refusal(t, err, approval.CodeInvalidRequest)
	require.Contains(t, d.do("GET", "/v1/approvals?status=expired", "alice", "").text, `{"items":[],`)
}

func TestWithdraw(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.ask("ask", `{}`)
	_, err := d.other.Withdraw(ctx, a.ID, api.WithdrawRequest{})
	refusal(t, err, approval.CodeNotFound)
	_, err = d.alice.Withdraw(ctx, a.ID, api.WithdrawRequest{})
	refusal(t, err, approval.CodeForbidden)
	w, err := d.agent.Withdraw(ctx, a.ID, api.WithdrawRequest{Reason: "changed my mind"})
	require.NoError(t, err)
	require.Equal(t, api.Withdrawn, w.Status)
	require.Equal(t, "changed my mind", w.Reason)
	require.Equal(t, 200, d.do("POST", "/v1/approvals/"+a.ID+"/withdraw", "agent", "").StatusCode, "again, with no body")
	unclaimed := d.allow(`{}`)
	w, err = d.agent.Withdraw(ctx, unclaimed.ID, api.WithdrawRequest{})
	require.NoError(t, err)
	require.Equal(t, api.Approved, w.Status)
	require.Equal(t, "token:agent", w.RevokedBy)
	done := d.allow(`{"b":1}`)
	_, err = d.agent.Claim(ctx, done.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = d.agent.Withdraw(ctx, done.ID, api.WithdrawRequest{})
	refusal(t, err, approval.CodeAlreadyResolved)
}

func TestRevoke(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.allow(`{}`)
	_, err := d.agent.Revoke(ctx, a.ID, api.RevokeRequest{})
	refusal(t, err, approval.CodeForbidden)
	r, err := d.bob.Revoke(ctx, a.Code, api.RevokeRequest{Reason: "wrong host"})
	require.NoError(t, err)
	require.NotZero(t, r.RevokedAtMs)
	require.Equal(t, [4]string{"person:alice", "", "person:bob", "wrong host"}, [4]string{r.DecidedBy[0], r.Reason, r.RevokedBy, r.RevokeReason})
	_, err = d.bob.Revoke(ctx, a.Code, api.RevokeRequest{})
	require.NoError(t, err, "again")
	_, err = d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	require.Equal(t, "revoked", refusal(t, err, approval.CodeNotClaimable).Why)

	_, err = d.bob.Revoke(ctx, d.ask("ask", `{"n":2}`).ID, api.RevokeRequest{})
	require.Equal(t, "pending", refusal(t, err, approval.CodeNotClaimable).Why)
	used := d.allow(`{"n":3}`)
	_, err = d.agent.Claim(ctx, used.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = d.bob.Revoke(ctx, used.ID, api.RevokeRequest{})
	refusal(t, err, approval.CodeAlreadyUsed)
}

func TestResult(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.allow(`{}`)
	exit := 3
	_, err := d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "failed", ExitCode: &exit})
	refusal(t, err, approval.CodeNotClaimable)
	_, err = d.agent.Claim(ctx, a.ID, api.ClaimRequest{ClaimID: "c"})
	require.NoError(t, err)
	_, err = d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "meh"})
	require.Equal(t, "status", refusal(t, err, approval.CodeInvalidRequest).Fields[0].Field)
	_, err = d.other.Result(ctx, a.ID, api.ResultRequest{Status: "failed"})
	refusal(t, err, approval.CodeNotFound)
	got, err := d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "failed", Summary: "no space", ExitCode: &exit})
	require.NoError(t, err)
	require.Equal(t, 3, *got.Result.ExitCode)
	require.Equal(t, "no space", got.Result.Summary)
	_, err = d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "failed", Summary: "no space", ExitCode: &exit})
	require.NoError(t, err, "the same again")
	_, err = d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "succeeded"})
	refusal(t, err, approval.CodeAlreadyUsed)
	_, err = d.agent.Claim(ctx, a.ID, api.ClaimRequest{ClaimID: "c"})
	refusal(t, err, approval.CodeAlreadyUsed)
	after, err := d.alice.Get(ctx, a.ID, 0)
	require.NoError(t, err)
	require.Equal(t, got.ParamsSummary, after.ParamsSummary)
}

func TestExpired(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.ask("ask", `{}`, func(r *api.CreateRequest) { r.TimeoutMs = 1 })
	for a.Status == api.Pending {
		require.NoError(t, d.gate.Tick(ctx, a.ID))
		var err error
		a, err = d.agent.Get(ctx, a.ID, 0)
		require.NoError(t, err)
	}
	require.Equal(t, api.Expired, a.Status)
	require.Equal(t, api.Decision(""), a.Decision)
	_, err := d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	require.Equal(t, "denied", refusal(t, err, approval.CodeNotClaimable).Why)
}

func fieldsOf(p api.Problem) []string {
	var names []string
	for _, f := range p.Fields {
		names = append(names, f.Field)
	}
	return names
}
