package server

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
)

func TestAuthorization(t *testing.T) {
	d := newDesk(t)
	for _, given := range []string{"", "Bearer", "Bearer ", "Basic " + secretOf("agent"), secretOf("agent"), "Bearer wrong", "Bearer agent", "Bearer " + secretOf("agent") + "x"} {
		r := d.do("GET", "/v1/approvals", "", "", "Authorization", given)
		require.Equal(t, "unauthorized", r.problem(t).Code, given)
		require.Contains(t, r.Header.Get("WWW-Authenticate"), "Bearer")
	}
	for _, given := range []string{"Bearer ", "bearer ", "BEARER  "} {
		require.Equal(t, 200, d.do("GET", "/v1/approvals", "", "", "Authorization", given+secretOf("agent")).StatusCode)
	}
	require.Equal(t, 401, d.do("GET", "/v1/approvals?access_token="+secretOf("agent"), "", "").StatusCode, "never in the query")
}

func TestTokensThatCannotBe(t *testing.T) {
	token := func(name, secret string) auth.Token { return auth.Token{Name: name, Hash: auth.Hash(secret)} }
	for problem, list := range map[string][]auth.Token{
		"two tokens are named": {token("a", "1"), token("a", "2")},
		"have the same secret": {token("a", "1"), token("b", "1")},
		"empty secret":         {token("a", "")},
		"has no name":          {token("", "1")},
	} {
		_, err := New(Config{Tokens: list})
		require.ErrorContains(t, err, problem)
	}
	d := newDesk(t)
	require.Error(t, d.srv.Tokens.Use([]auth.Token{token("a", "")}))
	require.Equal(t, 200, d.do("GET", "/v1/approvals", "agent", "").StatusCode, "the old set stays")
}

func TestNewSecretSameOwner(t *testing.T) {
	d := newDesk(t)
	a := d.ask("ask", `{}`)
	list := testTokens()
	list[0].Hash = auth.Hash("another-secret")
	require.NoError(t, d.srv.Tokens.Use(list))
	_, err := d.agent.Get(t.Context(), a.ID, 0)
	refusal(t, err, approval.CodeUnauthorized)
	d.agent.Token = "another-secret"
	_, err = d.agent.Get(t.Context(), a.ID, 0)
	require.NoError(t, err, "the owner outlives a change of the secret")
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		list := testTokens()
		list[0].RequestsPerSecond = 3
		require.NoError(t, d.srv.Tokens.Use(list))
		get := func(as string) int { return d.do("GET", "/v1/approvals", as, "").StatusCode }
		for range 3 {
			require.Equal(t, 200, get("agent"))
		}
		r := d.do("GET", "/v1/approvals", "agent", "")
		require.Equal(t, "rate_limited", r.problem(t).Code)
		require.Equal(t, "1", r.Header.Get("Retry-After"))
		require.Equal(t, 200, get("other"), "each token has its own pace")
		require.NoError(t, d.srv.Tokens.Use(list))
		require.Equal(t, 429, get("agent"), "a reload gives no fresh allowance")
		time.Sleep(334 * time.Millisecond)
		require.Equal(t, 200, get("agent"))
		require.Equal(t, 429, get("agent"))
		time.Sleep(time.Hour)
		for range 3 {
			require.Equal(t, 200, get("agent"))
		}
		require.Equal(t, 429, get("agent"))
	})
}

func TestPendingLimit(t *testing.T) {
	d := newDesk(t)
	list := testTokens()
	list[0].Caller.MaxPending = 2
	require.NoError(t, d.srv.Tokens.Use(list))
	d.ask("ask", `{"n":1}`)
	second := d.ask("ask", `{"n":2}`)
	r := d.do("POST", "/v1/approvals", "agent", `{"toolName":"ask","params":{"n":3}}`)
	require.Equal(t, "rate_limited", r.problem(t).Code)
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	d.ask("read", `{}`)
	_, err := d.agent.Withdraw(t.Context(), second.ID, api.WithdrawRequest{})
	require.NoError(t, err)
	d.ask("ask", `{"n":3}`)
}

// A token learns what it is and may do, and nobody its secret.
func TestTokenInfo(t *testing.T) {
	d := newDesk(t)
	list := testTokens()
	list[0].Caller.AgentID = "main"
	require.NoError(t, d.srv.Tokens.Use(list))
	r := d.do("GET", "/v1/token", "agent", "")
	require.Equal(t, 200, r.StatusCode)
	require.JSONEq(t, `{"name":"agent","scopes":["approvals.request"],"agentId":"main"}`, r.text)
	require.Equal(t, 401, d.do("GET", "/v1/token", "nobody", "").StatusCode)
}
