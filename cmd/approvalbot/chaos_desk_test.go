package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// process is one instance: the real program, started again whenever it ends, as a
// supervisor would.
type process struct {
	t        *testing.T
	name     string
	bin      string
	config   string
	database string
	line     *line // to the database
	logs     *safeBuffer
	http     *http.Client

	mu       sync.Mutex
	cmd      *exec.Cmd
	gone     chan struct{} // closed when it has ended
	ready    bool          // it was, since it started
	expected bool          // it is about to be ended
	frozen   bool
	stops    []time.Time // when it was told to stop
	url      string      // where it listens; another every time it starts
}

// newProcess starts an instance and waits until it is ready.
func newProcess(t *testing.T, name, bin, config, database string) *process {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	l, near := newLine(t, database)
	p := &process{t: t, name: name, bin: bin, config: config, database: near, line: l, logs: &safeBuffer{}, http: &http.Client{Transport: transport}}
	t.Cleanup(func() {
		p.end(syscall.SIGKILL)
		transport.CloseIdleConnections()
	})
	p.start()
	require.NoError(t, p.await(t.Context()), p.tail())
	return p
}

// start runs the program.
func (p *process) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd, gone := exec.Command(p.bin, "serve", "--config", p.config), make(chan struct{})
	said := &listening{safeBuffer: p.logs, at: make(chan string, 1)}
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "APPROVALBOT_CFG__STORE__URL="+p.database), said, said
	if err := cmd.Start(); err != nil {
		p.t.Errorf("%s cannot be started: %v", p.name, err)
		return
	}
	p.cmd, p.gone, p.ready, p.expected, p.frozen, p.url = cmd, gone, false, false, false, "http://127.0.0.1:1"
	go func() {
		_ = cmd.Wait()
		close(said.at)
		close(gone)
		p.mu.Lock()
		if p.ready && !p.expected {
			p.t.Errorf("%s ended by itself: %s", p.name, p.tail())
		}
		p.mu.Unlock()
	}()
	go func() {
		at, ok := <-said.at
		p.mu.Lock()
		defer p.mu.Unlock()
		if ok && p.cmd == cmd {
			p.url = "http://" + at
		}
	}()
}

// listening is a log that gives the address in it.
type listening struct {
	*safeBuffer
	at    chan string
	begin string
	found bool
}

var listensAt = regexp.MustCompile(`"listen":"([^"]+)"`)

// Write keeps what is logged.
func (l *listening) Write(p []byte) (int, error) {
	if !l.found {
		l.begin += string(p)
		if m := listensAt.FindStringSubmatch(l.begin); m != nil {
			l.found = true
			l.at <- m[1]
		}
	}
	return l.safeBuffer.Write(p)
}

// await waits until it is ready, and starts it again when it ends before, as it
// does when its database is out of reach.
func (p *process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	for {
		ask, stop := context.WithTimeout(ctx, 2*time.Second)
		r, err := p.client("").Ready(ask)
		stop()
		if err == nil && r.Ready {
			p.mu.Lock()
			p.ready = true
			p.mu.Unlock()
			return nil
		}
		select {
		case <-p.ended():
			p.start()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %+v, %w", p.name, r, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ended is closed when the present program has ended.
func (p *process) ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// end sends a signal that ends it, and waits until it has.
func (p *process) end(how syscall.Signal) {
	p.mu.Lock()
	p.expected = true
	p.stops = append(p.stops, time.Now())
	cmd, gone, frozen := p.cmd, p.gone, p.frozen
	p.mu.Unlock()
	_ = cmd.Process.Signal(how)
	if frozen {
		_ = cmd.Process.Signal(syscall.SIGCONT)
	}
	<-gone
}

// freeze stops it in its tracks, and thaw lets it go on.
func (p *process) freeze() { p.signal(syscall.SIGSTOP, true) }
func (p *process) thaw()   { p.signal(syscall.SIGCONT, false) }

func (p *process) signal(s syscall.Signal, frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Process.Signal(s)
	p.frozen = frozen
}

func (p *process) client(secret string) *api.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &api.Client{Server: p.url, Token: secret, HTTP: p.http}
}

// receives says whether this instance takes Telegram's updates in.
func (p *process) receives(ctx context.Context) bool {
	r, err := p.client("").Ready(ctx)
	c := r.Channels["telegram"]
	return err == nil && c.Up && !strings.Contains(c.Detail, "instance ")
}

// tail is the end of its log.
func (p *process) tail() string {
	s := p.logs.String()
	return s[max(0, len(s)-4000):]
}

// receiver waits until one of the instances takes updates in, and gives it and
// the others.
func receiver(t *testing.T, ctx context.Context, all []*process) (one *process, others []*process) {
	t.Helper()
	for ctx.Err() == nil {
		for i, p := range all {
			if p.receives(ctx) {
				return p, append(append([]*process{}, all[:i]...), all[i+1:]...)
			}
		}
		time.Sleep(5 * time.Millisecond) // only paces the question
	}
	require.Fail(t, "no instance receives updates")
	return nil, nil
}
