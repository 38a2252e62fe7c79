//go:build linux

package confine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// Watch is one workspace while a confined call runs in it.
type Watch struct {
	Root    string
	Left    Found  // what a call before this one planted, which was killed before it was compared
	dir     string // what is kept of this workspace
	root    *os.File
	lock    *os.File // held from the beginning of a call to its end, as root is for those with another state
	guard   guard
	fresh   bool // some file was kept that no call before kept
	before  *list
	Secrets []string // files of the workspace that the mounts hide
}

// ErrMarked says that a workspace could not be put right, so nothing runs confined in it.
var ErrMarked = errors.New("marked")

// Begin waits until no other call runs in the workspace, and lists it. The caller runs its command only after
// [Watch.Sync] without an error, and calls [Watch.End] after the last process of it has died.
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
		return nil, fmt.Errorf("workspace %s holds or lies in what is kept of confined calls (%s); name another one", root, state)
	}
	if err := os.MkdirAll(filepath.Join(w.dir, "kept"), 0700); err != nil {
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
	if w.lock, err = os.OpenFile(w.path("lock"), os.O_CREATE|os.O_RDWR, 0600); err != nil {
		return nil, err
	}
	if err := w.hold(ctx, w.lock, says); err != nil {
		return nil, err
	}
	if why, err := os.ReadFile(w.path("mark")); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("workspace %s is %w since a confined call left what could not be put right (%s); look at it, then remove %s",
			root, ErrMarked, bytes.TrimSpace(why), w.path("mark"))
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
	old, err := w.load()
	if _, openErr := os.Lstat(w.path("open")); openErr == nil {
		if err != nil {
			return nil, w.mark(fmt.Errorf("the list of the call before is lost: %w", err))
		}
		w.before = old
		if w.Left, err = w.finish(); err != nil {
			return nil, w.mark(err)
		}
	}
	if err := w.list(ctx, old); err != nil {
		return nil, err
	}
	return w, nil
}

// hold waits for a lock as long as the context lasts, and says so after a second.
func (w *Watch) hold(ctx context.Context, f *os.File, says io.Writer) error {
	began, said := time.Now(), false
	for {
		if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		if !said && time.Since(began) > time.Second {
			said = true
			fmt.Fprintf(says, "approvalbot: waiting until another confined call in %s has ended\n", w.Root)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another confined call runs in %s, and this one was ended while it waited: %w", w.Root, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stateOf is the folder in which the state of a workspace is kept.
func stateOf(state, root string) string {
	key := sha256.Sum256([]byte(root))
	return filepath.Join(state, hex.EncodeToString(key[:8]))
}

// End compares the workspace with its list, and puts right what differs. With an error nothing more
// runs confined in the workspace until somebody has looked at it.
func (w *Watch) End() (Found, error) {
	defer w.close()
	var found Found
	err := w.survivors()
	if err == nil {
		found, err = w.finish()
	}
	if err != nil {
		return found, w.mark(err)
	}
	return found, remove(w.path("open"))
}

// list takes the list before a call, and keeps a copy of each protected file. What the last list knew
// and did not change is not read again.
func (w *Watch) list(ctx context.Context, old *list) error {
	walker := walker{guard: &w.guard, sums: w.keep, masks: true}
	w.guard = guard{root: w.Root}
	if old != nil {
		walker.known, walker.prev = old.Names, old
		old.folders = w.folders()
		w.guard.name(old.Named)
	}
	root := int(w.root.Fd())
	now, err := walker.walk(root)
	if err != nil {
		return err
	}
	files, err := w.settings(ctx, now)
	if err != nil {
		return err
	}
	// What settings name stays named until some protected file is another one: whatever else changed, a call did.
	var stays map[string]bool
	if old != nil && maps.EqualFunc(old.Names, now.Names, entry.same) {
		stays = old.Named
	}
	for rounds := 0; ; rounds++ {
		leads := w.leads(now, files)
		for rel, obeyed := range stays {
			leads[rel] = leads[rel] || obeyed
		}
		if maps.Equal(leads, now.Named) {
			break
		}
		if rounds > 20 {
			return fmt.Errorf("the links of workspace %s lead from one to the next without end; remove links, or name a smaller workspace", w.Root)
		}
		w.guard.name(leads) // these are protected too
		stays, walker.known, walker.prev = leads, now.Names, nil
		if now, err = walker.walk(root); err != nil {
			return err
		}
	}
	if _ = now.astray(&w.guard); w.guard.steps > mostSteps/4 {
		return fmt.Errorf("the links of workspace %s lead through too many folders to be followed; remove links, or name a smaller workspace", w.Root)
	}
	for rel, e := range now.Names {
		if e.Link == "too deep" {
			return fmt.Errorf("workspace %s has folders more than %d deep (%.80q), so it cannot be listed", w.Root, deepest, rel)
		}
	}
	w.before, w.guard.repos, w.Secrets = now, now.Repos, w.guard.hides(now)
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(ordered(now)); err != nil {
		return err
	}
	if was, err := os.ReadFile(w.path("before")); err != nil || !bytes.Equal(was, b.Bytes()) {
		w.forget(now)
		if w.fresh {
			if err := syncDir(w.path("kept")); err != nil {
				return err
			}
		}
		if err := w.whole("before", b.Bytes()); err != nil {
			return err
		}
	}
	w.cache(old, now)
	if _, err := os.Lstat(w.path("unmarked")); err != nil {
		if err := w.whole("unmarked", paper("a confined call left what could not be put right, and there was no space to say what")); err != nil {
			return err
		}
	}
	return w.whole("open", nil)
}

// paper is the content of a mark, of a size that does not grow when it says something else.
func paper(text string) []byte {
	return append([]byte(text), bytes.Repeat([]byte("\n"), 4096)...)[:4096]
}

// apart refuses a workspace that lies in or above one in which a call runs or is unfinished: the two would
// put back what the other one lists.
func (w *Watch) apart(state string) error {
	if text, _ := os.ReadFile(w.path("root")); string(text) != w.Root {
		if err := w.whole("root", []byte(w.Root)); err != nil {
			return err
		}
	}
	all, err := filepath.Glob(filepath.Join(state, "*", "root"))
	for _, file := range all {
		text, _ := os.ReadFile(file)
		root, dir := string(text), filepath.Dir(file)
		if root == w.Root || !workspace.Under(root, w.Root) && !workspace.Under(w.Root, root) {
			continue
		}
		lock, lockErr := os.Open(filepath.Join(dir, "lock"))
		if lockErr == nil {
			lockErr = flock(lock, unix.LOCK_SH|unix.LOCK_NB)
			_ = lock.Close()
		}
		if _, openErr := os.Lstat(filepath.Join(dir, "open")); openErr == nil || lockErr != nil {
			return fmt.Errorf("a confined call runs in %s, or one there was killed; wait for it, or run one there to finish it, before one in %s", root, w.Root)
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

// record says what process all of this call die with, so that the next call can end what outlives its wrapper.
func (w *Watch) record(pid int) error {
	return os.WriteFile(w.path("open"), []byte(process(pid)), 0600)
}

// survivors ends what a call left whose wrapper was killed, and returns when it is dead.
func (w *Watch) survivors() error {
	text, _ := os.ReadFile(w.path("open"))
	var pid int
	_, _ = fmt.Sscan(string(text), &pid)
	for tries := 0; pid > 1 && process(pid) == string(text); tries++ {
		if tries > 2000 {
			return fmt.Errorf("process %d of a confined call that was killed does not end", pid)
		}
		_ = unix.Kill(pid, unix.SIGKILL)
		time.Sleep(5 * time.Millisecond)
	}
	all, err := filepath.Glob(w.path("fresh-*"))
	for _, file := range all {
		_ = os.Remove(file)
	}
	return err
}

// Sync returns when the list is on disk. Nothing of the call runs before.
func (w *Watch) Sync() error { return syncDir(w.dir) }

// cache writes what directories had in them, so that the next call reads only those that changed. It is
// no loss if it is lost.
func (w *Watch) cache(old, now *list) {
	if old != nil && maps.EqualFunc(old.folders, now.folders, func(a, b *folder) bool { return a == b }) {
		return
	}
	var b bytes.Buffer
	if gob.NewEncoder(&b).Encode(now.folders) == nil {
		_ = os.WriteFile(w.path("folders"), b.Bytes(), 0600)
	}
}

func (w *Watch) folders() (out map[string]*folder) {
	text, err := os.ReadFile(w.path("folders"))
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(text)).Decode(&out)
	}
	if err != nil {
		return nil
	}
	return out
}

// finish compares until a pass finds nothing, and no directory changed since the walk before it: what a
// process of the host moves meanwhile could be missed by a single look.
func (w *Watch) finish() (Found, error) {
	w.guard.repos = w.before.Repos
	w.guard.name(w.before.Named)
	m := &mender{root: int(w.root.Fd()), before: w.before, kept: w.path("kept"), to: -1,
		quarantine: filepath.Join(w.path("quarantine"), time.Now().UTC().Format("20060102T150405.000000000Z"))}
	defer func() {
		if m.to >= 0 {
			_ = unix.Close(m.to)
		}
	}()
	names, failed := map[string]bool{}, map[string]error{}
	prev := w.before
	for pass := range 30 {
		if pass > 1 {
			time.Sleep(min(time.Millisecond<<pass, 100*time.Millisecond))
		}
		walker := walker{guard: &w.guard, prev: prev, known: prev.Names, expect: w.before.Names, sums: sum}
		if pass == 0 {
			walker.again = 500 // small files are cheap to read, and times are told by a file system that we do not know
		}
		now, err := walker.walk(m.root)
		if err != nil {
			return w.found(m, names), err
		}
		changes := w.guard.compare(w.before, now)
		if w.guard.steps > mostSteps {
			return w.found(m, names), errors.New("the links of the workspace lead through too many folders to be followed")
		}
		changes = slices.DeleteFunc(changes, func(c change) bool { return failed[c.rel] != nil })
		for _, c := range changes {
			names[c.rel] = true
			if err := m.undo(c); err != nil {
				failed[c.rel] = err // the others are undone all the same
			}
		}
		if len(changes) == 0 && !now.vanish && quiet(prev, now) {
			if len(names) > 0 {
				err = unix.Syncfs(m.root)
			}
			return w.found(m, names), errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
		}
		prev = now
	}
	return w.found(m, names), errors.New("the workspace does not come to rest: some program changes its folders again and again")
}

func (w *Watch) found(m *mender, names map[string]bool) Found {
	f := Found{Names: sorted(names)}
	if m.to >= 0 {
		f.Quarantine = m.quarantine
	}
	return f
}

// quiet reports whether no directory changed between two walks, so that nothing was moved from where the
// second one had not been yet to where it had been. Within a tick two changes may have one time.
func quiet(prev, now *list) bool {
	const tick = 10 * time.Millisecond
	for rel, f := range now.folders {
		old := prev.folders[rel]
		if old != nil && old.closed && f.closed && old.Ino == f.Ino && old.Dev == f.Dev {
			continue
		}
		if old == nil || old.Inode != f.Inode || prev.at-f.Ctime < int64(tick) {
			return false
		}
	}
	return len(prev.folders) == len(now.folders)
}

// mark keeps further calls from beginning.
func (w *Watch) mark(why error) error {
	err := os.ErrNotExist
	if file, openErr := os.OpenFile(w.path("unmarked"), os.O_WRONLY, 0); openErr == nil { // made before the call: it needs no space
		_, _ = file.Write(paper(why.Error()))
		_ = file.Close()
		err = errors.Join(os.Rename(w.path("unmarked"), w.path("mark")), syncDir(w.dir))
	}
	if err != nil {
		err = errors.Join(w.whole("mark", paper(why.Error())), syncDir(w.dir))
	}
	return errors.Join(fmt.Errorf("workspace %s: %w; no further call runs confined there until somebody has looked at it and removed %s",
		w.Root, why, w.path("mark")), err)
}

// keep copies a file into the folder of contents, and gives its hash.
func (w *Watch) keep(fd int) (string, error) {
	fresh, err := os.CreateTemp(w.dir, "fresh-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(fresh.Name())
	defer fresh.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(h, fresh), reader(fd)); err != nil {
		return "", err
	}
	hash := string(h.Sum(nil))
	name := w.path(filepath.Join("kept", hex.EncodeToString([]byte(hash))))
	if _, err := os.Lstat(name); err == nil {
		return hash, nil
	}
	w.fresh = true
	return hash, errors.Join(fresh.Sync(), os.Rename(fresh.Name(), name))
}

// leads gives what else is protected: what settings of repositories name, and where protected links lead. What
// a link goes through is false, for nothing but the link counts there.
func (w *Watch) leads(now *list, files []string) map[string]bool {
	w.guard.steps = 0
	named, own := map[string]bool{}, guard{root: w.Root, repos: now.Repos, named: map[string]bool{}}
	for rel, obeyed := range w.guard.named {
		if obeyed {
			own.named[rel] = true
		}
	}
	lead := func(rel string) {
		end, through := w.guard.leadsTo(now.Links, rel)
		for _, link := range through {
			if _, is := named[link]; !is {
				named[link] = false
			}
		}
		if end != "" {
			named[end] = true
		}
	}
	for _, file := range files {
		named[workspace.FoldPath(file)] = true
		lead(file)
	}
	for rel, e := range now.Names {
		if e.Mode&unix.S_IFMT == unix.S_IFLNK && own.held(rel) {
			lead(rel)
		}
	}
	return named
}

// forget removes contents that no list names any more.
func (w *Watch) forget(now *list) {
	used := map[string]bool{}
	for _, e := range now.Names {
		used[hex.EncodeToString([]byte(e.Sum))] = true
	}
	all, _ := os.ReadDir(w.path("kept"))
	for _, f := range all {
		if !used[f.Name()] {
			_ = os.Remove(w.path(filepath.Join("kept", f.Name())))
		}
	}
}

// pair is one item of a map as it is written, in an order that is the same each time.
type pair[V any] struct {
	K string
	V V
}

type written struct {
	Names []pair[entry]
	Repos []pair[bool]
	Links []pair[string]
	Twins []pair[uint64]
	Named []pair[bool]
}

func ordered(l *list) written {
	return written{pairs(l.Names), pairs(l.Repos), pairs(l.Links), pairs(l.Twins), pairs(l.Named)}
}

func pairs[V any](m map[string]V) (out []pair[V]) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, pair[V]{k, m[k]})
	}
	return out
}

func unpaired[V any](all []pair[V]) map[string]V {
	m := make(map[string]V, len(all))
	for _, p := range all {
		m[p.K] = p.V
	}
	return m
}

// load reads the list that was written last.
func (w *Watch) load() (*list, error) {
	text, err := os.ReadFile(w.path("before"))
	if err != nil {
		return nil, err
	}
	var o written
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&o); err != nil {
		return nil, err
	}
	return &list{Names: unpaired(o.Names), Repos: unpaired(o.Repos), Links: unpaired(o.Links), Twins: unpaired(o.Twins), Named: unpaired(o.Named)}, nil
}

// whole writes a file so that it is there as a whole or not at all.
func (w *Watch) whole(name string, text []byte) error {
	fresh, err := os.CreateTemp(w.dir, "fresh-*")
	if err != nil {
		return err
	}
	if _, err = fresh.Write(text); len(text) > 0 {
		err = errors.Join(err, fresh.Sync())
	}
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), w.path(name))
	}
	if err != nil {
		_ = os.Remove(fresh.Name())
	}
	return err
}

func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (w *Watch) path(name string) string { return filepath.Join(w.dir, name) }

func (w *Watch) close() {
	for _, f := range []*os.File{w.root, w.lock} {
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

func remove(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
