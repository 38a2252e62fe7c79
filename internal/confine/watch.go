//go:build linux

package confine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// Watch is one workspace while a confined call runs in it.
type Watch struct {
	Root    string
	Left    string   // what became of a call before this one, which was killed
	Secrets []string // files of the workspace that the mounts hide
	dir     string   // what is kept of this workspace
	root    *os.File
	call    *os.File // the folder with the upper directory of the overlay
	lock    *os.File // held from the beginning of a call to its end, as root is for those with another state
	guard   guard
	before  *list
	began   int64
	looks   *lookout
	fresh   string // what a file is called while it is copied from another file system
}

// Begin waits until no other call runs in the workspace, finishes a call that was killed, and makes the folder of the
// overlay. The caller lists the workspace before the command starts, ends with one of keep, quarantine and drop, and then close.
func Begin(ctx context.Context, state, root string, says io.Writer) (began *Watch, err error) {
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(state, 0700); err != nil {
		return nil, err
	}
	if state, err = filepath.EvalSymlinks(state); err != nil {
		return nil, err
	}
	w := &Watch{Root: root, dir: stateOf(state, root), guard: guard{root: root}}
	if workspace.Under(state, root) || workspace.Under(root, state) {
		return nil, fmt.Errorf("workspace %s contains the folder with the state of confined calls (%s), or lies "+
			"in it; name another workspace", root, state)
	}
	if err := hidden(w.dir, w.path("quarantine")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.root, err = openDir(root); err != nil {
		return nil, err
	}
	if w.looks, err = newLookout(w); err != nil {
		return nil, err
	}
	if w.lock, err = os.OpenFile(w.path("lock"), os.O_CREATE|os.O_RDWR, 0600); err != nil {
		return nil, err
	}
	if err := w.hold(ctx, w.lock, says); err != nil {
		return nil, err
	}
	if err := w.survivors(); err != nil {
		return nil, err
	}
	if err := w.hold(ctx, w.root, says); err != nil { // a survivor could have held this one
		return nil, err
	}
	if err := w.apart(state); err != nil {
		return nil, err
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	return w, w.prepare()
}

// hold waits for a lock as long as the context lasts, and says so after a second.
func (w *Watch) hold(ctx context.Context, f *os.File, says io.Writer) error {
	return waitFor(ctx, says, "another confined call in "+w.Root+" has ended", func() error { return flock(f, unix.LOCK_EX|unix.LOCK_NB) })
}

// waitFor tries until it is not refused with EWOULDBLOCK, as long as the context lasts. It says after a second until what it waits.
func waitFor(ctx context.Context, says io.Writer, until string, try func() error) error {
	began, said := time.Now(), false
	for {
		if err := try(); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		if !said && time.Since(began) > time.Second {
			said = true
			fmt.Fprintf(says, "approvalbot: waiting until %s\n", until)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("this call was ended while it waited until %s: %w", until, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hidden makes a folder in a workspace's state, which is closed to be listed: no program of the host that walks the home
// finds a repository in it, also while a call runs, whose settings it would obey.
func hidden(state, dir string) error {
	return errors.Join(os.MkdirAll(dir, 0700), os.Chmod(state, 0300))
}

// stateOf is the folder in which the state of a workspace is kept.
func stateOf(state, root string) string {
	key := sha256.Sum256([]byte(root))
	return filepath.Join(state, hex.EncodeToString(key[:8]))
}

// finish drops what a call did whose wrapper was killed before it was judged. If it was being copied back, the rest goes to
// the quarantine: the workspace may be another one since.
func (w *Watch) finish() (err error) {
	if _, err := os.Lstat(w.path("call/upper")); err != nil {
		return w.drop()
	}
	if _, err := os.Lstat(w.path("call/keep")); err != nil {
		w.Left = "what it did was dropped"
		return w.drop()
	}
	text, _ := os.ReadFile(w.path("call/keep"))
	if name := string(text); strings.HasPrefix(name, ".approvalbot-") && !strings.Contains(name, "/") {
		_ = unix.Unlinkat(int(w.root.Fd()), name, 0) // of a file that was being copied
	}
	rest, err := w.quarantine()
	w.Left = "what it did was copied back in part, and the rest is in " + rest
	return err
}

// upper opens the upper directory of the overlay for a function.
func (w *Watch) upper(do func(upper int) error) error {
	fd, put, err := openAnyway(int(w.call.Fd()), "upper", unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	put()
	return do(fd)
}

// prepare makes the folder of the overlay. The upper directory has the mode of the workspace, which is seen through it.
func (w *Watch) prepare() error {
	var st unix.Stat_t
	if err := unix.Fstat(int(w.root.Fd()), &st); err != nil {
		return err
	}
	for _, name := range []string{"call", "call/upper", "call/work"} {
		if err := os.Mkdir(w.path(name), 0700); err != nil {
			return err
		}
	}
	w.fresh = ".approvalbot-" + rand.Text()
	if err := os.WriteFile(w.path("call/marker"), []byte(w.fresh), 0600); err != nil {
		return err
	}
	upper, times := w.path("call/upper"), []unix.Timespec{st.Atim, st.Mtim}
	err := errors.Join(unix.Chmod(upper, st.Mode&01777), unix.UtimesNanoAt(unix.AT_FDCWD, upper, times, 0))
	if err != nil {
		return err
	}
	w.call, err = openDir(w.path("call"))
	return err
}

// list finds what is protected and what is secret in the workspace.
func (w *Watch) list(ctx context.Context) (err error) {
	known, program := leaves{}, leaf{}
	var st unix.Stat_t
	if unix.Stat("/proc/self/exe", &st) == nil { // another version may know more secrets
		program = leafOf(st)
	}
	if text, err := os.ReadFile(w.path("leaves")); err == nil && jsonv2.Unmarshal(text, &known) != nil || known["/"] != program {
		known = leaves{}
	}
	if w.before, err = w.guard.walk(int(w.root.Fd()), known, w.looks); err != nil {
		return err
	}
	w.looks.listed(w.before.secrets)
	w.before.leaves["/"] = program
	if !maps.Equal(known, w.before.leaves) {
		if text, err := jsonv2.Marshal(w.before.leaves); err == nil {
			_ = os.WriteFile(w.path("leaves"), text, 0600) // no loss if it is lost
		}
	}
	return nil
}

// protect takes what the host obeys of the workspace.
func (w *Watch) protect(o *outside) {
	w.guard.repos, w.guard.named = o.below(o.dirs, w.Root), map[string]bool{}
	for rel := range o.below(o.named, w.Root) {
		w.guard.named[workspace.FoldPath(rel)] = true
	}
	w.Secrets = w.before.secrets
}

// onPath protects the folders of the workspace in which the caller's PATH looks for programs, but for build output.
func (w *Watch) onPath(c Call) {
	for _, pair := range c.Env {
		list, is := strings.CutPrefix(pair, "PATH=")
		if !is {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if dir == "" || dir == "." {
				continue // any folder
			}
			dir, _, _ = trail(workspace.PathEntry(dir, c.Dir, os.Getenv("HOME"), os.Getenv("USER")))
			if rel, inside := strings.CutPrefix(dir, w.Root+"/"); inside && (!workspace.Made(rel+"/x") || workspace.Installed(rel+"/x")) {
				w.guard.envs[rel] = true
			}
		}
	}
}

// apart refuses a workspace that lies in or above one in which a call runs or is unfinished.
func (w *Watch) apart(state string) error {
	if text, _ := os.ReadFile(w.path("root")); string(text) != w.Root {
		fresh := w.path("fresh")
		if err := errors.Join(os.WriteFile(fresh, []byte(w.Root), 0600), os.Rename(fresh, w.path("root"))); err != nil {
			return err
		}
	}
	all, err := os.ReadDir(state)
	for _, e := range all {
		dir := filepath.Join(state, e.Name())
		text, readErr := os.ReadFile(filepath.Join(dir, "root"))
		if readErr != nil { // of no workspace
			continue
		}
		root := string(text)
		if _, err := os.Lstat(root); err != nil { // it is gone, with what a call did in it
			continue
		}
		if root == w.Root || !workspace.Under(root, w.Root) && !workspace.Under(w.Root, root) {
			continue
		}
		lock, lockErr := os.Open(filepath.Join(dir, "lock"))
		if lockErr == nil {
			lockErr = flock(lock, unix.LOCK_SH|unix.LOCK_NB)
			_ = lock.Close()
		}
		if _, callErr := os.Lstat(filepath.Join(dir, "call")); callErr == nil || lockErr != nil {
			return fmt.Errorf("a confined call runs in %s, or was killed there. Wait until it ends; if it was "+
				"killed, run a confined call there first, which cleans up. Then run one in %s", root, w.Root)
		}
	}
	return err
}

// process tells one process from all others that have or had its number; empty when all of it is dead. Of pid
// 1 of a namespace that is when no process of the namespace is left.
func process(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	_, rest, _ := strings.Cut(string(stat), ") ")
	if f := strings.Fields(rest); len(f) > 19 && f[0] != "Z" && f[0] != "X" {
		return fmt.Sprintf("%d %s %s", pid, f[19], boot)
	}
	return ""
}

// end ends a process and, if it is pid 1 of a namespace, all of that.
func end(pid int) {
	if pid > 1 && process(pid) != "" {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// record says what process all of this call die with, so that the next call can end what outlives its wrapper, and when
// the command begins, by the clock by which file systems tell changes.
func (w *Watch) record(pid int) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
		return err
	}
	w.began = now.Nano()
	return os.WriteFile(w.path("call/process"), []byte(process(pid)), 0600)
}

// survivors ends what a call left whose wrapper was killed, and returns when it is dead.
func (w *Watch) survivors() error {
	text, _ := os.ReadFile(w.path("call/process"))
	var pid int
	_, _ = fmt.Sscan(string(text), &pid)
	for tries := 0; pid > 1 && process(pid) == string(text); tries++ {
		if tries > 2000 {
			return fmt.Errorf("process %d of a confined call that was killed does not end", pid)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func (w *Watch) path(name string) string { return filepath.Join(w.dir, name) }

func (w *Watch) close() {
	if w.looks != nil {
		w.looks.close()
	}
	for _, f := range []*os.File{w.call, w.root, w.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func openDir(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
