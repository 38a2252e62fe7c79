//go:build linux

package confine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// places are where programs of the host are looked for, and not on a PATH that others set or a call has folders of.
var places = []string{"/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin"}

func program(name string) (string, error) {
	for _, dir := range places {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("%s is missing (looked for in %s); install the package git, or bubblewrap for bwrap", name, strings.Join(places, ", "))
}

// Check says in one sentence what this machine or this user lacks for a confined call.
func Check(ctx context.Context) error {
	if os.Geteuid() == 0 {
		return errors.New("root is never confined: /proc and the files of root would be its own; run it as an ordinary user")
	}
	if _, err := filter(); err != nil {
		return err
	}
	bwrap, err := program("bwrap")
	if err != nil {
		return err
	}
	said, err := exec.CommandContext(ctx, bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("bubblewrap cannot make user namespaces here (%s); on Ubuntu its AppArmor profile allows them (apt install apparmor-profiles), "+
			"in a container the outer runtime must", strings.TrimSpace(string(said)+" "+err.Error()))
	}
	return nil
}

// Possible reports whether it is worth a [Check]: it starts no program.
func Possible() bool {
	_, err := program("bwrap")
	return err == nil && os.Geteuid() != 0
}

// Run runs the command confined, and compares its workspaces after its last process has died. The error
// says why nothing ran, or what the command planted; see the statuses.
func Run(ctx context.Context, c Call) (status int, err error) {
	if os.Geteuid() == 0 {
		return NotConfined, Check(ctx)
	}
	// What this process inherited goes to no other one.
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return NotConfined, err
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	bwrap, err := program("bwrap")
	if err != nil {
		return NotConfined, err
	}
	rules, err := filter()
	if err != nil {
		return NotConfined, err
	}
	homes, err := c.check()
	if err != nil {
		return NotConfined, err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	var watches []*Watch
	var ends []error
	end := func() {
		for _, w := range watches {
			found, err := w.End()
			if err != nil {
				ends = append(ends, err)
			}
			if len(found.Names) > 0 {
				ends = append(ends, &Planted{w.Root, found})
			}
		}
	}
	for _, root := range c.Workspaces {
		w, err := Begin(ctx, c.State, root, c.Stderr)
		if err != nil {
			end()
			return NotConfined, err
		}
		watches = append(watches, w)
		w.Secrets = slices.DeleteFunc(w.Secrets, func(rel string) bool { return slices.Contains(c.Readable, filepath.Base(rel)) })
		if len(w.Left.Names) > 0 {
			fmt.Fprintln(c.Stderr, "approvalbot: a confined call before this one was killed; "+(&Planted{w.Root, w.Left}).Error())
		}
	}
	arguments, err := c.arguments(ctx, homes, watches)
	if err == nil {
		status, err = c.start(ctx, bwrap, arguments, rules, homes[0], watches)
	}
	if end(); err != nil {
		return NotConfined, errors.Join(append([]error{err}, ends...)...)
	}
	if len(ends) > 0 {
		return TakenAway, errors.Join(ends...)
	}
	return status, nil
}

// check makes the call's paths real ones, and gives the user's homes.
func (c *Call) check() (all []string, err error) {
	if all = homes(); len(all) == 0 {
		return nil, errors.New("the user has no home folder; HOME must name one")
	}
	paths := [][]string{c.Workspaces, c.Show, {c.Dir}}
	for _, list := range paths {
		for i, dir := range list {
			if list[i], err = filepath.EvalSymlinks(dir); err != nil {
				return nil, err
			}
			if list[i], err = filepath.Abs(list[i]); err != nil {
				return nil, err
			}
		}
	}
	c.Dir = paths[2][0]
	slices.Sort(c.Workspaces) // each call takes the locks in the same order
	c.Workspaces = slices.Compact(c.Workspaces)
	inside := false
	for _, dir := range c.Workspaces {
		if err := c.refused(dir, all); err != nil {
			return nil, err
		}
		for _, system := range append(programs, "/etc", "/proc", "/dev", "/sys") {
			if workspace.Under(dir, system) {
				return nil, fmt.Errorf("workspace %s lies in %s, which is shown read-only", dir, system)
			}
		}
		for _, other := range c.Workspaces {
			if other != dir && workspace.Under(dir, other) {
				return nil, fmt.Errorf("workspace %s lies in workspace %s; name the outer one alone", dir, other)
			}
		}
		inside = inside || workspace.Under(c.Dir, dir)
	}
	if !inside {
		c.Dir = c.Workspaces[0]
	}
	for _, dir := range c.Show {
		kernel := slices.ContainsFunc([]string{"/proc", "/dev", "/sys"}, func(of string) bool { return workspace.Under(dir, of) })
		if kernel || slices.ContainsFunc(all, func(home string) bool { return dir == "/" || workspace.Under(home, dir) }) {
			return nil, fmt.Errorf("--show %s would show a home folder, or what the kernel says of others; name a smaller one", dir)
		}
	}
	return all, nil
}

// refused says why a folder is no workspace: others obey what is in it, by where it is.
func (c *Call) refused(dir string, homes []string) error {
	for _, home := range homes {
		if dir == "/" || workspace.Under(home, dir) {
			return fmt.Errorf("workspace %s holds the home folder %s, all of which a confined command could change; name a smaller one", dir, home)
		}
		if strings.HasPrefix(dir, home+"/.") || workspace.Under(dir, home+"/bin") {
			return fmt.Errorf("workspace %s lies in a folder of the home that holds settings or programs; name another one", dir)
		}
	}
	for _, pair := range c.Env {
		for _, bin := range filepath.SplitList(strings.TrimPrefix(pair, "PATH=")) {
			if strings.HasPrefix(pair, "PATH=") && filepath.IsAbs(bin) && workspace.Under(dir, resolved(bin)) {
				return fmt.Errorf("workspace %s lies in %s, which is in PATH; name another one", dir, bin)
			}
		}
	}
	lower := workspace.FoldPath(dir) + "/"
	_, obeyed := workspace.Obeyed(strings.Trim(lower, "/"))
	if obeyed || workspace.AnyPart(lower, alsoObeyed.Has) || strings.Contains(lower, "/.git/") {
		return fmt.Errorf("workspace %s is or lies in a folder that other programs obey; name the folder above it", dir)
	}
	for above := filepath.Dir(dir); above != "/"; above = filepath.Dir(above) {
		if isRepository(func(name string) bool {
			_, err := os.Lstat(filepath.Join(above, strings.Replace(name, "head", "HEAD", 1)))
			return err == nil
		}) {
			return fmt.Errorf("workspace %s lies in the repository %s itself; name another one", dir, above)
		}
	}
	return nil
}

// excludes is the file by which git passes over what is hidden.
const excludes = "/run/approvalbot-hidden"

// start runs bwrap and waits until the last process in it has died.
func (c Call) start(ctx context.Context, program string, arguments []string, rules []byte, home string, watches []*Watch) (int, error) {
	var hidden bytes.Buffer
	files := []*os.File{}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for _, w := range watches {
		for _, rel := range w.Secrets {
			fmt.Fprintf(&hidden, "/%s\n", rel)
		}
	}
	for _, text := range [][]byte{rules, hidden.Bytes()} {
		f, err := inMemory(text)
		if err != nil {
			return 0, err
		}
		files = append(files, f)
	}
	report, reports, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer report.Close()
	blocked, unblock, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer unblock.Close()
	// Pid 1 holds the pipe's other end too: only the byte starts the command, and no wrapper's death.
	files = append(files, reports, blocked)
	arguments = append([]string{"--seccomp", "3", "--ro-bind-data", "4", excludes, "--json-status-fd", "5", "--block-fd", "6", "--sync-fd", "7"}, arguments...)
	cmd := exec.Command(program, append(append(arguments, "--"), c.Argv...)...)
	cmd.Env = c.environ(home, watches, excludes)
	cmd.Dir = "/"
	cmd.ExtraFiles = append(slices.Clone(files), unblock)
	cmd.Stdout, cmd.Stderr = output{ctx, c.Stdout}, output{ctx, c.Stderr} // pipes of our own, no descriptor of the caller's
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	limits()
	// A child that dies with its parent dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_ = reports.Close()
	// bwrap makes its namespaces while the lists go to disk, and starts the command after that.
	var first struct {
		Pid int `json:"child-pid"`
	}
	status := json.NewDecoder(report)
	if err := status.Decode(&first); err == nil {
		err = ctx.Err()
		for _, w := range watches {
			err = errors.Join(err, w.record(first.Pid), w.Sync())
		}
		if err != nil {
			end(first.Pid)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return 0, err
		}
	}
	if _, err := unblock.Write([]byte{1}); err != nil && !errors.Is(err, unix.EPIPE) { // bwrap says by itself why it ended
		return 0, err
	}
	go func() { // ends with the process, for a terminal gives no end
		_, _ = io.Copy(stdin, c.Stdin)
		_ = stdin.Close()
	}()
	stop := context.AfterFunc(ctx, func() { end(first.Pid); _ = cmd.Process.Kill() })
	defer stop()
	err = cmd.Wait()
	// bwrap ends when the command does. What that left in the background dies then, and only when pid 1 of
	// the namespace has been waited for is all of it dead.
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	said, _ := io.ReadAll(io.MultiReader(status.Buffered(), report))
	if ctx.Err() == nil && !bytes.Contains(said, []byte(`"exit-code"`)) {
		return 0, fmt.Errorf("bubblewrap did not start the command (%w); approvalbot doctor says what is missing", err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// output is written to while the context lasts and a second more: who does not read it does not keep a call from its end.
type output struct {
	ctx context.Context
	to  io.Writer
}

func (o output) Write(p []byte) (int, error) {
	type written struct {
		n   int
		err error
	}
	done := make(chan written, 1)
	go func() {
		n, err := o.to.Write(p)
		done <- written{n, err}
	}()
	select {
	case w := <-done:
		return w.n, w.err
	case <-o.ctx.Done():
	}
	select {
	case w := <-done:
		return w.n, w.err
	case <-time.After(time.Second):
		return 0, o.ctx.Err()
	}
}

// untilSignal ends with a signal that asks for an end. None of them, nor an output that is closed, ends the
// wrapper itself before it has compared.
func untilSignal(ctx context.Context) (context.Context, func()) {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) // not ignored, for the command would inherit that
	asks := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP}
	if signal.Ignored(unix.SIGHUP) { // nohup
		asks = asks[:3]
	}
	return signal.NotifyContext(ctx, asks...)
}

// limits are inherited: no more processes than a build needs, no memory images of what died.
func limits() {
	for resource, most := range map[int]uint64{unix.RLIMIT_NPROC: 4096, unix.RLIMIT_CORE: 0} {
		var l unix.Rlimit
		if unix.Getrlimit(resource, &l) == nil {
			l.Cur, l.Max = min(l.Cur, most), min(l.Max, most)
			_ = unix.Setrlimit(resource, &l)
		}
	}
}

// inMemory is a file that has no name, at its beginning.
func inMemory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("approvalbot", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "approvalbot")
	if _, err = f.Write(text); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return f, err
}
