package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"approvalbot/api"
	"approvalbot/bot/bottest"
)

const (
	agentToken    = "bench-agent-token-0123456789"
	operatorToken = "bench-operator-token-0123456789"
)

// desk is the real binary, running on a fresh directory.
type desk struct {
	cmd   *exec.Cmd
	url   string
	ready time.Duration // from exec to the first 200 of /readyz
	tg    *bottest.Telegram
	group *bottest.TelegramChat
	alice *bottest.TelegramUser
	dir   string
	logs  bytes.Buffer
}

func start(bin string, withChat bool) (*desk, error) {
	dir, err := os.MkdirTemp("", "approvalbot-bench-*")
	if err != nil {
		return nil, err
	}
	d := &desk{dir: dir}
	chat := ""
	target := ""
	if withChat {
		if d.tg, err = bottest.StartTelegram(bottest.TelegramOptions{}); err != nil {
			return nil, err
		}
		d.alice = d.tg.AddUser(bottest.TelegramProfile{FirstName: "Alice"})
		d.group = d.tg.AddSupergroup("ops", d.alice)
		chat = fmt.Sprintf("channels:\n  telegram: {botToken: \"123456:TEST\", apiUrl: %q, allowedUserIds: [%d]}\n", d.tg.URL(), d.alice.Profile().ID)
		target = fmt.Sprintf("{channel: telegram, to: \"%d\"}", d.group.ID)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	d.url = "http://127.0.0.1:" + strconv.Itoa(port)
	config := fmt.Sprintf(`server:
  listen: 127.0.0.1:%d
  limits: {pending: 1000000, requestsPerSecond: 1000000}
  tokens:
    - {name: agent, token: %s, scopes: [approvals.request]}
    - {name: laptop, token: %s, scopes: [operator.approvals], person: bob}
store: {url: "sqlite:%s/desk.db", keyFile: "%s/desk.key"}
people: [{name: bob}]
%sapprovals:
  tools:
    enabled: true
    routing: {mode: targets, targets: [%s]}
`, port, agentToken, operatorToken, dir, dir, chat, target)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	d.cmd = exec.Command(bin, "serve", "--config", file)
	d.cmd.Stderr, d.cmd.Stdout = &d.logs, &d.logs
	began := time.Now()
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	for time.Since(began) < 20*time.Second {
		if resp, err := http.Get(d.url + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				d.ready = time.Since(began)
				return d, nil
			}
		}
		time.Sleep(time.Millisecond)
	}
	d.stop()
	return nil, fmt.Errorf("the desk did not become ready: %s", d.logs.String())
}

// stop ends the desk with SIGTERM and gives how long that took.
func (d *desk) stop() time.Duration {
	began := time.Now()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	_ = d.cmd.Wait()
	took := time.Since(began)
	if d.tg != nil {
		d.tg.Close()
	}
	os.RemoveAll(d.dir)
	return took
}

// resident gives the process's resident memory in MB.
func (d *desk) resident() float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

func (d *desk) client(token string) *api.Client {
	return &api.Client{Server: d.url, Token: token, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}}
}

func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// ask asks for a call that surely needs a person.
func ask(ctx context.Context, c *api.Client, n int, wait time.Duration) (api.Approval, error) {
	return c.Create(ctx, api.CreateRequest{ToolName: "bench.ask", Params: fmt.Appendf(nil, `{"n":%d}`, n)}, api.CreateOptions{Wait: wait})
}
