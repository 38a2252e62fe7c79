package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/daemon"
	"approvalbot/internal/fakechat"
)

// rig is a whole desk in this process: the real configuration file, store, Gate,
// HTTP server and adapters, with a fake Telegram on the wire and, where a test
// wants it, a fake Discord. Everything is driven from outside: the API, taps and
// typed messages.
type rig struct {
	t   *testing.T
	tg  *fakechat.Telegram
	dir string
	rigConfig

	alice, bob, carol, mallory *fakechat.TelegramUser
	group                      *fakechat.TelegramChat
	discordSide                // empty unless the test is one withDiscord

	url    string
	addr   string
	cancel context.CancelFunc
	done   chan error
	logs   *safeBuffer
	desk   *daemon.Daemon
	reads  atomic.Value // how the desk reads its configuration, where not from its file
}

// rigConfig is what a test changes of the configuration.
type rigConfig struct {
	quorum   map[string]int // minApprovalsByRisk
	solo     bool
	allowed  []*fakechat.TelegramUser // default: alice, bob
	routing  string                   // YAML of routing; default: the group
	tools    string                   // further keys of approvals.tools, indented by four
	tokens   string                   // further tokens, one YAML list item per line
	agentHas string                   // further keys of the agent's token
	database string                   // default: SQLite in the rig's directory
	losesIt  bool                     // the test takes the database away
	after    string                   // further keys of approvals, indented by two
	top      string                   // further top-level keys
	people   string                   // default: alice, bob, carol with their Telegram ids
	updates  string                   // channels.telegram.updates
	web      string                   // server.web
	options  fakechat.TelegramOptions
	onDiscord
}

const (
	agentSecret    = "agent-secret-0123456789"
	secondSecret   = "second-agent-secret-0123456789"
	operatorSecret = "operator-secret-0123456789"
	aliceSecret    = "alice-laptop-secret-0123456789"
)

// newRig starts a desk; what configures it before the start is in change.
func newRig(t *testing.T, change ...func(*rig)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), logs: &safeBuffer{}}
	for _, f := range change {
		f(r)
	}
	r.options.AnswerWindow = patient // a slow machine is no late answer
	r.tg = fakechat.NewTelegram(t, r.options)
	r.alice = r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice", Username: "alice"})
	r.bob = r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Bob"})
	r.carol = r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Carol"})
	r.mallory = r.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice", Username: "alice_"})
	r.group = r.tg.AddSupergroup("ops", r.alice, r.bob, r.carol, r.mallory)
	if r.on {
		r.addDiscord()
	}
	r.start()
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Log(r.logs.String(), r.tg.Transcript(), r.discordTranscript())
		}
	})
	r.discordReady()
	return r
}

// yaml is the configuration file.
func (r *rig) yaml() string {
	allowed := r.allowed
	if allowed == nil {
		allowed = []*fakechat.TelegramUser{r.alice, r.bob}
	}
	ids := make([]string, len(allowed))
	for i, u := range allowed {
		ids[i] = fmt.Sprint(u.ID)
	}
	people := r.people
	if people == "" {
		people = fmt.Sprintf("  - {name: alice, telegram: %d%s}\n  - {name: bob, telegram: %d%s}\n  - {name: carol, telegram: %d%s}\n",
			r.alice.ID, r.discordOf("alice"), r.bob.ID, r.discordOf("bob"), r.carol.ID, r.discordOf("carol"))
	}
	routing := r.routing
	if routing == "" {
		routing = "{mode: both, targets: [" + r.targets() + "]}"
	}
	routing = r.placed(routing)
	if !strings.Contains(routing, "digestAbove") { // a test's asks are no flood, however many they are
		routing = "{digestAbove: 0, " + strings.TrimPrefix(routing, "{")
	}
	self := "block"
	if r.solo {
		self = "solo"
	}
	quorum := []string{}
	for class, n := range r.quorum {
		quorum = append(quorum, fmt.Sprintf("%s: %d", class, n))
	}
	updates := r.updates
	if updates == "" {
		updates = "polling"
	}
	web := r.web
	if web == "" {
		web = "{}"
	}
	return fmt.Sprintf(`server:
  listen: 127.0.0.1:0
  web: %s
  limits: {pending: 1000, requestsPerSecond: 10000}
  tokens:
    - {name: agent, token: %s, scopes: [approvals.request]%s}
    - {name: second, token: %s, scopes: [approvals.request]}
    - {name: desk-operator, token: %s, scopes: [operator.approvals, operator.audit, operator.admin], person: olga}
    - {name: alice-laptop, token: %s, scopes: [approvals.request, operator.approvals], person: alice}
%sstore: {url: %q, keyFile: "%s/desk.key"}
people:
  - {name: olga}
%schannels:
  telegram: {botToken: "123456:TEST", apiUrl: %q, allowedUserIds: [%s], updates: %s}
%sapprovals:
  tools:
    enabled: true
    selfApproval: %s
    policy: {minApprovalsByRisk: {%s}}
    routing: %s
%s%s%s`, web, agentSecret, r.placed(r.agentHas), secondSecret, operatorSecret, aliceSecret, r.tokens, r.storeURL(), r.dir, people, r.address("telegram", r.tg.URL()),
		strings.Join(ids, ", "), updates, r.discordYAML(), self, strings.Join(quorum, ", "), routing, r.tools, r.after, r.top)
}

func (r *rig) storeURL() string {
	if r.database != "" {
		return r.database
	}
	return "sqlite:" + r.dir + "/desk.db"
}

// start loads the configuration and runs the desk until stop.
func (r *rig) start() {
	r.t.Helper()
	file := filepath.Join(r.dir, "approvalbot.yaml")
	require.NoError(r.t, os.WriteFile(file, []byte(r.yaml()), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	d := r.open(ctx)
	r.desk = d
	if r.addr == "" {
		r.addr = ownAddr(r.t)
	}
	server := d.Config().Server
	server.Listen = r.addr
	ln, err := daemon.Listen(server)
	require.NoError(r.t, err)
	r.url = "http://" + r.addr
	r.cancel, r.done = cancel, make(chan error, 1)
	go func() { r.done <- d.Run(ctx, ln) }()
}

// load reads the configuration as the desk does.
func (r *rig) load() (config.Config, []config.Warning, error) {
	if read, ok := r.reads.Load().(func() (config.Config, []config.Warning, error)); ok {
		return read()
	}
	return effective.Load(filepath.Join(r.dir, "approvalbot.yaml"), nil, nil)
}

// open makes a desk of the configuration file. A PostgreSQL that is slow to answer
// is tried again, as a supervisor would.
func (r *rig) open(ctx context.Context) *daemon.Daemon {
	r.t.Helper()
	cfg, _, err := r.load()
	require.NoError(r.t, err)
	var d *daemon.Daemon
	for end := time.Now().Add(patient); ; {
		d, err = daemon.New(ctx, cfg, daemon.Options{Version: version, Load: r.load, Log: slog.New(slog.NewJSONHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err == nil || r.database == "" || time.Now().After(end) {
			break
		}
	}
	require.NoError(r.t, err)
	d.Auditor.Look = time.Hour  // tests that want a checkpoint write it themselves
	d.Server.StopTime = patient // a slow machine is nobody who hangs
	return d
}

// stop ends the desk as a signal does, and waits for it.
func (r *rig) stop() {
	r.t.Helper()
	if r.cancel == nil {
		return
	}
	r.cancel()
	require.NoError(r.t, <-r.done)
	r.cancel = nil
}

func (r *rig) client(secret string) *api.Client {
	transport := &http.Transport{}
	r.t.Cleanup(transport.CloseIdleConnections)
	client := &api.Client{Server: r.url, Token: secret, HTTP: &http.Client{Transport: transport}}
	if r.database != "" && !r.losesIt {
		client.HTTP.Transport = persistent{transport}
	}
	return client
}

// persistent asks again while PostgreSQL was slower than a desk waits for it, on a busy machine: nothing was written then.
type persistent struct{ http.RoundTripper }

func (p persistent) RoundTrip(req *http.Request) (*http.Response, error) {
	for end := time.Now().Add(patient); ; {
		res, err := p.RoundTripper.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusServiceUnavailable || time.Now().After(end) {
			return res, err
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(text))
		if err != nil || !bytes.Contains(text, []byte("so the change was not written")) && !bytes.Contains(text, []byte("could not be read")) {
			return res, err
		}
		req = req.Clone(req.Context())
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

func (r *rig) agent() *api.Client    { return r.client(agentSecret) }
func (r *rig) operator() *api.Client { return r.client(operatorSecret) }

// patient is how long a test waits for anything at most. Reaching it is a failure,
// so it is far more than the slowest machine takes.
const patient = 2 * time.Minute

// ctx bounds every wait of a test.
func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	r.t.Cleanup(cancel)
	return ctx
}

// ask asks for a call that surely needs people.
func (r *rig) ask(params string, change ...func(*api.CreateRequest)) api.Approval {
	r.t.Helper()
	req := api.CreateRequest{ToolName: "deploy", Params: []byte(params), AgentID: "main"}
	for _, f := range change {
		f(&req)
	}
	a, err := r.agent().Create(r.ctx(), req, api.CreateOptions{})
	require.NoError(r.t, err)
	require.EqualValues(r.t, "pending", a.Status, "reason: %s %v", a.Reason, a.ReasonCodes)
	return a
}

// exec asks for a shell line that surely needs people.
func (r *rig) exec(command string, change ...func(*api.CreateRequest)) api.Approval {
	r.t.Helper()
	return r.ask(fmt.Sprintf(`{"command":%q}`, command), append([]func(*api.CreateRequest){func(c *api.CreateRequest) { c.ToolName = "exec" }}, change...)...)
}

// card waits for the open card of an approval in the group.
func (r *rig) card(a api.Approval) fakechat.TelegramMessage {
	r.t.Helper()
	return r.cardIn(r.group, a)
}

func (r *rig) cardIn(chat *fakechat.TelegramChat, a api.Approval) fakechat.TelegramMessage {
	r.t.Helper()
	m := r.shownIn(chat, a)
	r.knows(a, fmt.Sprint(m.ID))
	return m
}

// knows waits until the desk knows that a message is its card. It learns that after
// people see the card, and for whoever taps in between it looks that up for a moment
// only, which a slow machine may not keep.
func (r *rig) knows(a api.Approval, message string) {
	r.t.Helper()
	r.until(a, "the desk knows its card", func(a api.Approval) bool {
		return slices.ContainsFunc(a.Deliveries, func(d api.Delivery) bool { return d.MessageID == message })
	})
}

// remembers is knows, of any message in the group or the channel.
func (r *rig) remembers(platform, message string) {
	r.t.Helper()
	to := map[string]string{"telegram": fmt.Sprint(r.group.ID)}
	if r.dc != nil {
		to["discord"] = r.ops.ID
	}
	ctx := r.ctx()
	require.Eventually(r.t, func() bool {
		_, known, err := r.desk.Store.ByMessage(ctx, approval.Target{Channel: platform, To: to[platform]}, message)
		return err == nil && known
	}, patient, 5*time.Millisecond)
}

// shownIn waits for the open card of an approval, of which the desk may not know.
func (r *rig) shownIn(chat *fakechat.TelegramChat, a api.Approval) fakechat.TelegramMessage {
	r.t.Helper()
	m, err := chat.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
		return strings.Contains(m.Text, a.Code) && decides(m.Labels())
	})
	require.NoError(r.t, err)
	return m
}

// decides reports whether one of the buttons decides: those do not that take an allow back or end a cool-down.
func decides(labels []string) bool {
	return len(labels) > 0 && !slices.Equal(labels, []string{"Allow again now"}) && !slices.Equal(labels, []string{"Take back"})
}

// settled waits until a message shows no buttons that decide and contains the words.
func (r *rig) settled(chat *fakechat.TelegramChat, id int, words ...string) fakechat.TelegramMessage {
	r.t.Helper()
	var m fakechat.TelegramMessage
	require.NoError(r.t, r.tg.WaitFor(r.ctx(), func() bool {
		var ok bool
		m, ok = chat.Message(id)
		if !ok || decides(m.Labels()) {
			return false
		}
		for _, w := range words {
			if !strings.Contains(m.Text, w) {
				return false
			}
		}
		return true
	}), "message %d never showed %q", id, words)
	return m
}

// tap taps a button and gives the answer. An R4 card's Allow is confirmed.
func (r *rig) tap(u *fakechat.TelegramUser, chat *fakechat.TelegramChat, id int, label string) fakechat.TelegramAnswer {
	r.t.Helper()
	answer := r.answer(u.Tap(chat, id, label))
	if asksAgain(answer.Text) {
		return r.answer(u.TapData(chat, id, r.yes(chat, id)))
	}
	return answer
}

func (r *rig) answer(tap *fakechat.TelegramTap) fakechat.TelegramAnswer {
	r.t.Helper()
	a, err := tap.Answer(r.ctx())
	require.NoError(r.t, err)
	return a
}

// reply waits for the bot's answer to what a person typed.
func (r *rig) reply(chat *fakechat.TelegramChat, to fakechat.TelegramMessage) fakechat.TelegramMessage {
	r.t.Helper()
	m, err := chat.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool { return m.ReplyTo == to.ID })
	require.NoError(r.t, err)
	return m
}

// final waits for the end of an approval.
func (r *rig) final(a api.Approval) api.Approval {
	r.t.Helper()
	got, err := r.operator().WaitFinal(r.ctx(), a.Code)
	require.NoError(r.t, err)
	return got
}

// get gives the approval as an operator sees it now.
func (r *rig) get(a api.Approval) api.Approval {
	r.t.Helper()
	got, err := r.operator().Get(r.ctx(), a.Code, 0)
	require.NoError(r.t, err)
	return got
}

// until waits for a state of the approval that nothing outside announces; it
// asks the API again after every change of the fake.
func (r *rig) until(a api.Approval, what string, cond func(api.Approval) bool) api.Approval {
	r.t.Helper()
	operator, ctx := r.operator(), r.ctx()
	for {
		got, err := operator.Get(ctx, a.Code, 0)
		require.NoError(r.t, err)
		if cond(got) {
			return got
		}
		select {
		case <-ctx.Done():
			require.Fail(r.t, "never: "+what, "%+v", got)
		case <-time.After(5 * time.Millisecond): // only paces the question
		}
	}
}

// safeBuffer is a log that can be read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// requireProblem checks the API's refusal: its code and, if given, its why.
func requireProblem(t *testing.T, err error, code string, why ...string) {
	t.Helper()
	var p *api.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, code, p.Code)
	for _, w := range why {
		require.Equal(t, w, p.Why)
	}
}

// waitPast lets the wall clock pass a time that the desk itself compares with.
func waitPast(t *testing.T, atMs int64) {
	t.Helper()
	<-time.After(time.Until(time.UnixMilli(atMs + 1)))
}

// ownAddr gives a loopback address that is the test's own until it ends: a program that names it may listen there, again
// and again. A socket that is bound to it, and does not listen, keeps it. The system gives ports below 32768 to none that
// asks for any port, so none that looked for a free one and took it later takes this one.
func ownAddr(t *testing.T) string {
	t.Helper()
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	syscall.CloseOnExec(s)
	t.Cleanup(func() { _ = syscall.Close(s) })
	for tries := 0; ; tries++ {
		port := 20000 + rand.IntN(12000)
		err := syscall.Bind(s, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		if err == nil {
			require.NoError(t, syscall.SetsockoptInt(s, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
			return fmt.Sprintf("127.0.0.1:%d", port)
		}
		require.Less(t, tries, 100, err)
	}
}
