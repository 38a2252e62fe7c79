package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"approvalbot/config"
	"approvalbot/config/effective"
	"approvalbot/core"
	"approvalbot/daemon"
	"approvalbot/display"
	"approvalbot/hook"
	"approvalbot/hook/install"
	"approvalbot/hook/live"
)

// tryTime is how long a runtime's client may take for one command.
const tryTime = 3 * time.Minute

// liveDesk is a desk of doctor's own, with one policy for everything.
type liveDesk struct {
	dir, addr, url, token string
	program               string // that hooks call
}

// The policies of a liveDesk: the hard layers decide everything, and no person is asked.
const (
	allowsAll  = "tools: {}\napprovals: {tools: {enabled: true, mode: 'off'}}\n"
	deniesAll  = "tools: {deny: ['*']}\napprovals: {tools: {enabled: true}}\n"
	liveClient = "client.yaml"
)

// doctorLive proves on the installed client what the hook of a runtime is worth.
func (a *app) doctorLive(ctx context.Context, name string) error {
	r, known := hook.Find(name)
	if !known || live.Program(r.Name) == "" {
		return fmt.Errorf("no runtime called %s can be tried by itself; those that can: %s",
			name, strings.Join(live.Runtimes(), ", "))
	}
	l, err := live.Open(r.Name, a.env["PATH"], "")
	if errors.Is(err, live.ErrNoClient) {
		return fmt.Errorf("%w: install %s first; nothing was tried", err, r.Title)
	}
	if err != nil {
		return err
	}
	program, err := ownProgram()
	if err == nil {
		var found []core.Finding
		found, err = a.tryLive(ctx, l, r, program)
		err = errors.Join(err, a.printFindings(found))
		if err == nil && slices.ContainsFunc(found, func(f core.Finding) bool { return f.Level == core.LevelFail }) {
			err = exitCode(exitError)
		}
	}
	return errors.Join(err, l.Close())
}

// tryLive lets the client ask a desk that allows, one that denies, and none.
func (a *app) tryLive(ctx context.Context, l *live.Lab, r hook.Runtime, program string) ([]core.Finding, error) {
	desk, err := newLiveDesk(l.Dir(), program)
	if err != nil {
		return nil, err
	}
	o := liveOptions(l, r, desk)
	if err := installLive(ctx, l, o); err != nil {
		return nil, err
	}
	client := r.Title + " " + l.Version(ctx) + ", with a fake model, in a folder that is thrown away"
	found := []core.Finding{core.Fine("client", client)}
	var allowed, denied, down live.Result
	err = desk.serving(ctx, allowsAll, func() (err error) { allowed, err = tryOnce(ctx, l); return err })
	if err != nil {
		return found, err
	}
	found = append(found, allowFinding(allowed))
	err = desk.serving(ctx, deniesAll, func() (err error) { denied, err = tryOnce(ctx, l); return err })
	if err != nil {
		return found, err
	}
	found = append(found, denyFinding(denied))
	if down, err = tryOnce(ctx, l); err != nil {
		return found, err
	}
	found = append(found, downFinding(r, down))
	if r.Name == "opencode" {
		found = append(found, pluginFinding(o))
	}
	return found, nil
}

func tryOnce(ctx context.Context, l *live.Lab) (live.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	return l.Run(ctx)
}

func allowFinding(r live.Result) core.Finding {
	if r.Ran {
		return core.Fine("allow", "the command ran ("+r.Took.Round(100*time.Millisecond).String()+")")
	}
	return core.Fault("allow", "the command did not run although the desk allowed it; the model read: "+lastRead(r),
		"the client's own permissions may be in the way")
}

// denyFinding wants the desk's own words where the model reads: a client that ended, or
// another hook that denied, proves nothing.
func denyFinding(r live.Result) core.Finding {
	switch {
	case !r.Ran && !strings.Contains(strings.Join(r.Read, " "), "denied by policy"):
		return core.Fault("deny", "the command did not run, but not by the desk's deny; the model read: "+lastRead(r),
			"another hook or the client's own permissions may be in the way")
	case !r.Ran:
		return core.Fine("deny", "the command did not run; the model read: "+lastRead(r))
	}
	return core.Fault("deny", "the command RAN although the desk denied it", "do not rely on this version of the client")
}

func downFinding(t hook.Runtime, r live.Result) core.Finding {
	if !r.Ran {
		return core.Fine("desk down", "the command did not run; the model read: "+lastRead(r))
	}
	return core.Fault("desk down", "the command RAN while no desk was there: "+t.Title+" is not closed",
		"docs/agents.md says what closes it")
}

func pluginFinding(o install.Options) core.Finding {
	if at := install.Loaded(install.Plugin(o)); at != "" {
		return core.Fine("plugin", "OpenCode loaded it at "+at)
	}
	return core.Fault("plugin", "OpenCode did not load it, and then runs every call", "")
}

// lastRead is what the model read at last, on one line.
func lastRead(r live.Result) string {
	if len(r.Read) == 0 {
		return "nothing"
	}
	text, _ := display.Clip(strings.Join(strings.Fields(r.Read[len(r.Read)-1]), " "), 200)
	return text
}

// liveOptions are install's, for the lab's own home.
func liveOptions(l *live.Lab, r hook.Runtime, d *liveDesk) install.Options {
	o := install.Options{
		Runtime: r, Scope: install.User, Program: d.program, Client: filepath.Join(d.dir, liveClient), Server: d.url, Token: d.token,
		Home: l.Home, Project: l.Project, OS: runtime.GOOS, Env: func(string) string { return "" },
	}
	if has := install.Has(r.Name); !slices.Contains(has, o.Scope) {
		o.Scope = has[len(has)-1]
	}
	return o
}

// installLive installs as install does.
func installLive(ctx context.Context, l *live.Lab, o install.Options) error {
	changes, err := install.Plan(o)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := c.Write(); err != nil {
			return err
		}
	}
	if o.Runtime.Name != "codex" || o.Scope == install.Managed {
		return nil
	}
	hooks, err := install.CodexHooks(ctx, o, l.Cmd)
	if err == nil && len(hooks) == 0 {
		err = errors.New("codex does not see the hook that was installed")
	}
	if err != nil {
		return err
	}
	return install.TrustThem(ctx, o, hooks, l.Cmd)
}

// newLiveDesk makes the files of a desk below dir, and finds it a port.
func newLiveDesk(dir, program string) (*liveDesk, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &liveDesk{dir: filepath.Join(dir, "desk"), addr: ln.Addr().String(), token: rand.Text(), program: program}
	d.url = "http://" + d.addr
	if err := errors.Join(ln.Close(), os.MkdirAll(d.dir, 0o700)); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("server: %s\ntoken: %s\n", d.url, d.token)
	return d, os.WriteFile(filepath.Join(d.dir, liveClient), []byte(text), 0o600)
}

// serving runs the desk with that policy while f runs.
func (d *liveDesk) serving(ctx context.Context, policy string, f func() error) error {
	path := filepath.Join(d.dir, "approvalbot.yaml")
	text := fmt.Sprintf("server:\n  listen: %s\n  tokens: [{name: live, token: %s, scopes: [approvals.request], agentId: live}]\n"+
		"store: {url: %q, keyFile: %q}\n%s",
		d.addr, d.token, "sqlite:"+filepath.Join(d.dir, "desk.db"), filepath.Join(d.dir, "desk.key"), policy)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	load := func() (config.Config, []config.Warning, error) { return effective.Load(path, nil, nil) }
	cfg, _, err := load()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	desk, err := daemon.New(ctx, cfg, daemon.Options{Version: version, Load: load, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", d.addr)
	if err != nil {
		return errors.Join(err, desk.Store.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- desk.Run(ctx, ln) }()
	err = f()
	stop()
	return errors.Join(err, <-ended)
}
