package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"approvalbot/internal/fakechat"
)

// bench says how to measure.
type bench struct {
	bin    string        // the desk
	rounds int           // of each figure
	span   time.Duration // of one turn of a load
}

const (
	agentToken    = "bench-agent-token-0123456789"
	operatorToken = "bench-operator-token-0123456789"
	tgToken       = "123456:TEST"
)

// desk is the real binary, running on a directory.
type desk struct {
	cmd    *exec.Cmd
	addr   string
	ready  time.Duration // from exec to the first 200 of /readyz
	tg     *fakechat.Telegram
	groups []*fakechat.TelegramChat // each a target
	alice  *fakechat.TelegramUser   // may decide
	dir    string
	keep   bool // dir stays when it stops
	logs   bytes.Buffer
}

// options say what a desk is started with.
type options struct {
	chats   int    // targets at a fake Telegram
	dir     string // empty: a fresh one, deleted when the desk stops
	store   string // the store's URL; empty: SQLite in dir
	addr    string // address to listen at; empty: any port on loopback
	example string // instead of a small configuration this one, as a file's content
}

func start(bin string, o options) (_ *desk, err error) {
	d := &desk{dir: o.dir, keep: o.dir != ""}
	if o.dir == "" {
		if d.dir, err = os.MkdirTemp("", "approvalbot-bench-*"); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			d.clear()
		}
	}()
	if err := d.chats(o.chats); err != nil {
		return nil, err
	}
	if d.addr = o.addr; d.addr == "" {
		port, err := ownPort()
		if err != nil {
			return nil, err
		}
		d.addr = "127.0.0.1:" + strconv.Itoa(port)
	}
	store := o.store
	if store == "" {
		store = "sqlite:" + d.dir + "/desk.db"
	}
	config := o.example
	if config == "" {
		config = d.config()
	}
	file := filepath.Join(d.dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	d.cmd = exec.Command(bin, "serve", "--config", file)
	d.cmd.Env = append(os.Environ(), "AGENT_TOKEN="+agentToken, "ALICE_TOKEN="+operatorToken,
		"CALLBACK_SECRET=bench-callback-secret-0123", "WEBHOOK_SECRET=bench-webhook-secret-0123",
		"TELEGRAM_BOT_TOKEN=", "DISCORD_BOT_TOKEN=",
		"APPROVALBOT_CFG__SERVER__LISTEN="+d.addr, "APPROVALBOT_CFG__SERVER__LIMITS={pending: 1000000, requestsPerSecond: 1000000}",
		"APPROVALBOT_CFG__STORE__URL="+store, "APPROVALBOT_CFG__STORE__KEYFILE="+d.dir+"/desk.key")
	d.cmd.Stderr, d.cmd.Stdout = &d.logs, &d.logs
	return d, d.run()
}

// chats makes a fake Telegram with so many groups.
func (d *desk) chats(n int) (err error) {
	if n == 0 {
		return nil
	}
	if d.tg, err = fakechat.StartTelegram(fakechat.TelegramOptions{Token: tgToken}); err != nil {
		return err
	}
	d.alice = d.tg.AddUser(fakechat.TelegramProfile{FirstName: "Alice"})
	for i := range n {
		d.groups = append(d.groups, d.tg.AddSupergroup("ops "+strconv.Itoa(i), d.alice))
	}
	return nil
}

// config is a small configuration: one asker, one operator, perhaps Telegram.
func (d *desk) config() string {
	chat, targets := "", []string{}
	if d.tg != nil {
		chat = fmt.Sprintf("channels:\n  telegram: {botToken: %q, apiUrl: %q, allowedUserIds: [%d]}\n", tgToken, d.tg.URL(), d.alice.Profile().ID)
	}
	for _, g := range d.groups {
		targets = append(targets, fmt.Sprintf("\"telegram:%d\"", g.ID))
	}
	return fmt.Sprintf(`server:
  tokens:
    - {name: agent, token: %s, scopes: [approvals.request]}
    - {name: laptop, token: %s, scopes: [operator.approvals, operator.admin], person: bob}
people: [{name: bob}]
%sapprovals:
  tools:
    enabled: true
    routing: {mode: targets, targets: [%s], digestAbove: 0}
`, agentToken, operatorToken, chat, strings.Join(targets, ", "))
}

// run starts the process and waits until it is ready.
func (d *desk) run() error {
	began := time.Now()
	if err := d.cmd.Start(); err != nil {
		return err
	}
	answer := "no answer"
	pid := d.cmd.Process.Pid
	for time.Since(began) < 20*time.Second {
		if resp, err := http.Get("http://" + d.addr + "/readyz"); err == nil {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				d.ready = time.Since(began)
				return nil
			}
			answer = string(body)
		}
		if over(pid) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	return fmt.Errorf("the desk did not become ready: %s: %.2000s", answer, d.logs.String())
}

// over reports whether a child has ended and waits to be buried.
func over(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}

// stop ends the desk with SIGTERM and gives how long that took.
func (d *desk) stop() time.Duration {
	began := time.Now()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	_ = d.cmd.Wait()
	took := time.Since(began)
	d.clear()
	return took
}

func (d *desk) clear() {
	if d.tg != nil {
		d.tg.Close()
	}
	if !d.keep {
		os.RemoveAll(d.dir)
	}
}

func (d *desk) processorTime() time.Duration { return processorTime(d.cmd.Process.Pid) }

func (d *desk) resident() float64 { return memory(d.cmd.Process.Pid, "VmRSS") }

func (d *desk) anonymous() float64 { return memory(d.cmd.Process.Pid, "RssAnon") }

// ownPort gives a port that is this program's own until it ends. A process that names the
// port may listen there, at any loopback address, but the system does not give it to a
// process that asks for any port, because a socket is bound to it that does not listen.
func ownPort() (int, error) {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	syscall.CloseOnExec(s)
	if err := errors.Join(syscall.SetsockoptInt(s, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(s, &syscall.SockaddrInet4{})); err != nil {
		return 0, err
	}
	at, err := syscall.Getsockname(s)
	if err != nil {
		return 0, err
	}
	return at.(*syscall.SockaddrInet4).Port, nil
}

// asking is the request for a call that surely needs a person.
func asking(n int, wait string) []byte {
	return request("POST", "/v1/approvals"+wait, agentToken, fmt.Sprintf(`{"toolName":"bench.ask","params":{"n":%d}}`, n))
}
