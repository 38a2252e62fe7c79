package verifier

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"approvalbot/internal/approval"
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

var quiet = slog.New(slog.DiscardHandler)

// authority is a fake webhook or model server: it keeps what it was sent and
// answers as it is told.
type authority struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
}

func newAuthority(t *testing.T, answer http.HandlerFunc) *authority {
	a := &authority{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		a.bodies, a.heads = append(a.bodies, body), append(a.heads, r.Header.Clone())
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *authority) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.bodies)
}

func (a *authority) last(t *testing.T) (body []byte, head http.Header) {
	a.mu.Lock()
	defer a.mu.Unlock()
	require.NotEmpty(t, a.bodies)
	return a.bodies[len(a.bodies)-1], a.heads[len(a.heads)-1]
}

// says answers with status and body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func mustVerifier(t *testing.T, cfg Config) *Verifier {
	t.Helper()
	v, _, err := New(cfg, quiet)
	require.NoError(t, err)
	t.Cleanup(v.Close)
	return v
}

func hooked(url string) Settings {
	return Settings{Enabled: true, Webhook: Webhook{URL: url}}
}

func execCall() approval.Call {
	return approval.Call{ToolName: "exec", Params: []byte(`{"command":"curl https://example.com","workdir":"/workspace"}`),
		AgentID: "main", SessionKey: "agent:main:main", Origin: &approval.Target{Channel: "telegram", To: "1"}}
}

// tripper is a network without sockets, for tests in virtual time.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(r *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// silent never answers: it ends with the request's context.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}
