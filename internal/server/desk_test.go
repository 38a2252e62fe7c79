package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/events"
	"approvalbot/internal/server/metrics"
	"approvalbot/internal/store"
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

const group = "telegram:-1001234567890"

// desk is a whole desk but for the chats: real store, real Gate, real API.
type desk struct {
	t      testing.TB
	store  *store.Store
	gate   *core.Gate
	srv    *Server
	feed   *events.Feed
	counts *metrics.Set
	deaf   context.CancelFunc // ends the feed
	rules  core.Rules
	judge  *judge
	logs   *logBuffer
	file   string

	agent, other, aliceAgent, alice, bob, nobody *api.Client
}

// secrets of the test tokens are their names with a suffix.
func secretOf(name string) string { return name + "-s3cret-s3cret" }

func testTokens() []auth.Token {
	chat, _ := approval.ParseTarget("telegram:-100777")
	token := func(name string, who core.Caller) auth.Token {
		return auth.Token{Name: name, Hash: auth.Hash(secretOf(name)), Caller: who}
	}
	return []auth.Token{
		token("agent", core.Caller{MayRequest: true, SessionChats: []approval.Target{chat}}),
		token("other", core.Caller{MayRequest: true}),
		token("alice-agent", core.Caller{MayRequest: true, Person: "alice"}),
		token("alice", core.Caller{MayDecide: true, MayAudit: true, MayAdmin: true, Person: "alice"}),
		token("bob", core.Caller{MayDecide: true, MayRequest: true, Person: "bob"}),
		token("viewer", core.Caller{MayDecide: true}),
		token("both", core.Caller{MayDecide: true, MayRequest: true}),
		token("auditor", core.Caller{MayAudit: true}),
	}
}

// newDesk opens a desk whose store lives in memory, or in file if one is given.
func newDesk(t testing.TB, file ...string) *desk {
	d := &desk{t: t, judge: newJudge(), logs: &logBuffer{}}
	if len(file) > 0 {
		d.file = file[0]
	}
	d.open()
	return d
}

func (d *desk) open() {
	options := store.Options{URL: "sqlite::memory:"}
	if d.file != "" {
		options = store.Options{URL: "sqlite:" + d.file, KeyFile: filepath.Join(filepath.Dir(d.file), "key")}
	}
	var err error
	d.store, err = store.Open(context.Background(), options)
	require.NoError(d.t, err)
	var running sync.WaitGroup
	st := d.store // reopen replaces d's, perhaps before this goroutine's first step
	running.Go(func() { _ = st.Run(context.Background()) })
	d.t.Cleanup(func() { _ = st.Close(); running.Wait() })

	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "111", "discord": "222"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "333"}},
		},
		AllowedUsers: map[string][]string{"telegram": {"111", "333"}, "discord": {"222"}},
		Tokens:       map[string]string{"alice": "alice", "bob": "bob"},
		Verifiers:    map[string][]string{"": {"telegram:111"}},
	})
	require.NoError(d.t, err)
	d.rules = core.Rules{Enabled: true, Policy: d.judge, People: people, Router: oneChat{}, Owners: map[string]string{"agent": "", "other": "", "alice-agent": "alice", "bob": "bob", "both": ""}, TimeoutMs: 15 * 60_000, MaxTimeoutMs: 24 * 3_600_000}
	log := slog.New(slog.NewJSONHandler(d.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	counts := metrics.New("mail.send")
	d.counts = counts
	feed := events.NewFeed(d.store, log)
	feed.Keep = 4 // so that listeners fall behind
	d.feed = feed
	d.gate = core.NewGate(d.store.CoreStores(), d.rules, log, counts.Observe, d.feed.Notify)
	listening, deaf := context.WithCancel(context.Background())
	running.Go(func() { _ = feed.Run(listening) })
	d.t.Cleanup(deaf)
	d.deaf = deaf
	d.srv, err = New(Config{Gate: d.gate, Tokens: testTokens(), Feed: d.feed, Metrics: counts, Log: log, Version: "test"})
	require.NoError(d.t, err)
	d.t.Cleanup(d.srv.EndWaits)
	wire := &inProcess{t: d.t, h: d.srv.Handler(), contract: contractOf(d.srv)}
	client := func(name string) *api.Client {
		return &api.Client{Server: "http://desk.test", Token: secretOf(name), HTTP: &http.Client{Transport: wire}}
	}
	d.agent, d.other, d.aliceAgent, d.alice, d.bob, d.nobody =
		client("agent"), client("other"), client("alice-agent"), client("alice"), client("bob"), client("nobody")
}

// reopen is a restart: another process on the same file.
func (d *desk) reopen() {
	require.NotEmpty(d.t, d.file)
	require.NoError(d.t, d.store.Close())
	d.open()
}

// reply is one raw answer.
type reply struct {
	*http.Response
	text string
}

func (r reply) problem(t testing.TB) api.Problem {
	var p api.Problem
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"), r.text)
	require.NoError(t, json.Unmarshal([]byte(r.text), &p))
	require.Equal(t, r.StatusCode, p.Status)
	return p
}

// do sends one raw request as the token of that name ("" for none).
func (d *desk) do(method, path, as, body string, headers ...string) reply {
	d.t.Helper()
	req, err := http.NewRequest(method, "http://desk.test"+path, strings.NewReader(body))
	require.NoError(d.t, err)
	if as != "" {
		req.Header.Set("Authorization", "Bearer "+secretOf(as))
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := d.agent.HTTP.Do(req)
	require.NoError(d.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(d.t, err)
	return reply{res, string(b)}
}

// ask creates an approval as the agent and requires that it worked.
func (d *desk) ask(tool, params string, more ...func(*api.CreateRequest)) api.Approval {
	d.t.Helper()
	a, err := d.agent.Create(d.t.Context(), request(tool, params, more...), api.CreateOptions{})
	require.NoError(d.t, err)
	return a
}

func request(tool, params string, more ...func(*api.CreateRequest)) api.CreateRequest {
	req := api.CreateRequest{ToolName: tool, Params: json.RawMessage(params)}
	for _, f := range more {
		f(&req)
	}
	return req
}

// allow asks for a call and has alice allow it.
func (d *desk) allow(params string, more ...func(*api.CreateRequest)) api.Approval {
	d.t.Helper()
	a := d.ask("ask", params, more...)
	a, err := d.alice.Resolve(d.t.Context(), a.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(d.t, err)
	require.Equal(d.t, api.Approved, a.Status)
	return a
}

// refusal requires that err is a problem of that code and gives it.
func refusal(t testing.TB, err error, code approval.Code) *api.Problem {
	t.Helper()
	var p *api.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, string(code), p.Code, p.Detail)
	require.Equal(t, statusOf()[code], p.Status)
	return p
}

// inProcess calls the handler without a network, and holds every answer to the
// API's own description.
type inProcess struct {
	t        testing.TB
	h        http.Handler
	contract *contract
}

func (w *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	var body io.Reader
	if r.Body != nil {
		body = r.Body
	}
	in := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.RequestURI(), body)
	in.Header, in.ContentLength = r.Header, r.ContentLength
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, in)
	res := rec.Result()
	w.contract.check(w.t, r.Method, r.URL.Path, res, rec.Body.Bytes())
	return res, nil
}

// contract is the OpenAPI description, as something to hold answers against.
type contract struct{ doc *huma.OpenAPI }

// shared holds the first desk's description: the routes of all are the same.
var shared struct {
	once sync.Once
	contract
}

func contractOf(s *Server) *contract {
	shared.once.Do(func() { shared.doc = description(s.routes(), "test") })
	return &shared.contract
}

func (c *contract) check(t testing.TB, method, path string, res *http.Response, body []byte) {
	op := c.operation(method, path)
	if op == nil || method == http.MethodHead {
		return
	}
	described := op.Responses[res.Status[:3]]
	require.NotNil(t, described, "%s %s answers %d, which its description does not have", method, path, res.StatusCode)
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	require.NoError(t, err)
	media := described.Content[kind]
	if media == nil {
		require.Empty(t, described.Content, "%s %s answers %s", method, path, kind)
		return
	}
	if kind == "text/plain" {
		require.Equal(t, huma.TypeString, media.Schema.Type)
		return
	}
	var v any
	require.NoError(t, json.Unmarshal(body, &v))
	found := &huma.ValidateResult{}
	huma.Validate(c.doc.Components.Schemas, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, found)
	require.Empty(t, found.Errors, "%s %s: %s", method, path, body)
}

func (c *contract) operation(method, path string) *huma.Operation {
	for template, item := range c.doc.Paths {
		if matches(template, path) {
			switch method {
			case http.MethodGet:
				return item.Get
			case http.MethodPost:
				return item.Post
			case http.MethodPut:
				return item.Put
			case http.MethodDelete:
				return item.Delete
			}
		}
	}
	return nil
}

func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	return len(want) == len(got) && !reflect.DeepEqual(got, []string{"", ""}) &&
		!contains(want, got, func(w, g string) bool { return w != g && !strings.HasPrefix(w, "{") })
}

func contains(a, b []string, differ func(x, y string) bool) bool {
	for i := range a {
		if differ(a[i], b[i]) {
			return true
		}
	}
	return false
}

// logBuffer keeps what was logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func tempStore(t testing.TB) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	return filepath.Join(dir, "desk.db")
}
