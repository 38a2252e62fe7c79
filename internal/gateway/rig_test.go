package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/server"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/events"
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

// desk is a whole desk but for the chats: real store, real Gate, real API, real
// sockets.
type desk struct {
	t     testing.TB
	file  string
	setup func(*Gateway)
	pipes *pipes // instead of a network, in bubbles of synctest

	store *store.Store
	gate  *core.Gate
	srv   *server.Server
	gw    *Gateway
	addr  string
	logs  *bytes.Buffer
	stop  func() // a graceful stop of everything; done by itself at the test's end
}

func secretOf(name string) string { return name + "-s3cret-s3cret" }

func tokens(without ...string) []auth.Token {
	chat, _ := approval.ParseTarget("telegram:-100777")
	all := []auth.Token{
		{Name: "agent", Caller: core.Caller{MayRequest: true, SessionChats: []approval.Target{chat}}},
		{Name: "other", Caller: core.Caller{MayRequest: true}},
		{Name: "alice-agent", Caller: core.Caller{MayRequest: true, Person: "alice"}},
		{Name: "alice", Caller: core.Caller{MayDecide: true, Person: "alice"}},
		{Name: "bob", Caller: core.Caller{MayDecide: true, MayRequest: true, Person: "bob"}},
		{Name: "auditor", Caller: core.Caller{MayAudit: true}},
		{Name: "slow", Caller: core.Caller{MayRequest: true}, RequestsPerSecond: 2},
	}
	var out []auth.Token
	for _, t := range all {
		t.Hash = auth.Hash(secretOf(t.Name))
		if !strings.Contains(strings.Join(without, " "), t.Name) {
			out = append(out, t)
		}
	}
	return out
}

// newDesk opens a desk whose store lives in memory. setup may change the
// gateway before it serves.
func newDesk(t testing.TB, setup ...func(*Gateway)) *desk {
	d := &desk{t: t}
	if len(setup) > 0 {
		d.setup = setup[0]
	}
	d.open()
	return d
}

// atUsualPace is a gateway as in earnest.
func atUsualPace(g *Gateway) { g.pace = usualPace }

// inFile is newDesk with a store that outlives the desk; open starts it again.
func inFile(t testing.TB) *desk {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	d := &desk{t: t, file: filepath.Join(dir, "desk.db")}
	d.open()
	return d
}

func (d *desk) open() {
	options := store.Options{URL: "sqlite::memory:"}
	if d.file != "" {
		options = store.Options{URL: "sqlite:" + d.file, KeyFile: d.file + ".key"}
	}
	var err error
	d.store, err = store.Open(context.Background(), options)
	require.NoError(d.t, err)
	d.logs = &bytes.Buffer{}
	log := slog.New(slog.NewJSONHandler(&locked{b: d.logs}, nil))
	feed := events.NewFeed(d.store, log)
	d.gate = core.NewGate(d.store.CoreStores(), rules(d.t), log, feed.Notify)
	d.srv, err = server.New(server.Config{Gate: d.gate, Tokens: tokens(), Feed: feed, Log: log})
	require.NoError(d.t, err)
	d.gw = New(Config{Server: d.srv, Gate: d.gate, Feed: feed, Log: log, Version: "test", AgentShield: func() bool { return true },
		Policy: func(context.Context) (api.Policy, error) { return policyOfTests, nil }})
	pace := &d.gw.pace // a slow machine is no client that does not read, and no tick comes between
	pace.connect, pace.pong, pace.patience, pace.goodbye, pace.stop = time.Minute, time.Minute, time.Minute, time.Minute, time.Minute
	pace.tick = time.Hour
	if d.setup != nil {
		d.setup(d.gw)
	}
	d.srv.Mount("GET /v1/gateway", d.gw)
	l := d.listener()
	d.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var running, storing sync.WaitGroup
	st := d.store
	storing.Go(func() { _ = st.Run(context.Background()) })
	for _, run := range []func(context.Context) error{feed.Run, d.gw.Run, func(ctx context.Context) error { return d.srv.Serve(ctx, l) }} {
		running.Go(func() { _ = run(ctx) })
	}
	d.stop = sync.OnceFunc(func() { cancel(); running.Wait(); _ = st.Close(); storing.Wait() })
	d.t.Cleanup(d.stop)
}

func (d *desk) listener() net.Listener {
	if d.pipes != nil {
		return d.pipes
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(d.t, err)
	return l
}

// locked is a buffer that goroutines may share.
type locked struct {
	mu sync.Mutex
	b  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

var policyOfTests = api.Policy{Enabled: true, Mode: "always", PolicyHash: "7e57", SelfApproval: "block", Classes: []api.ClassPolicy{}, Away: []api.Absence{},
	Confine:   api.ConfinePolicy{Mode: "off", Readable: []string{}, Toolchains: []string{}, Tokens: []string{}},
	Approvers: api.Approvers{Allowed: []string{}, Disabled: []string{}, Effective: []string{}}, Routing: api.RoutingPolicy{Mode: "both", Targets: []string{}, Fallback: []string{}},
	Verifier: api.VerifierPolicy{FailMode: "deny", Include: []string{}, Exclude: []string{}},
	Exec:     api.ExecPolicy{Security: "allowlist", Ask: "on-miss", AskFallback: "deny", Allowlist: []string{"git status"}, SafeBins: []string{}}}

func rules(t testing.TB) core.Rules {
	people, err := people.NewDirectory(people.Rights{
		People:       []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "111"}}, {Name: "bob", Accounts: map[string]string{"telegram": "333"}}},
		AllowedUsers: map[string][]string{"telegram": {"111", "333"}},
		Tokens:       map[string]string{"alice": "alice", "bob": "bob"},
	})
	require.NoError(t, err)
	return core.Rules{Enabled: true, Policy: judge{}, People: people, Router: oneChat{}, TimeoutMs: 15 * 60_000, MaxTimeoutMs: 24 * 3_600_000}
}

// judge is a policy that reads its answer off the tool's name: read runs, rm is
// denied, everything else is asked; once offers no wider scopes.
type judge struct{}

func (judge) Judge(_ context.Context, c approval.Call) approval.Judgement {
	factors := []approval.Factor{approval.UserRequest}
	j := approval.Judgement{
		Outcome:    approval.OutcomeAsk,
		Assessment: approval.Assessment{RiskClass: approval.R3, SideEffects: []approval.SideEffect{approval.ProcessExec}, Confidence: 1, Source: "static", ReasonCodes: []string{"test"}},
		Rule:       approval.Rule{Allowed: factors, Disabled: []approval.Factor{}, Effective: factors, MinApprovals: 1, RequiresHuman: true},
		Offers:     []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny},
		GrantScope: approval.GrantScope{Subject: c.ToolName, Session: "the tool " + c.ToolName, Always: "exactly this call"},
	}
	switch c.ToolName {
	case "read":
		j.Outcome = approval.OutcomeAllow
	case "rm":
		j.Outcome, j.Reason = approval.OutcomeDeny, "never"
	case "once":
		j.Offers = []approval.Decision{approval.AllowOnce, approval.Deny}
	}
	return j
}

func (judge) Permits(c approval.Call) (string, bool) { return "never", c.ToolName != "rm" }

func (j judge) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return j.Judge(ctx, c)
}

func (judge) Hash() string { return "7e57" }

// oneChat sends every card to one Telegram group.
type oneChat struct{}

func (oneChat) Route(approval.Approval) core.Routes {
	t, _ := approval.ParseTarget(group)
	return core.Routes{Targets: []approval.Target{t}, FallbackAfterMs: 20_000}
}

func (oneChat) Names(place approval.Target) bool {
	t, _ := approval.ParseTarget(group)
	return t.Names(place)
}

// client is one gateway client. It holds every frame, of both sides, to the
// committed schema.
type client struct {
	t      testing.TB
	ws     *websocket.Conn
	n      int
	asked  map[string]string // method by request id
	events []frame           // heard, not yet looked at
	others []frame           // answers that came before the one waited for
	hello  map[string]any
	ready  struct{ LastSeq int64 }
	heard  bytes.Buffer // every frame, as it came
}

// frame is any frame of the desk.
type frame struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id"`
	OK      bool            `json:"ok"`
	Payload json.RawMessage `json:"payload"`
	Error   *refusal        `json:"error"`
	Event   string          `json:"event"`
	Seq     int64           `json:"seq"`
}

func (f frame) get(name string) any {
	var m map[string]any
	_ = json.Unmarshal(f.Payload, &m)
	return m[name]
}

func (d *desk) dial() *client {
	d.t.Helper()
	ws, _, err := websocket.Dial(d.t.Context(), "ws://"+d.addr+"/v1/gateway", d.dialing())
	require.NoError(d.t, err)
	ws.SetReadLimit(64 << 20)
	d.t.Cleanup(func() { _ = ws.CloseNow() })
	http.DefaultClient.CloseIdleConnections()
	c := &client{t: d.t, ws: ws, asked: map[string]string{}}
	challenge := c.event("connect.challenge")
	require.NotEmpty(d.t, challenge.get("nonce"))
	require.EqualValues(d.t, 0, challenge.Seq)
	return c
}

func greetingOf(token, more string) string {
	return fmt.Sprintf(`{"minProtocol":3,"maxProtocol":4,"client":{"id":"gateway-client","version":"1","platform":"linux","mode":"backend"},
		"role":"operator","scopes":["operator.admin"],"caps":["approvals"],"auth":{"token":%q}%s}`, secretOf(token), more)
}

// connect is a client that has said hello as the token of that name. more is
// further members of its connect request, with a comma in front.
func (d *desk) connect(token string, more ...string) *client {
	d.t.Helper()
	c := d.dial()
	res := c.do("connect", greetingOf(token, strings.Join(more, "")))
	require.True(d.t, res.OK, res.Error)
	require.NoError(d.t, json.Unmarshal(res.Payload, &c.hello))
	require.NoError(d.t, json.Unmarshal(c.event("connect.ready").Payload, &c.ready))
	return c
}

// raw sends one text frame as it stands.
func (c *client) raw(text string) {
	require.NoError(c.t, c.ws.Write(c.t.Context(), websocket.MessageText, []byte(text)))
}

// start sends a request and gives its id as JSON.
func (c *client) start(method, params string) string {
	c.n++
	id := fmt.Sprint(c.n)
	if c.n%2 == 0 {
		id = fmt.Sprintf(`"r-%d"`, c.n)
	}
	c.asked[id] = method
	text := fmt.Sprintf(`{"type":"req","id":%s,"method":%q,"params":%s}`, id, method, params)
	checkSent(c.t, method, text, params)
	c.raw(text)
	return id
}

// do sends a request and gives its first answer.
func (c *client) do(method, params string) frame { return c.answer(c.start(method, params)) }

// answer waits for the next answer to the request of that id.
func (c *client) answer(id string) frame {
	c.t.Helper()
	for i, f := range c.others {
		if string(f.ID) == id {
			c.others = append(c.others[:i:i], c.others[i+1:]...)
			return f
		}
	}
	for {
		f, err := c.next()
		require.NoError(c.t, err)
		switch {
		case f.Type == "event":
			c.events = append(c.events, f)
		case string(f.ID) == id:
			return f
		default:
			c.others = append(c.others, f)
		}
	}
}

// event waits for the next event, which must be of that name.
func (c *client) event(name string) frame {
	c.t.Helper()
	for len(c.events) == 0 {
		f, err := c.next()
		require.NoError(c.t, err)
		if f.Type == "event" {
			c.events = append(c.events, f)
		} else {
			c.others = append(c.others, f)
		}
	}
	f := c.events[0]
	c.events = c.events[1:]
	require.Equal(c.t, name, f.Event)
	return f
}

// next reads one frame and holds it to the schema.
func (c *client) next() (f frame, err error) {
	_, text, err := c.ws.Read(c.t.Context())
	if err != nil {
		return f, err
	}
	c.heard.Write(text)
	require.NoError(c.t, json.Unmarshal(text, &f))
	checkReceived(c.t, c.asked[string(f.ID)], f, text)
	return f, nil
}

// gone waits for the socket's end and requires its code.
func (c *client) gone(code websocket.StatusCode) string {
	c.t.Helper()
	for {
		_, err := c.next()
		if err == nil {
			continue
		}
		var ce websocket.CloseError
		require.ErrorAs(c.t, err, &ce)
		require.Equal(c.t, code, ce.Code, ce.Reason)
		require.NotEmpty(c.t, ce.Reason)
		return ce.Reason
	}
}

// refused sends a request and requires its refusal.
func (c *client) refused(method, params, code, reason string) *refusal {
	c.t.Helper()
	f := c.do(method, params)
	require.False(c.t, f.OK, "%s %s", method, f.Payload)
	require.Equal(c.t, code, f.Error.Code, f.Error.Message)
	if reason != "" {
		require.Equal(c.t, reason, f.Error.Details.Reason, f.Error.Message)
	}
	return f.Error
}

// ok sends a request and requires that it worked.
func (c *client) ok(method, params string) frame {
	c.t.Helper()
	f := c.do(method, params)
	require.True(c.t, f.OK, "%s: %+v", method, f.Error)
	return f
}

var (
	agentCaller = core.Caller{Token: "agent", MayRequest: true}
	aliceCaller = core.Caller{Token: "alice", Person: "alice", MayDecide: true}
)

// keyOf gives the key of one of the agent's approvals, once its time is over.
func (d *desk) keyOf(id string, first frame) string {
	a, err := d.gate.Get(d.t.Context(), agentCaller, id)
	require.NoError(d.t, err)
	require.EqualValues(d.t, a.ExpiresAtMs, first.get("expiresAtMs"))
	<-time.After(time.Until(time.UnixMilli(a.ExpiresAtMs + 1))) // lets the clock pass it
	return a.Key
}
