package server

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// A caller says that its own call is approved.
func TestAdversary_B1(t *testing.T) {
	d := newDesk(t)
	for _, field := range []string{"approved", "decision", "votes", "status", "riskClass", "decidedBy", "owner", "code", "policyHash", "callbackUrl", "Status", "PARAMS"} {
		r := d.do("POST", "/v1/approvals", "agent", fmt.Sprintf(`{"toolName":"ask","params":{},%q:"s3cret-value"}`, field))
		p := r.problem(t)
		require.Equal(t, "invalid_request", p.Code)
		require.Equal(t, []string{field}, fieldsOf(p))
		require.NotContains(t, r.text, "s3cret-value")
	}
	r := d.do("POST", "/v1/approvals", "agent", `{"approved":true,"toolName":1,"params":{},"context":{"trusted":true,"sandboxed":"yes"},"votes":[]}`)
	require.Equal(t, []string{"approved", "context.sandboxed", "context.trusted", "toolName", "votes"}, fieldsOf(r.problem(t)), "all at once")
	a := d.ask("ask", `{"approved":true,"status":"approved","decision":"allow-always"}`)
	require.Equal(t, api.Pending, a.Status)
	for _, body := range []string{`{"decision":"allow-once"}`, `{"approved":true}`} {
		require.Equal(t, 422, d.do("POST", "/v1/approvals/"+a.ID+"/claim", "agent", body).StatusCode)
	}
	l, err := d.agent.List(t.Context(), api.Filter{})
	require.NoError(t, err)
	require.Len(t, l.Items, 1, "nothing was stored by what was refused")
}

// Other params at the claim than were approved; forms that read as the same.
func TestAdversary_B2(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	const approved = `{"to":"caf\u00e9","n":1,"list":[1,2],"deep":{"a":null,"b":true}}`
	a := d.allow(approved)
	for _, other := range []string{
		`{"to":"caf\u00e9","n":2,"list":[1,2],"deep":{"a":null,"b":true}}`,
		`{"to":"caf\u00e9","n":"1","list":[1,2],"deep":{"a":null,"b":true}}`,
		`{"to":"caf\u00e9","n":1,"list":[2,1],"deep":{"a":null,"b":true}}`,
		`{"to":"caf\u00e9","n":1,"list":[1,2],"deep":{"b":true}}`,
		`{"to":"cafe\u0301","n":1,"list":[1,2],"deep":{"a":null,"b":true}}`, // another Unicode form
		`{"to":"caf\u00e9","n":1,"list":[1,2],"deep":{"a":null,"b":true},"N":1}`,
		`{}`,
	} {
		_, err := d.agent.Claim(ctx, a.ID, api.ClaimRequest{Params: json.RawMessage(other)})
		refusal(t, err, approval.CodeFingerprintMismatch)
	}
	same := `{"deep":{"b":true,"a":null},"list":[1.0,2e0],"n":1.0,"to":"café"}`
	c, err := d.agent.Claim(ctx, a.ID, api.ClaimRequest{Params: json.RawMessage(same)})
	require.NoError(t, err)
	require.Equal(t, `{"deep":{"a":null,"b":true},"list":[1,2],"n":1,"to":"café"}`, string(c.Params))

	require.Equal(t, d.ask("ask", `{"n":1.0}`).ArgsFingerprint, d.ask("ask", `{"n":1}`).ArgsFingerprint)
	for body, code := range map[string]string{
		`{"n":9007199254740993}`:      "invalid_request",
		`{"n":1e999}`:                 "invalid_request",
		`{"n":0.1000000000000000055}`: "invalid_request",
		`{"a":1,"a":1}`:               "malformed",
		`{"x":{"a":1,"\u0061":2}}`:    "malformed",
		`{"a":"\ud800"}`:              "malformed",
		"{\"a\":\"\xff\"}":            "malformed",
		`[1]`:                         "invalid_request",
		`null`:                        "invalid_request",
		`"x"`:                         "invalid_request",
	} {
		r := d.do("POST", "/v1/approvals", "agent", `{"toolName":"ask","params":`+body+`}`)
		require.Equal(t, code, r.problem(t).Code, body)
		b := d.allow(`{"fresh":"` + code + `"}`)
		r = d.do("POST", "/v1/approvals/"+b.ID+"/claim", "agent", `{"params":`+body+`}`)
		require.Equal(t, code, r.problem(t).Code, body)
		_, err := d.agent.Claim(ctx, b.ID, api.ClaimRequest{})
		require.NoError(t, err, "a refused claim burns nothing")
	}
}

// The same id for another call; an id made to look like another card's code.
func TestAdversary_B3(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	mine := func(id string) func(*api.CreateRequest) { return func(r *api.CreateRequest) { r.ID = id } }
	first := d.ask("ask", `{"a":1}`, mine("job"))
	for _, other := range []api.CreateRequest{
		request("ask", `{"a":2}`, mine("job")),
		request("exec", `{"command":"x"}`, mine("job")),
		request("ask", `{"a":1}`, mine("job"), func(r *api.CreateRequest) { r.Bind = &api.Bind{Host: new("h")} }),
	} {
		_, err := d.agent.Create(ctx, other, api.CreateOptions{})
		refusal(t, err, approval.CodeIDConflict)
	}
	got, err := d.agent.Get(ctx, "job", 0)
	require.NoError(t, err)
	require.Equal(t, first.ArgsFingerprint, got.ArgsFingerprint)
	_, err = d.agent.Get(ctx, "JOB", 0)
	refusal(t, err, approval.CodeNotFound)

	theirs, err := d.other.Create(ctx, request("ask", `{"a":2}`, mine("job")), api.CreateOptions{})
	require.NoError(t, err, "ids are per owner")
	_, err = d.other.Withdraw(ctx, "job", api.WithdrawRequest{})
	require.NoError(t, err)
	require.NotEqual(t, first.Code, theirs.Code)
	got, err = d.agent.Get(ctx, "job", 0)
	require.NoError(t, err)
	require.Equal(t, api.Pending, got.Status)

	// Nobody's id stands in the way of another's code, of its server's id, or of the
	// beginning of that: not as an alias, not in other letters, not the same owner's,
	// not after it has ended.
	served := d.ask("ask", `{"b":1}`)
	ended, err := d.agent.Withdraw(ctx, d.ask("ask", `{"b":2}`).ID, api.WithdrawRequest{})
	require.NoError(t, err)
	inSession := func(r *api.CreateRequest) { r.SessionKey = "s" }
	_, err = d.other.Create(ctx, request("ask", `{"evil":true}`, inSession), api.CreateOptions{})
	require.NoError(t, err)
	for _, id := range []string{first.Code, strings.ToLower(first.Code), ended.Code, served.Code,
		served.ID, strings.ToUpper(served.ID), served.ID[:8], served.ID[:9], strings.ToUpper(served.ID[:35]), ended.ID[:12]} {
		for _, evil := range []api.CreateRequest{
			request("ask", `{"evil":true}`, mine(id)), request("ask", `{"evil":true}`, inSession, mine(id)), request("read", `{"evil":true}`, mine(id)),
		} {
			_, err = d.other.Create(ctx, evil, api.CreateOptions{})
			refusal(t, err, approval.CodeIDConflict)
		}
	}
	_, err = d.agent.Create(ctx, request("ask", `{"c":1}`, mine(served.Code)), api.CreateOptions{})
	refusal(t, err, approval.CodeIDConflict)
	again, err := d.agent.Create(ctx, request("ask", `{"b":1}`, mine(served.ID)), api.CreateOptions{})
	require.NoError(t, err, "it names itself")
	require.Equal(t, served.Code, again.Code)
	for _, ref := range []string{served.Code, served.ID, served.ID[:8], served.ID[:9], first.Code} {
		_, err = d.alice.Get(ctx, ref, 0)
		require.NoError(t, err, ref)
	}
	d.ask("ask", `{"d":1}`, mine(strings.Repeat("0", 7)))
	d.ask("ask", `{"d":2}`, mine("00000000-and-more"))
	byCode, err := d.gate.ByCode(ctx, first.Code)
	require.NoError(t, err)
	require.Equal(t, "agent", byCode.Owner, "chats know codes only")

	// Where an id was there before the code, as nobody can arrange, the code counts.
	squatter := byCode
	squatter.Key, squatter.Owner, squatter.ID = "00000004-0000-4000-8000-000000000000", "other", served.Code
	squatter.Code, squatter.Deliveries = core.KeyCode(squatter.Key), nil
	require.NoError(t, d.store.Create(ctx, core.Lookup{Owner: "other"}, func(core.Existing) ([]core.Change, error) {
		return []core.Change{{Approval: squatter, New: true, Aliases: []string{served.ID, served.ID[:10], strings.ToLower(served.Code)}}}, nil
	}))
	for _, ref := range []string{served.Code, strings.ToLower(served.Code), served.ID} {
		got, err := d.alice.Get(ctx, ref, 0)
		require.NoError(t, err, ref)
		require.Equal(t, served.ID, got.ID)
	}
	_, err = d.alice.Get(ctx, served.ID[:10], 0)
	refusal(t, err, approval.CodeAmbiguousID)
	voted, err := d.alice.Resolve(ctx, served.Code, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, served.ID, voted.ID)
}

// Approved for one place, claimed for another.
func TestAdversary_B4(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.allow(`{}`, func(r *api.CreateRequest) { r.Bind = &api.Bind{Workdir: new("/a"), Host: new("h"), EnvHash: new("e")} })
	for _, b := range []*api.Bind{{Workdir: new("/b"), Host: new("h"), EnvHash: new("e")}, {Workdir: new("/a"), Host: new("H"), EnvHash: new("e")}, {Workdir: new("/a"), Host: new("h")}, {}} {
		_, err := d.agent.Claim(ctx, a.ID, api.ClaimRequest{Bind: b})
		refusal(t, err, approval.CodeFingerprintMismatch)
	}
	_, err := d.agent.Claim(ctx, a.ID, api.ClaimRequest{Bind: &api.Bind{Workdir: new("/a"), Host: new("h"), EnvHash: new("e")}})
	require.NoError(t, err)

	// What was sent was hashed, and is what a claim must say: empty is not absent.
	sent := map[string]string{"null": `{"params":{},"toolName":"ask"}`, `{"host":null}`: `{"bind":{},"params":{},"toolName":"ask"}`,
		"{}": `{"bind":{},"params":{},"toolName":"ask"}`, `{"host":"","workdir":"/w"}`: `{"bind":{"host":"","workdir":"/w"},"params":{},"toolName":"ask"}`}
	for bind, form := range sent {
		got := d.do("POST", "/v1/approvals", "agent", `{"toolName":"ask","params":{},"bind":`+bind+`}`)
		require.Equal(t, 201, got.StatusCode)
		var made api.Approval
		require.NoError(t, json.Unmarshal([]byte(got.text), &made))
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(form))), made.ArgsFingerprint, bind)
		_, err = d.alice.Resolve(ctx, made.Code, api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err)
		for other, otherForm := range sent {
			if form != otherForm && other != "null" {
				got := d.do("POST", "/v1/approvals/"+made.ID+"/claim", "agent", `{"bind":`+other+`}`)
				require.Equal(t, "fingerprint_mismatch", got.problem(t).Code)
			}
		}
		got = d.do("POST", "/v1/approvals/"+made.ID+"/claim", "agent", `{"bind":`+bind+`}`)
		require.Equal(t, 200, got.StatusCode, got.text)
	}
}

// One approval, claimed twice: at the same instant, and after a restart.
func TestAdversary_B6(t *testing.T) {
	d, ctx := newDesk(t, tempStore(t)), t.Context()
	a := d.allow(`{"pay":1}`)
	var got [16]error
	var racing sync.WaitGroup
	for i := range got {
		racing.Go(func() { _, got[i] = d.agent.Claim(ctx, a.ID, api.ClaimRequest{ClaimID: fmt.Sprint("racer-", i)}) })
	}
	racing.Wait()
	won := 0
	for _, err := range got {
		if err == nil {
			won++
			continue
		}
		refusal(t, err, approval.CodeAlreadyUsed)
	}
	require.Equal(t, 1, won)

	_, err := d.agent.Create(ctx, request("read", `{}`, func(r *api.CreateRequest) { r.ID = "once" }), api.CreateOptions{Claim: true})
	require.NoError(t, err)
	d.reopen()
	_, err = d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	refusal(t, err, approval.CodeAlreadyUsed)
	_, err = d.agent.Create(ctx, request("read", `{}`, func(r *api.CreateRequest) { r.ID = "once" }), api.CreateOptions{Claim: true})
	refusal(t, err, approval.CodeAlreadyUsed)
}

// The card of a withdrawn or superseded request is tapped.
func TestAdversary_B7(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	withdrawn := d.ask("ask", `{"a":1}`)
	_, err := d.agent.Withdraw(ctx, withdrawn.ID, api.WithdrawRequest{})
	require.NoError(t, err)
	superseded := d.ask("ask", `{"b":1}`)
	next := d.ask("ask", `{"b":2}`, func(r *api.CreateRequest) { r.Supersedes = superseded.ID })
	for _, a := range []api.Approval{withdrawn, superseded} {
		_, err = d.alice.Resolve(ctx, a.Code, api.ResolveRequest{Decision: api.AllowOnce})
		require.Contains(t, refusal(t, err, approval.CodeAlreadyResolved).Detail, "withdrawn")
		place, _ := approval.ParseTarget(group)
		tapped, err := d.gate.Vote(ctx, a.ID, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "111"},
			Decision: approval.AllowOnce, Chat: &place, ReceivedMs: time.Now().UnixMilli()})
		require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err))
		require.Contains(t, card.Ending(tapped), "withdrawn")
		_, err = d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
		require.Equal(t, "denied", refusal(t, err, approval.CodeNotClaimable).Why)
	}
	next, err = d.agent.Get(ctx, next.ID, 0)
	require.NoError(t, err)
	require.Equal(t, api.Pending, next.Status, "no vote carried over")
}

// Claimed late, after a revoke, after policy turned, or with a lost answer.
func TestAdversary_B8(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newDesk(t), t.Context()
		late := d.allow(`{"n":1}`)
		kept := d.allow(`{"n":2}`)
		_, err := d.agent.Claim(ctx, kept.ID, api.ClaimRequest{ClaimID: "c"})
		require.NoError(t, err)
		time.Sleep(6 * time.Minute) // on the bubble's clock
		_, err = d.agent.Claim(ctx, late.ID, api.ClaimRequest{})
		require.Equal(t, "late", refusal(t, err, approval.CodeNotClaimable).Why)
		lost, err := d.agent.Claim(ctx, kept.ID, api.ClaimRequest{ClaimID: "c"})
		require.NoError(t, err, "a lost answer burns nothing")
		require.Equal(t, `{"n":2}`, string(lost.Params))
		for _, id := range []string{"", "other"} {
			_, err = d.agent.Claim(ctx, kept.ID, api.ClaimRequest{ClaimID: id})
			refusal(t, err, approval.CodeAlreadyUsed)
		}

		revoked, turned := d.allow(`{"n":3}`), d.allow(`{"n":4}`)
		_, err = d.bob.Revoke(ctx, revoked.ID, api.RevokeRequest{})
		require.NoError(t, err)
		_, err = d.agent.Claim(ctx, revoked.ID, api.ClaimRequest{})
		require.Equal(t, "revoked", refusal(t, err, approval.CodeNotClaimable).Why)
		d.judge.turn("ask")
		_, err = d.agent.Claim(ctx, turned.ID, api.ClaimRequest{})
		require.Equal(t, "policy", refusal(t, err, approval.CodeNotClaimable).Why)
		_, err = d.agent.Claim(ctx, kept.ID, api.ClaimRequest{ClaimID: "c"})
		require.Equal(t, "policy", refusal(t, err, approval.CodeNotClaimable).Why, "nor is it handed out again")
	})
}

// Whoever asked decides, by an API token of the same person.
func TestAdversary_I5_API(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	own, err := d.aliceAgent.Create(ctx, request("ask", `{}`), api.CreateOptions{})
	require.NoError(t, err)
	byAccount := d.ask("ask", `{"n":1}`, func(r *api.CreateRequest) { r.Requester = &api.Requester{Channel: "discord", UserID: "222"} })
	byName := d.ask("ask", `{"n":2}`, func(r *api.CreateRequest) { r.Requester = &api.Requester{Person: "alice"} })
	joined := d.ask("ask", `{"n":3}`, func(r *api.CreateRequest) { r.SessionKey = "s" })
	d.ask("ask", `{"n":3}`, func(r *api.CreateRequest) { r.SessionKey, r.Requester = "s", &api.Requester{Person: "alice"} })
	for _, a := range []api.Approval{own, byAccount, byName, joined} {
		_, err = d.alice.Resolve(ctx, a.Code, api.ResolveRequest{Decision: api.AllowOnce})
		refusal(t, err, approval.CodeSelfApproval)
		after, err := d.bob.Resolve(ctx, a.Code, api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err)
		require.Equal(t, []string{"person:bob"}, after.DecidedBy)
	}
	// Bob's token may ask and decide: not for himself.
	bobs, err := d.bob.Create(ctx, request("ask", `{}`), api.CreateOptions{})
	require.NoError(t, err)
	_, err = d.bob.Resolve(ctx, bobs.ID, api.ResolveRequest{Decision: api.AllowOnce})
	refusal(t, err, approval.CodeSelfApproval)
	gone, err := d.bob.Resolve(ctx, bobs.ID, api.ResolveRequest{Decision: api.Deny})
	require.NoError(t, err, "the requester's deny withdraws it")
	require.Equal(t, api.Withdrawn, gone.Status)

	d.rules.Solo = true
	d.gate.Use(d.rules)
	solo, err := d.aliceAgent.Create(ctx, request("ask", `{"solo":1}`), api.CreateOptions{})
	require.NoError(t, err)
	solo, err = d.alice.Resolve(ctx, solo.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, api.Approved, solo.Status)
}

// A token without the scope decides; scopes and identities are claimed; a token
// was removed.
func TestAdversary_I9_API(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.ask("ask", `{}`)
	for _, as := range []string{"agent", "other", "auditor", "alice-agent"} {
		for _, verb := range []string{"resolve", "revoke"} {
			r := d.do("POST", "/v1/approvals/"+a.ID+"/"+verb, as, `{"decision":"allow-once"}`, "X-Scopes", "operator.approvals", "X-Forwarded-User", "alice")
			require.Equal(t, "forbidden", r.problem(t).Code)
		}
	}
	r := d.do("POST", "/v1/approvals/"+a.ID+"/resolve", "viewer", `{"decision":"allow-once"}`)
	require.Equal(t, "forbidden", r.problem(t).Code, "operator.approvals without a person")
	r = d.do("POST", "/v1/approvals/"+a.ID+"/resolve", "alice", `{"decision":"allow-once","person":"bob","scopes":["operator.approvals"]}`)
	require.Equal(t, []string{"person", "scopes"}, fieldsOf(r.problem(t)))
	for _, verb := range []string{"claim", "withdraw", "result"} {
		r = d.do("POST", "/v1/approvals/"+a.ID+"/"+verb, "alice", `{}`)
		require.Equal(t, "forbidden", r.problem(t).Code, "operators ask and run nothing")
	}
	require.Equal(t, "forbidden", d.do("GET", "/v1/approvals", "auditor", "").problem(t).Code)
	require.Equal(t, "forbidden", d.do("GET", "/v1/approvals/"+a.ID, "auditor", "").problem(t).Code)
	require.Equal(t, "forbidden", d.do("POST", "/v1/approvals", "alice", `{"toolName":"read","params":{}}`).problem(t).Code)

	require.NoError(t, d.srv.Tokens.Use(testTokens()[1:]))
	_, err := d.agent.Get(ctx, a.ID, 0)
	refusal(t, err, approval.CodeUnauthorized)
	after, err := d.alice.Get(ctx, a.ID, 0)
	require.NoError(t, err)
	require.Equal(t, api.Pending, after.Status)
	require.Empty(t, after.Votes)
}

// An agent's token reaches for what decides or configures.
func TestAdversary_I10_API(t *testing.T) {
	d := newDesk(t)
	for _, path := range []string{"/v1/tokens", "/v1/approvals/x/approve", "/v1/approvals/x/votes", "/v1/policy/rules"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			require.Equal(t, "not_found", d.do(method, path, "agent", "{}").problem(t).Code, path)
		}
	}
	for _, verb := range []string{"GET /v1/policy", "POST /v1/policy/reload", "GET /v1/grants", "POST /v1/grants", "POST /v1/approvals/x/retry", "POST /v1/approvals/x/resolve", "POST /v1/approvals/x/revoke",
		"PUT /v1/people/alice/away", "DELETE /v1/people/alice/away"} {
		method, path, _ := strings.Cut(verb, " ")
		require.Equal(t, "forbidden", d.do(method, path, "agent", "{}").problem(t).Code, verb)
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		r := d.do(method, "/v1/approvals/x", "agent", `{"status":"approved"}`)
		require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
		require.Equal(t, "GET, HEAD", r.Header.Get("Allow"))
		require.Equal(t, "method_not_allowed", r.problem(t).Code)
	}
}

// The origin names a chat that the token may not use.
func TestAdversary_I13_API(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	at := func(to, thread string) api.CreateRequest {
		return request("ask", `{}`, func(r *api.CreateRequest) {
			r.Origin = &api.Target{Channel: "telegram", To: to, ThreadID: thread}
		})
	}
	for _, foreign := range []api.CreateRequest{at("-100666", ""), at("111", ""), at("100777", "")} {
		_, err := d.agent.Create(ctx, foreign, api.CreateOptions{})
		refusal(t, err, approval.CodeOriginNotAllowed)
	}
	for _, own := range []api.CreateRequest{at("-100777", ""), at("-100777", "5"), at("-1001234567890", "")} {
		_, err := d.agent.Create(ctx, own, api.CreateOptions{})
		require.NoError(t, err)
	}
	_, err := d.other.Create(ctx, at("-100777", ""), api.CreateOptions{})
	refusal(t, err, approval.CodeOriginNotAllowed)
	l, err := d.alice.List(ctx, api.Filter{})
	require.NoError(t, err)
	require.Len(t, l.Items, 3, "nothing was stored or sent by what was refused")
}

// No secret of a request or token reaches the log or an error.
func TestAdversary_S6_API(t *testing.T) {
	d := newDesk(t)
	const secret = "hunter2-hunter2"
	bodies := []string{`{"toolName":"ask","params":{"password":"` + secret + `"}}`, `{"toolName":"` + secret + ` ","params":{}}`,
		`{"x":"` + secret + `"}`, `{"toolName":7,"params":"` + secret + `"}`, `{"` + `a":"` + secret + `"`, `{"toolName":"ask","params":{},"requester":{"person":"` + secret + `"}}`}
	for _, b := range bodies[1:] {
		r := d.do("POST", "/v1/approvals?wait="+secret, "agent", b)
		require.GreaterOrEqual(t, r.StatusCode, 400)
		require.NotContains(t, r.text, secret)
		r = d.do("POST", "/v1/approvals", "agent", b)
		require.GreaterOrEqual(t, r.StatusCode, 400)
		require.NotContains(t, r.text, secret)
	}
	d.do("POST", "/v1/approvals", "agent", bodies[0])
	_, err := d.nobody.Get(t.Context(), "x", 0)
	require.False(t, strings.Contains(err.Error(), "s3cret"))
	require.NotContains(t, d.logs.String(), "s3cret")
	require.NotContains(t, d.logs.String(), secret)
	require.NotContains(t, d.do("GET", "/metrics", "", "").text, secret)
	var p *api.Problem
	require.True(t, errors.As(err, &p))
}
