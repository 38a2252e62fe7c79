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

// Check says in one sentence what this machine or this user lacks for a confined call in a folder: it mounts an overlay on
// it, in namespaces that end with it.
func Check(ctx context.Context, state, dir string) error {
	if os.Geteuid() == 0 {
		return errors.New("root is never confined: /proc and the files of root would be its own; run it as an " +
			"ordinary user")
	}
	if _, err := filter(); err != nil {
		return err
	}
	bwrap, err := program("bwrap")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0700); err != nil {
		return err
	}
	own, err := os.MkdirTemp(state, "check-")
	if err != nil {
		return err
	}
	w := &Watch{Root: dir, dir: own}
	defer func() {
		_ = w.drop()
		w.close()
		_ = os.RemoveAll(own)
	}()
	if w.root, err = openDir(dir); err != nil {
		return err
	}
	if err := w.prepare(); err != nil {
		return err
	}
	// A name that the workspace cannot have already, as a link that leads elsewhere.
	cmd := overlaid(bwrap, []*Watch{w}, nil, []string{"--unshare-all", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "--bind", dir, dir,
		"mkdir", dir + "/" + w.fresh})
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &said, &said, []string{"PATH=/usr/bin:/bin"}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err = cmd.Start(); err == nil {
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		defer stop()
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s (%s)", lacks(err, own), strings.TrimSpace(said.String()+" "+err.Error()))
	}
	if _, err := os.Lstat(own + "/call/upper/" + w.fresh); err != nil {
		return fmt.Errorf("an overlay on %s did not keep what was written in it (%w); if %s is not on ext4, xfs or "+
			"btrfs, set XDG_STATE_HOME to a folder that is", dir, err, state)
	}
	return nil
}

// lacks says what is missing for an overlay, as far as that can be asked.
func lacks(err error, state string) string {
	var name unix.Utsname
	var major, minor int
	_ = unix.Uname(&name)
	_, _ = fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	text, _ := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	switch {
	case major < 5 || major == 5 && minor < 11:
		return fmt.Sprintf("Linux %d.%d does not let users make overlays; 5.11 does", major, minor)
	case unix.Setxattr(state, "user.approvalbot", []byte("x"), 0) != nil:
		return "the file system of " + state + " has no user attributes, which an overlay needs; set XDG_STATE_HOME to a folder on ext4, xfs or btrfs"
	case strings.TrimSpace(string(text)) == "1":
		return "AppArmor gives approvalbot no user namespaces here (Ubuntu does so since 24.04), so nothing is confined; do not turn that off for all programs"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSPC):
		return "this machine gives an ordinary user no user namespaces; a container has to be allowed them by the outer runtime"
	}
	return "bubblewrap and an overlay do not start here"
}

// Possible reports whether it is worth a [Check]: it starts no program.
func Possible() bool {
	_, err := program("bwrap")
	return err == nil && os.Geteuid() != 0
}

// Run runs the command confined. After its last process has died, it copies back what the command did to its workspaces,
// or keeps nothing of it. It gives how many files were changed; the error says why nothing ran, or was kept.
func Run(ctx context.Context, c Call) (status, changed int, err error) {
	if os.Geteuid() == 0 {
		return NotConfined, 0, errors.New("root is never confined: /proc and the files of root would be its " +
			"own; run it as an ordinary user")
	}
	// What this process inherited goes to no other one.
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return NotConfined, 0, err
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	bwrap, err := program("bwrap")
	if err != nil {
		return NotConfined, 0, err
	}
	rules, err := filter()
	if err != nil {
		return NotConfined, 0, err
	}
	homes, err := c.check()
	if err != nil {
		return NotConfined, 0, err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	var watches []*Watch
	defer func() {
		for _, w := range watches {
			w.close()
		}
	}()
	for _, root := range c.Workspaces {
		var w *Watch
		if w, err = Begin(ctx, c.State, root, c.Stderr); err != nil {
			break
		}
		watches = append(watches, w)
		if w.Left != "" {
			fmt.Fprintf(c.Stderr, "approvalbot: a confined call before this one was killed in %s; %s\n", w.Root, w.Left)
		}
	}
	if err == nil {
		status, err = c.start(ctx, bwrap, rules, homes[0], watches, func(copied map[string]int) ([]string, error) {
			var lists []*list
			for _, w := range watches {
				if err := w.list(ctx); err != nil {
					return nil, err
				}
				lists = append(lists, w.before)
				w.guard.envs = w.before.envs
				w.onPath(c)
			}
			obeyed, err := look(watches, lists)
			if err != nil {
				return nil, err
			}
			for _, w := range watches {
				w.protect(obeyed)
				w.Secrets = slices.DeleteFunc(w.Secrets, func(rel string) bool { return slices.Contains(c.Readable, filepath.Base(rel)) })
			}
			return c.arguments(ctx, homes, watches, copied)
		})
	}
	if err != nil {
		for _, w := range watches {
			err = errors.Join(err, w.drop())
		}
		return NotConfined, 0, err
	}
	if changed, err = conclude(watches, c.MayRemove); err != nil {
		return NothingKept, 0, err
	}
	return status, changed, nil
}

// conclude judges what a call did, and copies it back or moves it into the quarantine.
func conclude(watches []*Watch, mayRemove bool) (changed int, err error) {
	var stopped error
	lost := withheld(watches)
	all, plans, refused := make([]Refused, len(watches)), make([]plan, len(watches)), false
	for i, w := range watches {
		r := &all[i]
		r.Root, r.Why = w.Root, w.upper(func(upper int) error {
			if lost != nil { // what was read may be in what was written, also in names
				return lost
			}
			j, err := w.judge(upper)
			if err != nil {
				return err
			}
			if r.Names, r.Meanwhile = sorted(j.protected), sorted(j.meanwhile); !mayRemove {
				r.Lost = w.lost(upper, j.plan)
			}
			if r.any() {
				refused = true
				return nil
			}
			changed, plans[i] = changed+j.changed, j.plan
			if w.something(upper) == nil {
				return nil
			}
			return w.mark() // of all before the first copy
		})
		refused = refused || r.Why != nil
	}
	var ends []error
	ours := taken{}
	for i, w := range watches {
		if !refused {
			err := w.upper(func(upper int) error { return w.keep(upper, plans[i], ours) })
			ends = append(ends, err)
			if refused = err != nil; refused {
				stopped = fmt.Errorf("copying the call's work back to %s stopped half-way, so this workspace was not changed", w.Root)
			}
			continue
		}
		if all[i].Why == nil && !all[i].any() {
			all[i].Why = stopped
		}
		var failed error
		if lost != nil { // times and names of what it did could tell the secret, too
			failed = w.drop()
		} else {
			all[i].Quarantine, failed = w.quarantine()
		}
		ends = append(ends, &all[i], failed)
	}
	return changed, errors.Join(ends...)
}

// withheld says why the call may have read a secret, if it may. Else its private caches are settled.
func withheld(watches []*Watch) (lost error) {
	for _, w := range watches {
		if err := w.looks.last(); lost == nil {
			lost = err
		}
	}
	if lost == nil {
		return os.Remove(filepath.Join(filepath.Dir(cacheOf(watches)), unsettled))
	}
	return fmt.Errorf("%w; what it printed after that was withheld, and its private caches are emptied", lost)
}

// check makes the call's paths real ones, and gives the user's homes.
func (c *Call) check() (all []string, err error) {
	if all = homes(); len(all) == 0 {
		return nil, errors.New("the user has no home folder; set HOME to one")
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
				return nil, fmt.Errorf("workspace %s lies in workspace %s; name only the outer one", dir, other)
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
			return nil, fmt.Errorf("--show %s would show a home folder, or the kernel's data about other "+
				"processes; name a smaller folder", dir)
		}
	}
	return all, nil
}

// refused says why a folder is no workspace: others obey what is in it, by where it is.
func (c *Call) refused(dir string, homes []string) error {
	for _, home := range homes {
		if dir == "/" || workspace.Under(home, dir) {
			return fmt.Errorf("workspace %s contains the home folder %s, so a confined command could change all "+
				"of it; name a smaller workspace", dir, home)
		}
		if strings.HasPrefix(dir, home+"/.") || workspace.Under(dir, home+"/bin") {
			return fmt.Errorf("workspace %s lies in a folder of the home that has settings or programs; name "+
				"another workspace", dir)
		}
	}
	if workspace.Odd(dir) {
		return fmt.Errorf("the path of workspace %q may be taken for something else, so a file tool asks about every file in it; rename the folder", dir)
	}
	if self, err := os.Executable(); err != nil || workspace.Under(self, dir) {
		return fmt.Errorf("workspace %s contains the program %s itself, which a confined command could replace; install it elsewhere", dir, self)
	}
	for _, pair := range c.Env {
		list, isPath := strings.CutPrefix(pair, "PATH=")
		if !isPath {
			continue
		}
		for _, bin := range filepath.SplitList(list) {
			if real, err := filepath.EvalSymlinks(bin); err == nil && filepath.IsAbs(bin) && workspace.Under(dir, real) {
				return fmt.Errorf("workspace %s lies in %s, which is in PATH; name another one", dir, bin)
			}
		}
	}
	lower := workspace.FoldPath(dir) + "/"
	_, obeyed := workspace.Obeyed(strings.Trim(lower, "/"))
	if obeyed || workspace.AnyPart(lower, alsoObeyed.Has) || strings.Contains(lower, "/.git/") {
		return fmt.Errorf("workspace %s is, or is inside, a folder that other programs take settings or code from; "+
			"name the folder above it", dir)
	}
	for above := filepath.Dir(dir); above != "/"; above = filepath.Dir(above) {
		if isRepository(func(name string) bool { _, err := os.Lstat(filepath.Join(above, name)); return err == nil }) {
			return fmt.Errorf("workspace %s lies in the repository %s itself; name another one", dir, above)
		}
	}
	return nil
}

// start runs bwrap and waits until the last process in it has died. While the overlays are mounted, prepare finds what else
// bwrap is told: it reads that at last, and starts the command after that.
func (c Call) start(ctx context.Context, program string, rules []byte, home string, watches []*Watch, prepare func(copied map[string]int) ([]string, error)) (int, error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	f, err := inMemory(rules)
	if err != nil {
		return 0, err
	}
	files = append(files, f)
	var pipes [3][2]*os.File // bwrap's report, what keeps it from starting the command, its arguments
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			return 0, err
		}
		files = append(files, pipes[i][:]...)
	}
	report, unblock, arguments := pipes[0][0], pipes[1][1], pipes[2][1]
	// Pid 1 holds the pipe's other end too: only the byte starts the command, and no wrapper's death.
	passed := []*os.File{files[0], pipes[0][1], pipes[1][0], unblock, pipes[2][0]}
	words := append([]string{"--seccomp", "3", "--json-status-fd", "4", "--block-fd", "5", "--sync-fd", "6", "--args", "7", "--"},
		c.Argv...)
	cmd := overlaid(program, watches, passed, words)
	cmd.Env = c.environ(home)
	copied := map[string]int{}
	for _, name := range settings.List() {
		if f := toCopy("/etc/" + name); f != nil {
			copied[name] = 3 + len(cmd.ExtraFiles)
			files, cmd.ExtraFiles = append(files, f), append(cmd.ExtraFiles, f)
		}
	}
	// Pipes of our own, no descriptor of the caller's.
	cmd.Stdout, cmd.Stderr = output{ctx, watches, c.Stdout}, output{ctx, watches, c.Stderr}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	// A child that dies with its parent dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, _ = pipes[0][1].Close(), pipes[2][0].Close()
	var first struct{} // bwrap says that it has made its namespaces
	status := json.NewDecoder(report)
	told, err := prepare(copied)
	if err == nil {
		_, err = io.WriteString(arguments, strings.Join(told, "\x00")+"\x00")
		err = errors.Join(err, arguments.Close())
	}
	if err == nil && status.Decode(&first) == nil {
		err = ctx.Err()
		for _, w := range watches {
			err = errors.Join(err, w.record(cmd.Process.Pid), w.looks.look())
		}
	}
	if err == nil {
		_, err = unblock.Write([]byte{1})
	}
	if err != nil && !errors.Is(err, unix.EPIPE) { // bwrap says by itself why it ended
		end(cmd.Process.Pid)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 0, err
	}
	go func() { // ends with the process, for a terminal gives no end
		_, _ = io.Copy(stdin, c.Stdin)
		_ = stdin.Close()
	}()
	lasts, lost := context.WithCancel(ctx)
	defer lost()
	defer context.AfterFunc(lasts, func() { end(cmd.Process.Pid); _ = cmd.Process.Kill() })()
	for _, w := range watches {
		go w.looks.until(lost) // ends when the watch is closed
	}
	// bwrap is pid 1 of a namespace, and ends when the command does. The kernel lets it end only when all else in the
	// namespace is dead, also what the command left in the background (pid_namespaces(7)).
	err = cmd.Wait()
	said, _ := io.ReadAll(io.MultiReader(status.Buffered(), report))
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() { // the command ran, perhaps
		return 128 + int(ws.Signal()), nil
	}
	if ctx.Err() == nil && !bytes.Contains(said, []byte(`"exit-code"`)) {
		return 0, fmt.Errorf("bubblewrap did not start the command (%w): its own message is above. If that does not say what is wrong, "+
			"run approvalbot doctor, which says what this machine lacks", err)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, unix.EPIPE) { // it succeeded, for it wrote to our pipe
		fmt.Fprintf(c.Stderr, "approvalbot: the command's output could not be written: %v\n", err)
		return 1, nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// output is written to while the context lasts and a second more: who does not read it does not keep a call from its end.
// Once a secret may have been read, it is no more.
type output struct {
	ctx     context.Context
	watches []*Watch
	to      io.Writer
}

func (o output) Write(p []byte) (int, error) {
	for _, w := range o.watches {
		if err := w.looks.look(); err != nil {
			return 0, err
		}
	}
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
// wrapper itself before it has judged what the call did, nor does a terminal stop it that it may not read in the background.
func untilSignal(ctx context.Context) (context.Context, func()) {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) // not ignored, for the command would inherit that
	signal.Ignore(unix.SIGTTIN, unix.SIGTTOU)            // the command has no terminal, so it may inherit these
	asks := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP}
	if signal.Ignored(unix.SIGHUP) { // nohup
		asks = asks[:3]
	}
	return signal.NotifyContext(ctx, asks...)
}

// limits are set for the command alone, as the wrapper must go on: no more processes and descriptors than a build needs (the
// kernel takes long to close very many of files that have many locks), no memory images of what died. Of those one byte is the
// limit: with none the kernel starts a program of the host's that takes them, and one that listens at a socket gets them with any
// limit (core(5), core_pattern). So what they hold is limited too, which the command's /proc does not let it change.
func limits() {
	_ = os.WriteFile("/proc/self/coredump_filter", []byte("0"), 0) // a kernel without it makes none
	for resource, most := range map[int]uint64{unix.RLIMIT_NPROC: 4096, unix.RLIMIT_NOFILE: 4096, unix.RLIMIT_CORE: 1} {
		var l unix.Rlimit
		if unix.Getrlimit(resource, &l) == nil {
			l.Cur, l.Max = min(l.Cur, most), min(l.Max, most)
			if resource == unix.RLIMIT_CORE {
				l.Cur = l.Max
			}
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
