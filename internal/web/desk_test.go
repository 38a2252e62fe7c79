package web

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/audit"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/server/events"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
)

// settings: alice, bob and erin decide, carol only asks, dave has nothing to do with it.
const settings = `server:
  tokens:
    - {name: deployer, token: "0123456789abcdef0123456789abcdef", scopes: [approvals.request], agentId: deployer}
    - {name: alice-laptop, token: "abcdef0123456789abcdef0123456789", scopes: [operator.approvals, operator.audit],
	person: alice}
channels:
  telegram: {botToken: "1:x", allowedUserIds: [1, 2, 5]}
people:
  - {name: alice, telegram: 1, timezone: Europe/Berlin}
  - {name: bob, telegram: 2}
  - {name: carol, telegram: 3}
  - {name: dave, telegram: 4}
  - {name: erin, telegram: 5}
approvals:
  tools:
    enabled: true
    policy: {minApprovalsByRisk: {R4: 2}}
    routing: {mode: targets, targets: [{channel: telegram, to: "-1001"}]}
`

// desk is a real Gate on a real store with pages before it. Who is signed in is what the
// cookie "person" says: signing in is not what these tests are about.
type desk struct {
	t     testing.TB
	gate  *core.Gate
	store *store.Store
	rules core.Rules
	web   *Web
	feed  *events.Feed
	mux   *http.ServeMux

	address string // where browsers reach it

	mu      sync.Mutex
	removed map[string]bool // people whose sessions have ended
	stop    func()
}

func newDesk(t testing.TB) *desk { return openDesk(t, "sqlite::memory:") }

func openDesk(t testing.TB, storeURL string) *desk {
	t.Helper()
	d := &desk{t: t, removed: map[string]bool{}}
	file := filepath.Join(t.TempDir(), "approvalbot.yaml")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o600))
	cfg, _, err := effective.Load(file, nil, nil)
	require.NoError(t, err)
	d.rules, err = effective.Rules(cfg, effective.Table(cfg))
	require.NoError(t, err)
	at := store.Options{URL: storeURL}
	if path := strings.TrimPrefix(storeURL, "sqlite:"); path != ":memory:" {
		at.KeyFile = path + ".key"
	}
	d.store, err = store.Open(t.Context(), at)
	require.NoError(t, err)
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = d.store.Run(context.WithoutCancel(ctx)) })
	d.feed = events.NewFeed(d.store, log)
	running.Go(func() { _ = d.feed.Run(ctx) })
	d.gate = core.NewGate(d.store.CoreStores(), d.rules, log, d.feed.Notify)
	signer, err := audit.New(ctx, audit.Desk{Store: d.store, Log: log, Issuer: func() string { return "desk" }})
	require.NoError(t, err)
	d.web, err = New(Config{
		Gate: d.gate, SignIn: signin.New(d.store.SignInStores(), d.gate), Log: log, Changes: d.feed, PublicURL: &url.URL{Scheme: "http", Host: "localhost"},
		Rights: func(person string) Rights { return Rights{Audit: person == "alice"} },
		Audit:  &Audit{Entries: d.store, Keys: signer.Keys, Verify: signer.Verify},
		Policy: func(context.Context) (api.Policy, error) {
			return effectivePolicy, nil
		},
		Receipt: signer.Receipt,
		OnDisk:  func(context.Context) OnDisk { return OnDisk{Looser: []string{"R3 asks one"}} },
		Health: func(context.Context) []core.Diagnostic {
			return []core.Diagnostic{core.OK("store", "takes writes"), core.Warn("telegram", "does not answer",
				"look at its token")}
		},
	})
	require.NoError(t, err)
	d.web.sessions.who = d.signedIn
	running.Go(func() { _ = d.web.Run(ctx) })
	d.mux = http.NewServeMux()
	for pattern, h := range d.web.Handlers() {
		d.mux.Handle(pattern, h)
	}
	d.mux.Handle("/", d.web.NoSuchPage())
	d.mux.HandleFunc("GET /.well-known/jwks.json", func(out http.ResponseWriter, _ *http.Request) {
		_,
			_ = out.Write(signer.JWKS())
	})
	d.stop = sync.OnceFunc(func() {
		cancel()
		_ = d.store.Close()
		running.Wait()
	})
	t.Cleanup(d.stop)
	return d
}

// effectivePolicy is what the desk says of itself.
var effectivePolicy = api.Policy{Enabled: true, Mode: "adaptive", PolicyHash: "33ff0795a499", SelfApproval: "block", TimeoutMs: 900_000,
	MaxTimeoutMs: 3_600_000, Exec: api.ExecPolicy{Security: "allowlist", Ask: "on-miss", AskFallback: "deny"},
	Routing: api.RoutingPolicy{Mode: "targets", Targets: []string{"telegram:-1001"}}, Classes: []api.ClassPolicy{
		{RiskClass: "R0", Outcome: "allow", Reachable: true}, {RiskClass: "R1", Outcome: "allow", Reachable: true},
		{RiskClass: "R2", Outcome: "allow", Reachable: true},
		{RiskClass: "R3", Outcome: "ask", MinApprovals: 1, People: []string{"alice", "bob", "erin"}, Reachable: true},
		{RiskClass: "R4", Outcome: "ask", MinApprovals: 2, RequiresHuman: true, People: []string{"alice", "bob", "erin"}, Reachable: true},
	}}

func (d *desk) signedIn(r *http.Request) (signin.Session, bool) {
	c, err := r.Cookie("person")
	if err != nil {
		return signin.Session{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removed[c.Value] {
		return signin.Session{}, false
	}
	return signin.Session{ID: "session of " + c.Value, Person: c.Value, How: "link"}, true
}

// end ends the sessions of a person.
func (d *desk) end(person string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removed[person] = true
}

var deployer = core.Caller{Token: "deployer", AgentID: "deployer", MayRequest: true}

// ask has an agent ask for a call that people decide.
func (d *desk) ask(tool, params string, more ...func(*approval.Call)) approval.Approval {
	d.t.Helper()
	c := approval.Call{ToolName: tool, Params: json.RawMessage(params), MustAsk: true, SessionKey: "s"}
	for _, f := range more {
		f(&c)
	}
	a, _, err := d.gate.Submit(d.t.Context(), deployer, c)
	require.NoError(d.t, err)
	require.Equal(d.t, approval.Pending, a.Status, a.Reason)
	return a
}

func (d *desk) run(command string) approval.Approval {
	d.t.Helper()
	b, err := json.Marshal(map[string]string{"command": command})
	require.NoError(d.t, err)
	return d.ask("exec", string(b))
}

func (d *desk) get(a approval.Approval) approval.Approval {
	d.t.Helper()
	a, err := d.gate.ByKey(d.t.Context(), a.Key)
	require.NoError(d.t, err)
	return a
}

// asks sends one request as a person's browser would; without a person as a stranger's.
func (d *desk) asks(person, method, path string, form url.Values,
	more ...func(*http.Request)) *httptest.ResponseRecorder {
	d.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(d.t.Context(), method, path, body)
	r.Host = "localhost"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if person != "" {
		r.AddCookie(&http.Cookie{Name: "person", Value: person})
	}
	for _, f := range more {
		f(r)
	}
	out := httptest.NewRecorder()
	d.mux.ServeHTTP(out, r)
	return out
}

// sees opens a page, and gives what it says.
func (d *desk) sees(person, path string) string {
	d.t.Helper()
	out := d.asks(person, http.MethodGet, path, nil)
	require.Equal(d.t, http.StatusOK, out.Code, out.Body.String())
	return out.Body.String()
}

// votes posts the form of an approval's page.
func (d *desk) votes(person, code string, decision approval.Decision,
	more ...func(*http.Request)) *httptest.ResponseRecorder {
	d.t.Helper()
	form := url.Values{"decision": {string(decision)}}
	if decision.Allows() {
		form.Set("confirm", string(decision)) // the second step, which an R4 call has
	}
	return d.asks(person, http.MethodPost, "/a/"+code+"/vote", form, more...)
}

// codes are those of the inbox, in its order, as bob sees it.
func (d *desk) codes() (out []string) {
	d.t.Helper()
	for _, part := range strings.Split(d.sees("bob", "/"), `id="row-`)[1:] {
		out = append(out, part[:6])
	}
	return out
}

// serve lets browsers reach the desk, and gives its address.
func (d *desk) serve(at string) string {
	d.t.Helper()
	ln, err := net.Listen("tcp", strings.Replace(cmp.Or(at, "localhost:0"), "localhost", "127.0.0.1", 1))
	require.NoError(d.t, err)
	s := &http.Server{Handler: d.mux}
	done := make(chan struct{})
	go func() { _ = s.Serve(ln); close(done) }()
	stop := d.stop
	d.stop = sync.OnceFunc(func() { _ = s.Close(); <-done; stop() })
	d.t.Cleanup(d.stop)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return "localhost:" + port
}
