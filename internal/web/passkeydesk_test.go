package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/people"
	"approvalbot/internal/server/events"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
)

// passkeyDesk is a desk whose every yes must be signed, with its pages on localhost. Who
// a browser is stands in the cookie "session": person, how, and whether it enrols.
type passkeyDesk struct {
	*core.Gate
	*signin.Door
	web   *Web
	store *store.Store
	at    string // its address
	site  assertion.Site
}

func newPasskeyDesk(t *testing.T) *passkeyDesk {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-ended)
	})
	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "2"}}, {Name: "carol"}},
		AllowedUsers: map[string][]string{"telegram": {"1", "2"}},
	})
	require.NoError(t, err)
	d := &passkeyDesk{store: s}
	feed := events.NewFeed(s, slog.New(slog.DiscardHandler))
	go func() { _ = feed.Run(t.Context()) }()
	d.Gate = core.NewGate(s.CoreStores(), core.Rules{Enabled: true, Policy: signEverything{}, People: people, Router: nowhere{},
		TimeoutMs: 900_000, MaxTimeoutMs: 900_000}, slog.New(slog.DiscardHandler), feed.Notify)
	d.Door = signin.New(s.SignInStores(), d.Gate)
	d.TrustSigners(d.Door)
	server := httptest.NewUnstartedServer(nil)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	d.at = "http://localhost:" + port
	d.web, err = New(Config{Gate: d.Gate, SignIn: d.Door, PublicURL: &url.URL{Scheme: "http", Host: "localhost:" + port},
		Changes: feed, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d.web.sessions.who = func(r *http.Request) (signin.Session, bool) {
		c, err := r.Cookie("session")
		if err != nil {
			return d.web.sessions.signedIn(r)
		}
		return sessionIn(c.Value), true
	}
	mux := http.NewServeMux()
	for pattern, h := range d.web.Handlers() {
		mux.Handle(pattern, h)
	}
	server.Config.Handler = mux
	server.Start()
	t.Cleanup(server.Close)
	d.site, err = assertion.SiteOf(d.at)
	require.NoError(t, err)
	rules := d.Rules()
	rules.Site = d.site
	d.Use(rules)
	return d
}

func sessionIn(cookie string) signin.Session {
	parts := strings.Split(cookie, ".")
	return signin.Session{ID: cookie, Person: parts[0], How: parts[1], Enrols: len(parts) > 2,
		CreatedMs: time.Now().UnixMilli()}
}

// signEverything asks about every call, and wants every yes signed.
type signEverything struct{}

func (signEverything) Judge(_ context.Context, c approval.Call) approval.Judgement {
	return approval.Judgement{Outcome: approval.OutcomeAsk,
		Assessment: approval.Assessment{RiskClass: approval.R4, Source: "static", ReasonCodes: []string{"because"}},
		Rule: approval.Rule{Allowed: []approval.Factor{approval.UserRequest}, Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1,
			StepUp: true},
		Offers: []approval.Decision{approval.AllowOnce, approval.AllowAlways, approval.Deny}, GrantScope: approval.GrantScope{Always: "this call"},
	}
}

func (p signEverything) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return p.Judge(ctx, c)
}
func (signEverything) Permits(approval.Call) (string, bool) { return "", true }
func (signEverything) Hash() string                         { return "policy" }

// nowhere sends cards to one chat.
type nowhere struct{}

func (nowhere) Route(approval.Approval) core.Routes {
	return core.Routes{Targets: []approval.Target{{Channel: "telegram", To: "-100"}}}
}
func (nowhere) Names(approval.Target) bool { return false }

// submit asks for a call.
func (d *passkeyDesk) submit(t *testing.T, params string) approval.Approval {
	t.Helper()
	a, _, err := d.Submit(t.Context(), core.Caller{Token: "agent", MayRequest: true},
		approval.Call{ToolName: "deploy", Params: json.RawMessage(params), Justification: "weekly <b>release</b>"})
	require.NoError(t, err)
	return a
}

// enrol gives a person a passkey in software.
func (d *passkeyDesk) enrol(t *testing.T, person string) *softkey.Passkey {
	t.Helper()
	p := softkey.New(t, assertion.ES256)
	k := p.Key(t)
	_, err := d.Enrol(t.Context(), sessionIn(person+".link.enrols"),
		signin.Passkey{ID: p.ID, Name: "in software", PublicKey: k.PublicKey, Algorithm: k.Algorithm})
	require.NoError(t, err)
	return p
}

// visitor is a browser without a screen.
type passkeyVisitor struct {
	*passkeyDesk
	t      *testing.T
	client *http.Client
}

// visit opens a browser; session is empty for nobody.
func (d *passkeyDesk) visit(t *testing.T, session string) *passkeyVisitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	v := &passkeyVisitor{d, t, &http.Client{Jar: jar, Transport: overTLS{}}}
	if session != "" {
		v.client.Jar.SetCookies(v.url("/"), []*http.Cookie{{Name: "session", Value: session, Path: "/"}})
	}
	return v
}

// overTLS takes what the cookie jar thinks is TLS, as browsers think of localhost.
type overTLS struct{}

func (overTLS) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return http.DefaultTransport.RoundTrip(r)
}

func (v *passkeyVisitor) url(path string) *url.URL {
	u, err := url.Parse(strings.Replace(v.at, "http:", "https:", 1) + path)
	require.NoError(v.t, err)
	return u
}

// post sends what a script would send and reads the answer into out.
func (v *passkeyVisitor) post(path string, body, out any) int {
	v.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(v.t, err)
	r, err := v.client.Post(v.url(path).String(), "application/json", bytes.NewReader(text))
	require.NoError(v.t, err)
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	require.NoError(v.t, err)
	require.NoError(v.t, json.Unmarshal(all, out), "%s", all)
	return r.StatusCode
}

// get reads a page.
func (v *passkeyVisitor) get(path string) (int, string) {
	v.t.Helper()
	r, err := v.client.Get(v.url(path).String())
	require.NoError(v.t, err)
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	require.NoError(v.t, err)
	return r.StatusCode, string(all)
}
