package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"approvalbot/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(settled{m}) }

// settled runs the tests, and gives what they began a minute to end: the check for
// leaks itself waits for less than half a second.
type settled struct{ m *testing.M }

// Run implements goleak.TestingM.
func (s settled) Run() int {
	code := s.m.Run()
	for end := time.Now().Add(time.Minute); code == 0 && goleak.Find() != nil && time.Now().Before(end); {
	}
	return code
}

const token = "t0ken-that-must-not-leak"

// wire answers requests without a network.
type wire func(r *http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

func client(w wire) *api.Client {
	return &api.Client{Server: "http://desk.test/", Token: token, HTTP: &http.Client{Transport: w}}
}

func answer(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func TestRequestsOnTheWire(t *testing.T) {
	var seen []string
	c := client(func(r *http.Request) (*http.Response, error) {
		line := r.Method + " " + r.URL.RequestURI()
		if r.Body != nil {
			b, _ := io.ReadAll(r.Body)
			line += " " + strings.TrimSpace(string(b))
		}
		require.Equal(t, "Bearer "+token, r.Header.Get("Authorization"))
		seen = append(seen, line)
		return answer(200, `{}`), nil
	})
	ctx := t.Context()
	_, err := c.Create(ctx, api.CreateRequest{ToolName: "exec", Params: json.RawMessage(`{"command":"a<b"}`)},
		api.CreateOptions{Wait: 25 * time.Second, Claim: true, ClaimID: "c 1"})
	require.NoError(t, err)
	_, _ = c.Get(ctx, "a:b/c", time.Second)
	_, _ = c.List(ctx, api.Filter{Status: api.Pending, Limit: 5})
	_, _ = c.Resolve(ctx, "x", api.ResolveRequest{Decision: api.Deny, Reason: "no"})
	_, _ = c.Withdraw(ctx, "x", api.WithdrawRequest{})
	_, _ = c.Claim(ctx, "x", api.ClaimRequest{Params: json.RawMessage(`{"n":1.0}`)})
	_, _ = c.Revoke(ctx, "x", api.RevokeRequest{Reason: "r"})
	_, _ = c.Tools(ctx, api.ToolsRequest{Tools: []string{"exec"}, AgentID: "main", Context: &api.Context{Subagent: true}})
	zero := 0
	_, _ = c.Result(ctx, "x", api.ResultRequest{Status: "succeeded", ExitCode: &zero})
	require.Equal(t, []string{
		`POST /v1/approvals?claim=1&claimId=c+1&wait=25s {"toolName":"exec","params":{"command":"a<b"}}`,
		`GET /v1/approvals/a:b%2Fc?wait=1s`,
		`GET /v1/approvals?limit=5&status=pending`,
		`POST /v1/approvals/x/resolve {"decision":"deny","reason":"no"}`,
		`POST /v1/approvals/x/withdraw {}`,
		`POST /v1/approvals/x/claim {"params":{"n":1.0}}`,
		`POST /v1/approvals/x/revoke {"reason":"r"}`,
		`POST /v1/tools {"tools":["exec"],"agentId":"main","context":{"subagent":true}}`,
		`POST /v1/approvals/x/result {"status":"succeeded","exitCode":0}`,
	}, seen)
}

func TestProblems(t *testing.T) {
	c := client(func(*http.Request) (*http.Response, error) {
		return answer(409, `{"title":"Not claimable","status":409,"detail":"Too late.","code":"not_claimable","why":"late"}`), nil
	})
	_, err := c.Claim(t.Context(), "x", api.ClaimRequest{})
	var p *api.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, "late", p.Why)
	require.EqualError(t, err, "Too late. (not_claimable)")

	c = client(func(*http.Request) (*http.Response, error) { return answer(429, `<html>`, "Retry-After", "7"), nil })
	_, err = c.Get(t.Context(), "x", 0)
	require.ErrorAs(t, err, &p)
	require.Equal(t, 429, p.Status)
	require.Equal(t, 7*time.Second, p.RetryAfter)
	require.ErrorContains(t, err, "is its address right?")

	c = client(func(*http.Request) (*http.Response, error) { return answer(200, `<html>`), nil })
	_, err = c.Get(t.Context(), "x", 0)
	require.ErrorContains(t, err, "not the JSON it should be")
}

func TestErrorsCarryNoToken(t *testing.T) {
	broken := errors.New("connection refused")
	for _, c := range []*api.Client{
		client(func(*http.Request) (*http.Response, error) { return nil, broken }),
		client(func(*http.Request) (*http.Response, error) { return answer(500, ``), nil }),
		{Server: "not a url", Token: token}, {Server: "", Token: token}, {Server: "ftp://x", Token: token},
		{Server: "http://127.0.0.1:1", Token: token + "\n"},
	} {
		_, err := c.Get(t.Context(), "x", 0)
		require.Error(t, err)
		require.NotContains(t, err.Error(), token)
	}
	_, err := client(func(*http.Request) (*http.Response, error) { return nil, broken }).Get(t.Context(), "x", 0)
	require.ErrorIs(t, err, broken)
}

func TestNoRedirect(t *testing.T) {
	there := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed") }))
	defer there.Close()
	here := httptest.NewServer(http.RedirectHandler(there.URL, http.StatusTemporaryRedirect))
	defer here.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	c := &api.Client{Server: here.URL, Token: token}
	_, err := c.Create(t.Context(), api.CreateRequest{}, api.CreateOptions{})
	var p *api.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, http.StatusTemporaryRedirect, p.Status)
}

func TestReady(t *testing.T) {
	c := client(func(*http.Request) (*http.Response, error) {
		return answer(503, `{"ready":false,"store":"gone","policy":"ok","channels":{"telegram":{"up":true}}}`), nil
	})
	r, err := c.Ready(t.Context())
	require.NoError(t, err)
	require.Equal(t, "gone", r.Store)
	require.True(t, r.Channels["telegram"].Up)
}

// What was asked for when its asker was interrupted is answered, if that does not take long.
func TestLingering(t *testing.T) {
	for took, known := range map[time.Duration]bool{time.Second: true, 3 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			c := client(func(r *http.Request) (*http.Response, error) {
				interrupt()
				select {
				case <-time.After(took):
					return answer(201, `{"status":"pending"}`), nil
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			})
			asking, leave := api.Lingering(ctx, 2*time.Second)
			defer leave()
			a, err := c.Create(asking, api.CreateRequest{ToolName: "exec"}, api.CreateOptions{})
			require.Equal(t, known, err == nil, "%v", err)
			require.Equal(t, known, a.Status == api.Pending)
		})
	}
}

func TestWaitFinalRidesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := []func() (*http.Response, error){
			func() (*http.Response, error) { return nil, errors.New("connection refused") },
			func() (*http.Response, error) { return answer(502, `<html>`), nil },
			func() (*http.Response, error) { return answer(503, `{"code":"unavailable","status":503}`), nil },
			func() (*http.Response, error) { return answer(429, `{"code":"rate_limited"}`, "Retry-After", "9"), nil },
			func() (*http.Response, error) { return answer(200, `{"status":"pending"}`), nil }, // stopping: answered at once
			func() (*http.Response, error) {
				time.Sleep(55 * time.Second)
				return answer(200, `{"status":"pending"}`), nil
			},
			func() (*http.Response, error) {
				return answer(200, `{"status":"approved","decision":"allow-once"}`), nil
			},
		}
		start := time.Now()
		c := client(func(*http.Request) (*http.Response, error) {
			next := script[0]
			script = script[1:]
			return next()
		})
		a, err := c.WaitFinal(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, api.Approved, a.Status)
		require.Greater(t, time.Since(start), 64*time.Second, "what Retry-After says is kept")
	})
}

func TestWaitFinalEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(func(*http.Request) (*http.Response, error) { return answer(200, `{"id":"x","status":"pending"}`), nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a, err := c.WaitFinal(ctx, "x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "x", a.ID, "as last seen")

		c = client(func(*http.Request) (*http.Response, error) {
			return answer(404, `{"code":"not_found","detail":"None."}`), nil
		})
		_, err = c.WaitFinal(t.Context(), "x")
		require.EqualError(t, err, "None. (not_found)")
	})
}

func TestNoDecisionIsNull(t *testing.T) {
	b, err := json.Marshal(api.Approval{})
	require.NoError(t, err)
	require.Contains(t, string(b), `"decision":null`)
	var a api.Approval
	require.NoError(t, json.Unmarshal(b, &a))
	require.Equal(t, api.Decision(""), a.Decision)
	b, err = json.Marshal(api.Vote{})
	require.NoError(t, err)
	require.NotContains(t, string(b), `"decision"`)
}

// A claim reaches the caller only past Believe, and a caller that does not say what it
// asked for claims nothing.
func TestAdversary_T6_NoClaimPastBelieve(t *testing.T) {
	reached := 0
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		claim := `{"toolName":"x","params":{},"claimId":"c"}`
		if strings.HasSuffix(r.URL.Path, "/claim") {
			_, _ = io.WriteString(w, claim)
			return
		}
		_, _ = io.WriteString(w, `{"id":"a","status":"approved","claim":`+claim+`}`)
	}))
	defer desk.Close()
	refusal := errors.New("not the desk's")
	said := refusal
	var asked api.Asked
	c := &api.Client{Server: desk.URL, Believe: func(_ context.Context, a api.Asked, got api.Claim) error {
		require.Equal(t, "c", got.ClaimID)
		asked = a
		return said
	}}
	ctx, params, bind := t.Context(), json.RawMessage(`{"n":1}`), &api.Bind{Workdir: new("/w")}
	req := api.CreateRequest{ToolName: "x", Params: params, Bind: bind}
	claim := api.ClaimRequest{ToolName: "x", Params: params, Bind: bind, ClaimID: "mine"}
	for _, said = range []error{refusal, nil} {
		a, err := c.Create(ctx, req, api.CreateOptions{Claim: true, ClaimID: "mine"})
		require.ErrorIs(t, err, said)
		require.Equal(t, said == nil, a.Claim != nil)
		require.Equal(t, api.Asked{ToolName: "x", Params: params, Bind: bind, ClaimID: "mine"}, asked)
		asked = api.Asked{}
		got, err := c.Claim(ctx, "a", claim)
		require.ErrorIs(t, err, said)
		require.Equal(t, said == nil, got.ToolName != "")
		require.Equal(t, api.Asked{ToolName: "x", Params: params, Bind: bind, ClaimID: "mine"}, asked)
	}
	before := reached
	for _, less := range []api.ClaimRequest{
		{}, {ToolName: "x", Params: params}, {Params: params, ClaimID: "mine"}, {ToolName: "x", ClaimID: "mine"},
	} {
		_, err := c.Claim(ctx, "a", less)
		require.ErrorIs(t, err, api.ErrNotBelieved)
	}
	_, err := c.Create(ctx, req, api.CreateOptions{Claim: true})
	require.ErrorIs(t, err, api.ErrNotBelieved)
	require.Equal(t, before, reached, "the desk still has it to hand out")
	for _, look := range []func() (api.Approval, error){
		func() (api.Approval, error) { return c.Get(ctx, "a", 0) },
		func() (api.Approval, error) { return c.WaitFinal(ctx, "a") },
		func() (api.Approval, error) { return c.Create(ctx, req, api.CreateOptions{}) },
	} {
		a, err := look()
		require.NoError(t, err)
		require.Nil(t, a.Claim, "a look hands out nothing")
	}
}

// A claim that may run confined alone is not for a program that did not say that it confines.
func TestAConfinedClaimIsForWhoConfines(t *testing.T) {
	t.Parallel()
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"toolName":"exec","params":{},"fingerprint":"f","decision":"allow-once","confined":{"profile":"v1","writable":["/w"],"readonly":[]}}`))
	}))
	defer desk.Close()
	c := &api.Client{Server: desk.URL, Token: "t"}
	_, err := c.Claim(t.Context(), "a", api.ClaimRequest{})
	require.ErrorIs(t, err, api.ErrNotBelieved)
	got, err := c.Claim(t.Context(), "a", api.ClaimRequest{Confine: []string{"v1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"/w"}, got.Confined.Writable)
}
