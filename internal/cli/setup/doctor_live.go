package setup

import (
	"cmp"
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

	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/daemon"
	"approvalbot/internal/display"
	"approvalbot/internal/hook"
	"approvalbot/internal/hook/install"
	"approvalbot/internal/hook/live"
)

// tryTime is how long a runtime's client may take for one command.
const tryTime = 3 * time.Minute

// LiveDesk is a desk of doctor's own, with one policy for everything.
type LiveDesk struct {
	Dir, addr, URL, Token string
	Program, version      string // that hooks call
	confine               bool   // the hook offers to confine, and the token may
}

// The policies of a liveDesk: the hard layers decide everything, and no person is asked.
const (
	allowsAll  = "tools: {}\napprovals: {tools: {enabled: true, mode: 'off'}}\n"
	deniesAll  = "tools: {deny: ['*']}\napprovals: {tools: {enabled: true}}\n"
	liveClient = "client.yaml"
)

// confinesUnknown is the policy of a liveDesk that lets a command which it does not understand run confined in a folder.
const confinesUnknown = "agents: {list: [{id: live, workspace: [%q]}]}\napprovals: {tools: {enabled: true, confine: {mode: unsure}}}\n"

// confinedScript leaves a file that says whether it ran confined: it sees nothing of the home then.
const confinedScript = "#!/bin/sh\nif [ -e \"$HOME/.claude/settings.json\" ]; then touch ran-unconfined; else touch ran-confined; fi\n"

// doctorLive checks the hook that is installed for a runtime. If it is in force, doctorLive runs
// the runtime's client and tests that the hook works.
func doctorLive(ctx context.Context, a *app.App, name string) error {
	r, known := hook.Find(name)
	if !known || live.Program(r.Name) == "" {
		return fmt.Errorf("doctor cannot try a runtime called %s; it can try %s",
			name, strings.Join(live.Runtimes(), ", "))
	}
	installed := installations(a, r.Name)
	if len(installed) == 0 {
		return fmt.Errorf("no hook that could be tried is installed for "+
			"%s here: run approvalbot install %s", r.Title, r.Name)
	}
	found, tried := checkInstalled(ctx, a, installed)
	if tried == nil {
		return report(a, found)
	}
	program, err := ownProgram() // a plugin of 0.1.0 does not name its program
	if err != nil {
		return err
	}
	below := ""
	if tried.Confine {
		below = os.TempDir() // no command is confined in a hidden folder of the home, such as the user's cache
	}
	l, err := live.Open(r.Name, a.Env["PATH"], below)
	if errors.Is(err, live.ErrNoClient) {
		err = fmt.Errorf("%w: install %s first; it was not tried", err, r.Title)
	}
	if err == nil {
		var shown []core.Diagnostic
		shown, err = TryLive(ctx, a, l, r, cmp.Or(tried.Program, install.HookProgram(program)), tried.Confine)
		found, err = append(found, shown...), errors.Join(err, l.Close())
	}
	failed := report(a, found)
	return cmp.Or(err, failed)
}

// checkInstalled looks at a runtime's installations and picks the one that can be tried; nil: the
// findings say why no installation can.
func checkInstalled(ctx context.Context, a *app.App, installed []install.Options) (found []core.Diagnostic, tried *install.Options) {
	cfg, _, err := effective.Load(a.Config, a.Environ, nil)
	of := &cfg
	if err != nil { // what is wrong with it plain doctor says
		of = nil
	}
	for _, o := range installed {
		looks, fit := installationFindings(ctx, a, o, of, false)
		found = append(found, looks...)
		if fit && tried == nil {
			tried = &o
		}
	}
	why := ""
	switch {
	case installed[0].Scope == install.Managed:
		why = "the machine's managed hook would ask its own desk, and people"
	case tried == nil:
		why = "what is installed is not in force"
	case tried.Beside:
		why = "a hook beside the dialog is asked only when the client asks its user"
	default:
		return found, tried
	}
	return append(found, core.Fail("client", "it was not tried: "+why, "")), nil
}

// report prints findings, and returns an error if one of them is a failure.
func report(a *app.App, found []core.Diagnostic) error {
	if err := printFindings(a, found); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f core.Diagnostic) bool { return f.Level == core.LevelFail }) {
		return app.ExitCode(app.ExitError)
	}
	return nil
}

// TryLive lets the client ask a desk that allows, then one that denies, then one that is
// down. With confine it tries too whether a command runs confined.
func TryLive(ctx context.Context, a *app.App, l *live.Lab, r hook.Runtime, program string, confine bool) ([]core.Diagnostic, error) {
	desk, err := newLiveDesk(l.Dir(), program, a.Version)
	if err != nil {
		return nil, err
	}
	desk.confine = confine
	o, err := desk.Attach(ctx, l, r, false)
	if err != nil {
		return nil, err
	}
	client := fmt.Sprintf("%s %s calls %s, with a fake model, in a folder that is thrown away, and asks a desk of doctor's own",
		r.Title, l.Version(ctx), program)
	found := []core.Diagnostic{core.OK("client", client)}
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
	if confine {
		shown, err := tryConfined(ctx, l, desk)
		if found = append(found, shown); err != nil {
			return found, err
		}
	}
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

// tryConfined lets the client run a script that the desk does not understand. All of the client's own tool results stay
// in its folder, so the answer is read from the files that the script leaves.
func tryConfined(ctx context.Context, l *live.Lab, desk *LiveDesk) (core.Diagnostic, error) {
	if err := os.WriteFile(filepath.Join(l.Project, "confined.sh"), []byte(confinedScript), 0o700); err != nil {
		return core.Diagnostic{}, err
	}
	command := l.Model.Command
	l.Model.Command = "./confined.sh"
	defer func() { l.Model.Command = command }()
	var got live.Result
	err := desk.serving(ctx, fmt.Sprintf(confinesUnknown, l.Project), func() (err error) { got, err = tryOnce(ctx, l); return err })
	ran := func(how string) bool {
		_, err := os.Stat(filepath.Join(l.Project, "ran-"+how))
		return err == nil
	}
	switch {
	case ran("unconfined"):
		return core.Fail("confined", "the command RAN unconfined although the desk allowed it only confined", "install the hook without --confine"), err
	case !ran("confined"):
		return core.Fail("confined", "the command did not run confined; the model read: "+lastRead(got), "approvalbot doctor says what confinement lacks"), err
	}
	return core.OK("confined", "the command ran confined instead of as it was written"), err
}

func allowFinding(r live.Result) core.Diagnostic {
	if r.Ran {
		return core.OK("allow", "the command ran ("+r.Took.Round(100*time.Millisecond).String()+")")
	}
	return core.Fail("allow", "the command did not run although the desk allowed it; the model read: "+lastRead(r),
		"the client's own permissions may be in the way")
}

// denyFinding wants the desk's own words in what the model reads: if the client ended
// early, or another hook denied, the desk's deny is not proven.
func denyFinding(r live.Result) core.Diagnostic {
	switch {
	case !r.Ran && !strings.Contains(strings.Join(r.Read, " "), "denied by policy"):
		return core.Fail("deny", "the command did not run, but not by the desk's deny; the model read: "+lastRead(r),
			"another hook or the client's own permissions may be in the way")
	case !r.Ran:
		return core.OK("deny", "the command did not run; the model read: "+lastRead(r))
	}
	return core.Fail("deny", "the command RAN although the desk denied it", "do not rely on this version of the client")
}

func downFinding(t hook.Runtime, r live.Result) core.Diagnostic {
	if !r.Ran {
		return core.OK("desk down", "the command did not run; the model read: "+lastRead(r))
	}
	return core.Fail("desk down", "the command RAN while no desk was running: "+t.Title+" is not closed",
		"docs/agents.md says what closes it")
}

func pluginFinding(o install.Options) core.Diagnostic {
	if at := install.Loaded(o.File()); at != "" {
		return core.OK("plugin", "OpenCode loaded it at "+at)
	}
	return core.Fail("plugin", "OpenCode did not load the plugin, so it runs every call without asking", "")
}

// lastRead gives the last text that the model read, on one line.
func lastRead(r live.Result) string {
	if len(r.Read) == 0 {
		return "nothing"
	}
	text, _ := display.Clip(strings.Join(strings.Fields(r.Read[len(r.Read)-1]), " "), 200)
	return text
}

// liveOptions are install's, for the lab's own home.
func liveOptions(l *live.Lab, r hook.Runtime, d *LiveDesk) install.Options {
	o := install.Options{
		Runtime: r, Scope: install.User, Program: d.Program, Client: filepath.Join(d.Dir, liveClient),
		Home: l.Home, Project: l.Project, OS: runtime.GOOS, Env: func(string) string { return "" },
	}
	if has := install.Has(r.Name); !slices.Contains(has, o.Scope) {
		o.Scope = has[len(has)-1]
	}
	return o
}

// Attach writes the desk's client file, and installs the runtime's hook in the lab as
// install does, so that its client asks this desk.
func (d *LiveDesk) Attach(ctx context.Context, l *live.Lab, r hook.Runtime, beside bool) (install.Options, error) {
	o := liveOptions(l, r, d)
	o.Beside, o.Confine = beside, d.confine
	text := fmt.Sprintf("server: %s\ntoken: %s\n", d.URL, d.Token)
	if err := os.WriteFile(filepath.Join(d.Dir, liveClient), []byte(text), 0o600); err != nil {
		return o, err
	}
	return o, installLive(ctx, l, o)
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
func newLiveDesk(dir, program, version string) (*LiveDesk, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &LiveDesk{Dir: filepath.Join(dir, "desk"), addr: ln.Addr().String(), Token: rand.Text(), Program: program, version: version}
	d.URL = "http://" + d.addr
	if err := errors.Join(ln.Close(), os.MkdirAll(d.Dir, 0o700)); err != nil {
		return nil, err
	}
	return d, nil
}

// serving runs the desk with that policy while f runs.
func (d *LiveDesk) serving(ctx context.Context, policy string, f func() error) error {
	path := filepath.Join(d.Dir, "approvalbot.yaml")
	text := fmt.Sprintf("server:\n  listen: %s\n  tokens: [{name: live, token: %s, scopes: [approvals.request], agentId: live, mayConfine: %t}]\n"+
		"store: {url: %q, keyFile: %q}\n%s",
		d.addr, d.Token, d.confine, "sqlite:"+filepath.Join(d.Dir, "desk.db"), filepath.Join(d.Dir, "desk.key"), policy)
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
	desk, err := daemon.New(ctx, cfg, daemon.Options{Version: d.version, Load: load, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
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
