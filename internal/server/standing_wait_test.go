package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
)

// tokensWithout gives the test tokens but one; change, if there is one, keeps it changed.
func tokensWithout(name string, change func(*auth.Token)) (out []auth.Token) {
	for _, t := range testTokens() {
		if t.Name == name {
			if change == nil {
				continue
			}
			change(&t)
		}
		out = append(out, t)
	}
	return out
}

// A token that is taken away, or is not what it was, loses what it waits for: at
// once, and nothing is claimed for it, also where the decision comes in the same moment.
func TestAdversary_I9_ARemovedTokensWait(t *testing.T) {
	theirs := auth.Hash(secretOf("agent"))
	for name, c := range map[string]struct {
		tokens []auth.Token
		status int
	}{
		"removed":        {tokensWithout("agent", nil), http.StatusUnauthorized},
		"another secret": {tokensWithout("agent", func(t *auth.Token) { t.Hash = auth.Hash("another") }), http.StatusUnauthorized},
		"another owner":  {tokensWithout("agent", func(t *auth.Token) { t.Name = "renamed" }), http.StatusUnauthorized},
		"exchanged": {append(tokensWithout("agent", nil), auth.Token{Name: "new", Hash: theirs, Caller: core.Caller{MayRequest: true}}),
			http.StatusUnauthorized},
		"another agent": {tokensWithout("agent", func(t *auth.Token) { t.Caller.AgentID = "other" }), http.StatusForbidden},
		"a scope less": {tokensWithout("agent", func(t *auth.Token) { t.Caller.MayRequest, t.Caller.MayDecide = false, true }),
			http.StatusForbidden},
	} {
		for _, path := range []string{"/v1/approvals?wait=60s&claim=1", "/v1/approvals?wait=60s", "/v1/approvals/w?wait=60s"} {
			for _, decided := range []bool{false, true} {
				t.Run(name+" "+path, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						d, start := newDesk(t), time.Now()
						method, body := http.MethodPost, `{"id":"w","toolName":"ask","params":{}}`
						if path == "/v1/approvals/w?wait=60s" {
							d.pending("w")
							method, body = http.MethodGet, ""
						}
						r := d.begin(t.Context(), method, path, "agent", body)
						code := d.codeOf("w")
						require.NoError(t, d.srv.Tokens.Use(c.tokens))
						if decided { // before whoever waits has run
							_, err := d.alice.Resolve(t.Context(), code, api.ResolveRequest{Decision: api.AllowOnce})
							require.NoError(t, err)
						}
						synctest.Wait()
						require.True(t, r.done.Load())
						require.Equal(t, start, time.Now(), "at once")
						require.Equal(t, c.status, r.r.StatusCode, r.r.text)
						r.r.problem(t)
						require.NotContains(t, r.r.text, "approved")
						a, err := d.gate.ByCode(t.Context(), code)
						require.NoError(t, err)
						require.Zero(t, a.ClaimedAtMs)
					})
				})
			}
		}
	}
}

func (d *desk) codeOf(id string) string {
	a, err := d.gate.Get(d.t.Context(), requesting, id)
	require.NoError(d.t, err)
	return a.Code
}

// A reload that leaves a token what it was, or gives it more, cuts no wait off.
func TestAReloadLeavesOthersWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		r := d.begin(t.Context(), "POST", "/v1/approvals?wait=25s&claim=1", "agent", `{"id":"w","toolName":"ask","params":{}}`)
		for range 3 {
			require.NoError(t, d.srv.Tokens.Use(tokensWithout("other", nil)))
			require.NoError(t, d.srv.Tokens.Use(tokensWithout("agent", func(t *auth.Token) { t.Caller.MayAudit, t.RequestsPerSecond = true, 9 })))
			synctest.Wait()
			require.False(t, r.done.Load())
		}
		d.yes("w")
		synctest.Wait()
		require.Contains(t, r.r.text, `"claim":{"toolName":"ask"`)
	})
}

// reloading is a verifier that takes its time, in which the token goes.
type reloading struct{ do func() }

func (reloading) Wants(approval.Call) approval.Verification {
	return approval.Verification{Asked: true}
}

func (reloading) Chats() []approval.VerifierPeople { return nil }

func (v reloading) Verify(context.Context, approval.Call, approval.RiskClass) approval.Verification {
	v.do()
	return approval.Verification{Asked: true}
}

// What policy allows only after others were asked is not handed to a token that
// went meanwhile.
func TestAdversary_I9_ATokenRemovedWhileOthersAreAsked(t *testing.T) {
	const spoken = `{"role":"assistant","content":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}`
	for path, body := range map[string]string{
		"/v1/approvals?claim=1":          `{"id":"w","toolName":"read","params":{}}`,
		"/v1/approvals?claim=1&wait=60s": `{"id":"w","toolName":"read","params":{}}`,
		"/v1/messages/intercept":         `{"sessionKey":"s","message":` + spoken + `}`,
	} {
		d := newDesk(t)
		rules := d.rules
		rules.Verifier = reloading{func() { require.NoError(t, d.srv.Tokens.Use(tokensWithout("agent", nil))) }}
		d.gate.Use(rules)
		r := d.do("POST", path, "agent", body)
		require.Equal(t, http.StatusUnauthorized, r.StatusCode, r.text)
		l, err := d.alice.List(t.Context(), api.Filter{})
		require.NoError(t, err)
		require.False(t, slices.ContainsFunc(l.Items, func(a api.Approval) bool { return a.ClaimedAtMs != 0 }), path)
	}
}

// lateBody is a body that comes in after something has happened.
type lateBody struct {
	io.Reader
	first func()
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.first != nil {
		b.first()
		b.first = nil
	}
	return b.Reader.Read(p)
}

// A token that is removed, or loses its scope, while a request's body is on its way
// does nothing any more.
func TestATokenThatGoesWhileTheBodyComes(t *testing.T) {
	none := func(t *auth.Token) { t.Caller.MayRequest, t.Caller.MayDecide = false, false }
	for path, as := range map[string]string{"claim": "agent", "revoke": "viewer"} {
		for want, change := range map[int]func(*auth.Token){http.StatusUnauthorized: nil, http.StatusForbidden: none} {
			d := newDesk(t)
			a := d.allow(`{}`)
			body := &lateBody{Reader: strings.NewReader(`{}`), first: func() {
				require.NoError(t, d.srv.Tokens.Use(tokensWithout(as, change)))
			}}
			r := httptest.NewRequest(http.MethodPost, "/v1/approvals/"+a.ID+"/"+path, body)
			r.Header.Set("Authorization", "Bearer "+secretOf(as))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			d.srv.Handler().ServeHTTP(w, r)
			require.Equal(t, want, w.Code, "%s: %s", path, w.Body)
			after, err := d.gate.ByKey(t.Context(), a.ID)
			require.NoError(t, err)
			require.Zero(t, after.ClaimedAtMs+after.RevokedAtMs)
		}
	}
}
