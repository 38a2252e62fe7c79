package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"approvalbot/internal/lazy"
)

// Lab is a folder that is thrown away, with a home and a project of its own, and a
// fake model. Close ends it.
type Lab struct {
	Runtime string
	Home    string
	Project string
	Model   *Model

	dir     string
	program string
	path    string // PATH
	server  *http.Server
	url     string
	served  sync.WaitGroup
}

// command is what the model asks for: it does no harm, and the files that it leaves
// show whether it ran. It is not among those that any runtime refuses by itself.
const command = "mv build build.old"

// Command is the shell line that the client is asked to run in a lab.
func Command() string { return command }

// ErrNoClient says that the runtime's program is not on PATH.
var ErrNoClient = errors.New("is not installed, or not on PATH")

// Open makes a lab for a runtime, whose program is looked for on that PATH. below is the
// directory that holds the folder; if empty, the user's cache is used, since Codex does
// not accept a folder below the system's temporary directory.
func Open(runtime, path, below string) (*Lab, error) {
	c, known := clients()[runtime]
	if !known {
		return nil, fmt.Errorf("doctor cannot try %s; it can try %s", runtime,
			strings.Join(Runtimes(), ", "))
	}
	program := find(c.program, path)
	if program == "" {
		return nil, fmt.Errorf("%s %w", c.program, ErrNoClient)
	}
	if below == "" {
		below, _ = os.UserCacheDir()
	}
	if below != "" {
		_ = os.MkdirAll(below, 0o700) // MkdirTemp says what is wrong
	}
	dir, err := os.MkdirTemp(below, "approvalbot-live-")
	if err != nil {
		return nil, err
	}
	l := &Lab{
		Runtime: runtime, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"),
		Model: &Model{Command: command}, dir: dir, program: program, path: path,
	}
	if err := l.furnish(c); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// find looks a program up on a PATH that need not be this process's.
func find(program, path string) string {
	if program == "" {
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		at := filepath.Join(dir, program)
		if info, err := os.Stat(at); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() &&
			info.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// furnish starts the model and writes what the client needs to use it.
func (l *Lab) furnish(c client) error {
	for _, dir := range []string{l.Home, filepath.Join(l.Project, "build"), filepath.Join(l.Project, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.url = "http://" + listener.Addr().String()
	l.server = &http.Server{Handler: l.Model, ReadHeaderTimeout: time.Minute}
	l.served.Go(func() { _ = l.server.Serve(listener) })
	for name, text := range c.files {
		path := filepath.Join(l.Home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if strings.Contains(text, "{version}") {
			text = strings.ReplaceAll(text, "{version}", l.Version(context.Background()))
		}
		if err := os.WriteFile(path, []byte(filled(text, l.url)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Dir is the folder itself; files in it are removed with it.
func (l *Lab) Dir() string { return l.dir }

// Close ends the model and takes the folder away.
func (l *Lab) Close() error {
	endOthers("HOME=" + l.Home)
	if l.server != nil {
		_ = l.server.Close() // its answers are not needed any more
		l.served.Wait()
	}
	return os.RemoveAll(l.dir)
}

// Result is how one run of the client ended.
type Result struct {
	Ran    bool     // the command has run
	Asked  bool     // the model has asked for it: otherwise the trial proves no deny
	Read   []string // the call's result that the model was given
	Output string   // of the client, for people
	Took   time.Duration
}

// Env is the client's environment: no variables of this process, and proxies that
// refuse every host but loopback.
func (l *Lab) Env() []string {
	const refusing = "http://127.0.0.1:9"
	env := []string{
		"PATH=" + l.path, "HOME=" + l.Home, "USER=approvalbot", "TERM=dumb", "LANG=C.UTF-8", "CI=1", "NO_COLOR=1",
		"HTTP_PROXY=" + refusing, "HTTPS_PROXY=" + refusing, "ALL_PROXY=" + refusing,
		"http_proxy=" + refusing, "https_proxy=" + refusing, "all_proxy=" + refusing,
		"NO_PROXY=127.0.0.1,localhost,::1", "no_proxy=127.0.0.1,localhost,::1",
	}
	return append(env, fillAll(clients()[l.Runtime].env, l.url)...)
}

// Client is the client as Run starts it, not started yet.
func (l *Lab) Client(ctx context.Context) *exec.Cmd { return l.Cmd(ctx, clients()[l.Runtime].args...) }

// Run lets the client ask for the command once. Its error says that the client did not
// get so far.
func (l *Lab) Run(ctx context.Context) (Result, error) {
	return l.Try(ctx, func(ctx context.Context) (string, error) { return l.start(ctx, clients()[l.Runtime].args) })
}

// Try is Run for a client that use starts, and of which it gives the output.
func (l *Lab) Try(ctx context.Context, use func(context.Context) (string, error)) (Result, error) {
	c := clients()[l.Runtime]
	if c.setup != nil {
		if out, err := l.start(ctx, fillAll(c.setup, l.url)); err != nil {
			return Result{Output: out}, fmt.Errorf("%s %s: %w", c.program, c.setup[0], err)
		}
	}
	if err := l.reset(); err != nil {
		return Result{}, err
	}
	l.Model.forget()
	begun := time.Now()
	out, err := use(ctx)
	r := Result{Ran: l.ran(), Asked: l.Model.Calls() > 0, Read: l.Model.Read(), Output: out, Took: time.Since(begun)}
	if !r.Asked {
		return r, fmt.Errorf("%s never asked the model, so its hook was not tried (%v)", c.program, err)
	}
	return r, ctx.Err()
}

// reset puts the project back as it was.
func (l *Lab) reset() error {
	return errors.Join(
		os.RemoveAll(filepath.Join(l.Project, "build.old")),
		os.MkdirAll(filepath.Join(l.Project, "build"), 0o700),
	)
}

func (l *Lab) ran() bool {
	_, err := os.Stat(filepath.Join(l.Project, "build"))
	return errors.Is(err, os.ErrNotExist)
}

// number matches a version in a client's description of itself.
var number = lazy.Pattern(`\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]*[0-9A-Za-z])?`)

// Version is the client's version; empty if it does not tell.
func (l *Lab) Version(ctx context.Context) string {
	out, _ := l.start(ctx, []string{"--version"})
	lines := strings.Split(out, "\n")
	for _, line := range slices.Backward(lines) { // warnings come first
		if found := number.FindString(line); found != "" {
			return found
		}
	}
	return ""
}

// Find gives the runtime's program on that PATH; empty if it is not there, or not
// known.
func Find(runtime, path string) string { return find(clients()[runtime].program, path) }

// Version is the version of the runtime's program on that PATH, which runs in a home that is
// thrown away; empty if it is not there, or does not tell.
func Version(ctx context.Context, runtime, path string) string {
	dir, err := os.MkdirTemp("", "approvalbot-version-")
	if err != nil {
		return ""
	}
	l := &Lab{Runtime: runtime, Home: dir, Project: dir, dir: dir, program: Find(runtime, path), path: path}
	defer func() { _ = l.Close() }() // the folder is empty, or the client's own
	if l.program == "" {
		return ""
	}
	return l.Version(ctx)
}

// Cmd is the client's program with those arguments, in the project, not started yet. It
// leads a process group of its own, so that what it starts ends with it.
func (l *Lab) Cmd(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.program, args...)
	cmd.Dir, cmd.Env = l.Project, l.Env()
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// start runs the client to its end and gives what it printed.
func (l *Lab) start(ctx context.Context, args []string) (string, error) {
	cmd := l.Cmd(ctx, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	endGroup(cmd)
	endOthers("HOME=" + l.Home) // daemons that it left
	return out.String(), err
}
