package web

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/server"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/events"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
	"approvalbot/routing"
)

// dialogDesk is a gate on a real store, its API and pages on a real server. Who asks has
// the token agent; alice and bob decide, carol may not. A browser is signed in as whom its
// cookie "person" names.
type dialogDesk struct {
	t      *testing.T
	store  *store.Store
	gate   *core.Gate
	signin *signin.Door
	web    *Web
	api    *server.Server
	url    string
	keys   core.ViewerKey
	stop   context.CancelFunc // ends what runs beside the server
}

const (
	embedder  = "https://chat.example"
	agentName = "agent"
)

func newDialogDesk(t *testing.T, change ...func(*Config)) *dialogDesk {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(context.Background()) })
	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{{Name: "alice"}, {Name: "bob"}, {Name: "carol"}},
		Tokens: map[string]string{"alice": "alice", "bob": "bob"},
	})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	feed := events.NewFeed(s, log)
	rules := core.Rules{Enabled: true, Push: true, Policy: dialogPolicy{}, People: people, Router: &routing.Table{},
		TimeoutMs: 900_000, MaxTimeoutMs: 900_000}
	d := &dialogDesk{t: t, store: s, gate: core.NewGate(s.CoreStores(), rules, log, feed.Notify)}
	d.keys, err = core.NewViewerKey(s.Seed())
	require.NoError(t, err)
	tokens := []auth.Token{
		{Name: agentName, Hash: auth.Hash("agent-s3cret-s3cret"), Caller: core.Caller{MayRequest: true}},
		{Name: "other", Hash: auth.Hash("other-s3cret-s3cret"), Caller: core.Caller{MayRequest: true}},
	}
	d.api, err = server.New(server.Config{Gate: d.gate, Tokens: tokens, Feed: feed, Viewers: d.keys, Log: log})
	require.NoError(t, err)
	public, err := url.Parse("https://desk.example")
	require.NoError(t, err)
	d.signin = signin.New(s.SignInStores(), d.gate)
	cfg := Config{Gate: d.gate, SignIn: d.signin, PublicURL: public, Log: log, Changes: feed,
		EmbedOrigins: []string{embedder}, Viewers: d.keys, Asks: d.api.Tokens.Has, PushKey: "BKey"}
	for _, f := range change {
		f(&cfg)
	}
	d.web, err = New(cfg)
	require.NoError(t, err)
	d.web.sessions.who = func(r *http.Request) (signin.Session, bool) {
		c, err := r.Cookie("person")
		if err != nil {
			return signin.Session{}, false
		}
		return signin.Session{ID: "s-" + c.Value, Person: c.Value}, true
	}
	d.web.dialogs.castVote = func(
		ctx context.Context, s signin.Session, code string, decision approval.Decision, reason, note string,
	) (approval.Approval, error) {
		return d.gate.VoteAs(ctx, core.Caller{Token: s.Person, Person: s.Person, MayDecide: true}, code, decision, reason, note)
	}
	for pattern, h := range d.web.Handlers() {
		d.api.Mount(pattern, h)
	}
	srv := httptest.NewServer(d.api.Handler())
	d.url = srv.URL
	following, stop := context.WithCancel(context.Background())
	d.stop = stop
	running.Go(func() { _ = d.web.Run(following) })
	running.Go(func() { _ = feed.Run(following) })
	t.Cleanup(func() { stop(); d.api.EndWaits(); srv.Close(); require.NoError(t, s.Close()); running.Wait() })
	return d
}

// ask makes an approval of the session chat-1.
func (d *dialogDesk) ask(tool, params string, more ...func(*approval.Call)) approval.Approval {
	d.t.Helper()
	c := approval.Call{ToolName: tool, Params: json.RawMessage(params), SessionKey: "chat-1"}
	for _, f := range more {
		f(&c)
	}
	a, _, err := d.gate.Submit(d.t.Context(), core.Caller{Token: agentName, MayRequest: true}, c)
	require.NoError(d.t, err)
	require.Equal(d.t, approval.Pending, a.Status, a.Reason)
	return a
}

func (d *dialogDesk) now(code string) approval.Approval {
	d.t.Helper()
	a, err := d.gate.ByCode(d.t.Context(), code)
	require.NoError(d.t, err)
	return a
}

// token is a viewer's of that session.
func (d *dialogDesk) token(owner, session string, now time.Time) string {
	d.t.Helper()
	v, err := core.NewViewer(core.Caller{Token: owner, MayRequest: true}, session, now.UnixMilli())
	require.NoError(d.t, err)
	token, err := d.keys.Token(v)
	require.NoError(d.t, err)
	return token
}

// answered is one answer of the desk.
type answered struct {
	*http.Response
	text string
}

// do sends one request; headers are name, value, name, value.
func (d *dialogDesk) do(method, path, person, body string, headers ...string) answered {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(body))
	require.NoError(d.t, err)
	if person != "" {
		req.AddCookie(&http.Cookie{Name: "person", Value: person})
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	require.NoError(d.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(d.t, err)
	return answered{res, string(text)}
}

// dialogPolicy asks for everything: tool "two" needs two yeses, "grave" is R4.
type dialogPolicy struct{ core.Policy }

func (dialogPolicy) Judge(_ context.Context, c approval.Call) approval.Judgement {
	j := approval.Judgement{
		Outcome: approval.OutcomeAsk, Assessment: approval.Assessment{RiskClass: approval.R2, Source: "static"},
		Rule: approval.Rule{Allowed: []approval.Factor{approval.UserRequest}, Effective: []approval.Factor{approval.UserRequest},
			MinApprovals: 1, RequiresHuman: true},
		Offers:     []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny},
		GrantScope: approval.GrantScope{Subject: c.ToolName, Session: "the tool " + c.ToolName, Always: "this very call"},
	}
	switch c.ToolName {
	case "two":
		j.Rule.MinApprovals = 2
	case "grave":
		j.Assessment.RiskClass, j.Offers = approval.R4, []approval.Decision{approval.AllowOnce, approval.Deny}
	}
	return j
}

func (p dialogPolicy) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return p.Judge(ctx, c)
}

func (dialogPolicy) Permits(approval.Call) (string, bool) { return "", true }

func (dialogPolicy) Hash() string { return "1" }
