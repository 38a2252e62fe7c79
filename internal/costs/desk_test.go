//go:build !race && linux && amd64

package costs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/daemon"
	"approvalbot/internal/fakechat"
)

const (
	agentToken    = "costs-agent-token-0123456789"
	operatorToken = "costs-operator-token-0123456789"
	readCall      = `{"toolName":"read","params":{"path":"/workspace/server/handler.go","limit":200},"agentId":"main","sessionKey":"agent:main:1"}`
	pipelineCall  = `{"toolName":"exec","params":{"command":"cat /workspace/a.go | grep -n \"func (s\" | sort -k2 | uniq -c | head -n 20 && git status --short > /dev/null"},"agentId":"main","sessionKey":"agent:main:1"}`
	patient       = 2 * time.Minute // reaching it is a failure
)

// desk is a whole desk in this process, asked without connections of its own.
type desk struct {
	t       *testing.T
	daemon  *daemon.Daemon
	handler http.Handler
	addr    string // of its listener
	tg      *fakechat.Telegram
	alice   *fakechat.TelegramUser
	group   *fakechat.TelegramChat
	asked   int
}

// configuration has one asker, one operator and, with a chat server, one group.
func configuration(dir, listen, channels, target string) string {
	return fmt.Sprintf(`server:
  listen: %s
  limits: {pending: 1000000, requestsPerSecond: 1000000}
  tokens:
    - {name: agent, token: %s, scopes: [approvals.request]}
    - {name: laptop, token: %s, scopes: [operator.approvals], person: bob}
store: {url: "sqlite:%s/desk.db", keyFile: "%s/desk.key"}
people: [{name: bob}]
%sapprovals:
  tools:
    enabled: true
    routing: {mode: targets, targets: [%s], digestAbove: 0}
`, listen, agentToken, operatorToken, dir, dir, channels, target)
}

// addGroup gives the desk a chat, and tells the keys that do.
func (d *desk) addGroup() (channels, target string) {
	d.tg = fakechat.NewTelegram(d.t, fakechat.TelegramOptions{AnswerWindow: patient})
	d.alice = d.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	d.group = d.tg.AddSupergroup("ops", d.alice)
	return fmt.Sprintf("channels:\n  telegram: {botToken: \"123456:TEST\", apiUrl: %q, allowedUserIds: [%d]}\n", d.tg.URL(), d.alice.ID),
		fmt.Sprintf("\"telegram:%d\"", d.group.ID)
}

func newDesk(t *testing.T, chat bool) *desk {
	dir := t.TempDir()
	d := &desk{t: t}
	var channels, target string
	if chat {
		channels, target = d.addGroup()
	}
	file := filepath.Join(dir, "approvalbot.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configuration(dir, "127.0.0.1:0", channels, target)), 0o600))
	load := func() (config.Config, []config.Warning, error) { return effective.Load(file, nil, nil) }
	cfg, _, err := load()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	d.daemon, err = daemon.New(ctx, cfg, daemon.Options{Version: "dev", Load: load, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d.daemon.Auditor.Look = time.Hour // no checkpoint in between
	ln, err := daemon.Listen(cfg.Server)
	require.NoError(t, err)
	d.addr = ln.Addr().String()
	done := make(chan error, 1)
	go func() { done <- d.daemon.Run(ctx, ln) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	d.handler = d.daemon.Server.Handler()
	return d
}

// measured is what one operation costs.
type measured struct{ allocations, statements float64 }

// measure runs an operation some times and gives the least that one took of five such series:
// what runs beside it only adds.
func (d *desk) measure(times int, do func(n int)) (least measured) {
	for series := range 6 {
		var before, after runtime.MemStats
		statements := d.daemon.Store.Statements()
		runtime.ReadMemStats(&before)
		for n := range times {
			do(n)
		}
		runtime.ReadMemStats(&after)
		got := measured{float64(after.Mallocs-before.Mallocs) / float64(times), float64(d.daemon.Store.Statements()-statements) / float64(times)}
		if series == 0 {
			continue // it reads tables and prepares statements
		}
		if series == 1 || got.allocations < least.allocations {
			least.allocations = got.allocations
		}
		if series == 1 || got.statements < least.statements {
			least.statements = got.statements
		}
	}
	return least
}

// answer takes a handler's.
type answer struct {
	*httptest.ResponseRecorder
}

// SetReadDeadline is there because a connection has one.
func (answer) SetReadDeadline(time.Time) error { return nil }

func (d *desk) do(method, path, token, body string) []byte {
	r, err := http.NewRequest(method, path, strings.NewReader(body))
	require.NoError(d.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := answer{httptest.NewRecorder()}
	d.handler.ServeHTTP(w, r)
	require.Less(d.t, w.Code, 300, w.Body.String())
	return w.Body.Bytes()
}

// waitingStack is the KiB of stack for each who waits over HTTP: of the request, and of what net/http lets watch the
// connection. The runtime halves a stack of which less than a quarter is used, so this jumps when one call more holds much.
func (d *desk) waitingStack() float64 {
	const many = 200
	id := func(n int) string { return fmt.Sprintf("waits-%d", n) }
	for n := range many {
		d.post("/v1/approvals", fmt.Sprintf(`{"id":%q,"toolName":"costs.wait","params":{"n":%d}}`, id(n), n))
	}
	before := stacks()
	for n := range many {
		conn, err := net.Dial("tcp", d.addr)
		require.NoError(d.t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "GET /v1/approvals/%s?wait=60s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", id(n), agentToken)
		require.NoError(d.t, err)
	}
	require.Eventually(d.t, func() bool {
		return strings.Contains(string(d.do("GET", "/metrics", "", "")), fmt.Sprintf("\napprovalbot_waiting_requests %d\n", many))
	}, patient, 5*time.Millisecond)
	return (stacks() - before) / 1024 / many
}

// stacks is the bytes of all stacks, when they have shrunk as far as they do.
func stacks() float64 {
	var m runtime.MemStats
	for range 5 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.StackInuse)
}

func (d *desk) post(path, body string) []byte { return d.do("POST", path, agentToken, body) }

// asking is a call that surely needs a person, and is no other's double.
func (d *desk) asking() string {
	d.asked++
	return fmt.Sprintf(`{"toolName":"costs.ask","params":{"n":%d}}`, d.asked)
}

// resolveTrip asks for a call and resolves it through the API while its asker waits.
func (d *desk) resolveTrip(int) {
	_, rest, _ := bytes.Cut(d.post("/v1/approvals", d.asking()), []byte(`"id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	woken := make(chan []byte, 1)
	go func() { woken <- d.do("GET", "/v1/approvals/"+string(id)+"?wait=60s", agentToken, "") }()
	d.do("POST", "/v1/approvals/"+string(id)+"/resolve", operatorToken, `{"decision":"allow-once"}`)
	require.Contains(d.t, string(<-woken), `"status":"approved"`)
}

// cardTrip asks for a call and taps its card while its asker waits.
func (d *desk) cardTrip(int) {
	seen, _ := d.group.Newest()
	body := d.asking()
	woken := make(chan []byte, 1)
	go func() { woken <- d.post("/v1/approvals?wait=60s", body) }()
	var card fakechat.TelegramMessage
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	require.NoError(d.t, d.tg.WaitFor(ctx, func() bool { card, _ = d.group.Newest(); return card.ID > seen.ID }))
	d.alice.Tap(d.group, card.ID, "Allow once")
	require.Contains(d.t, string(<-woken), `"status":"approved"`)
}

// readyMemory starts the program on a small configuration and gives the median over three starts
// of what it takes once it is ready.
func readyMemory(t *testing.T, bin string) float64 {
	var kib []float64
	for range 3 {
		kib = append(kib, readyOnce(t, bin))
	}
	slices.Sort(kib)
	return kib[1]
}

func readyOnce(t *testing.T, bin string) float64 {
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	require.NoError(t, ln.Close())
	file := filepath.Join(dir, "approvalbot.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configuration(dir, addr, "", "")), 0o600))
	var logs bytes.Buffer
	cmd := exec.Command(bin, "serve", "--config", file)
	cmd.Stderr, cmd.Stdout = &logs, &logs
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); <-ended })
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}, patient, 5*time.Millisecond, &logs)
	return anonymous(t, cmd.Process.Pid)
}
