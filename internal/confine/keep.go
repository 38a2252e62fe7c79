//go:build linux

package confine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keep moves what a call left from the upper directory to the workspace. If it fails, or this process dies after the
// marker, the rest goes to the quarantine: nothing is copied that was judged beside another workspace.
func (w *Watch) keep(upper int, p plan, ours taken) error {
	if w.something(upper) == nil {
		return w.drop() // most calls change nothing
	}
	err := w.back(upper, p, ours)
	if err == nil {
		return errors.Join(os.Remove(w.path("call/keep")), w.drop())
	}
	rest, failed := w.quarantine()
	return errors.Join(fmt.Errorf("only a part of the call's work in %s was copied back (%w); the rest "+
		"is in %s", w.Root, err, rest), failed)
}

func (w *Watch) sameMode(upper int) bool {
	var u, l unix.Stat_t
	return unix.Fstat(upper, &u) == nil && unix.Fstat(int(w.root.Fd()), &l) == nil && (u.Mode^l.Mode)&01777 == 0
}

// mark says that from now on what the call did is dropped no more: it is copied back, or goes to the quarantine. The file was
// made before the command began, so that a full disk is no reason.
func (w *Watch) mark() error {
	f, err := os.Open(w.path("call/marker"))
	if errors.Is(err, os.ErrNotExist) {
		_, err = os.Lstat(w.path("call/keep"))
		return err
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(f.Sync(), os.Rename(w.path("call/marker"), w.path("call/keep")), w.call.Sync())
}

// step is called before each change of a workspace, for tests.
var step = func() {}

// errMeanwhile ends a copy: what was judged is there no more.
var errMeanwhile = errors.New("another program has changed it since approvalbot judged it")

// taken is when a copy took a name from a file that has more, perhaps in another workspace of the call.
type taken map[[2]uint64]unix.Timespec

// copier carries out a plan.
type copier struct {
	fresh    string // name in the workspace of a file that is being copied from another file system
	up, low  folders
	ours     taken
	expected map[string][2]uint64 // the folders of the workspace
	opened   map[string]uint32    // modes of folders that we had to write to
}

func (w *Watch) back(upper int, p plan, ours taken) error {
	c := copier{fresh: w.fresh, ours: ours, expected: map[string][2]uint64{}, opened: map[string]uint32{}}
	c.up, c.low = folders{root: upper}, folders{root: int(w.root.Fd()), expected: c.expected}
	defer c.up.close()
	defer c.low.close()
	for _, list := range [][]change{p.puts, p.removals} {
		for _, ch := range list {
			if kind(ch.low) == unix.S_IFDIR {
				c.expected[ch.rel] = inodeOf(ch.low)
			}
		}
	}
	settled := slices.Clone(p.puts)
	slices.Reverse(settled)
	for _, pass := range []struct {
		all []change
		one func(change) error
	}{{p.puts, c.put}, {p.removals, c.remove}, {p.late, c.put}, {settled, c.settle}} {
		for _, ch := range pass.all {
			step()
			if err := pass.one(ch); err != nil {
				for rel, mode := range c.opened {
					if low, err := c.low.open(rel); err == nil {
						_ = unix.Fchmod(low, mode)
					}
				}
				return fmt.Errorf("%.80q: %w", ch.rel, err)
			}
		}
	}
	return nil
}

// put makes a folder, or moves a file to the name that it has in the workspace.
func (c *copier) put(ch change) error {
	dir, name := splitPath(ch.rel)
	isDir := kind(ch.up) == unix.S_IFDIR
	if isDir && kind(ch.low) == unix.S_IFDIR {
		return nil // each time that it is opened its inode is looked at
	}
	low, err := c.writable(dir)
	if err != nil {
		return err
	}
	if isDir {
		err := c.instead(low, name, ch.low, func() error {
			if ch.low.Mode != 0 {
				if err := unix.Unlinkat(low, name, 0); err != nil {
					return err
				}
			}
			return unix.Mkdirat(low, name, 0700)
		})
		made, _ := lstat(low, name)
		c.expected[ch.rel] = inodeOf(made)
		return err
	}
	up, err := c.up.open(dir)
	if err != nil {
		return err
	}
	err = unix.Fchmod(up, 0700)
	if err == nil {
		err = strip(up, name, ch.up, ch.mode())
	}
	if err != nil {
		return err
	}
	return c.instead(low, name, ch.low, func() error { return c.move(up, low, name, ch) })
}

func (c *copier) remove(ch change) error {
	dir, name := splitPath(ch.rel)
	low, err := c.writable(dir)
	if err != nil {
		return err
	}
	flags := 0
	if kind(ch.low) == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	return c.instead(low, name, ch.low, func() error { return unix.Unlinkat(low, name, flags) })
}

// settle gives a folder its mode, if the call changed that, and its time. Both are written to meanwhile.
func (c *copier) settle(ch change) error {
	if kind(ch.up) != unix.S_IFDIR {
		return nil
	}
	low, err := c.low.open(ch.rel)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(low, &st); err != nil {
		return err
	}
	mode, opened := c.opened[ch.rel]
	if !opened {
		mode = st.Mode & 07777
	}
	// Set-id bits stay as they are: a call gives none.
	if want := ch.mode() | st.Mode&06000; ch.low.Mode&01777 != ch.up.Mode&01777 || kind(ch.low) != unix.S_IFDIR {
		if kind(ch.low) == unix.S_IFDIR && mode != ch.low.Mode&07777 {
			return errMeanwhile
		}
		mode = want
	}
	if mode != st.Mode&07777 {
		if err := unix.Fchmod(low, mode); err != nil {
			return err
		}
	}
	delete(c.opened, ch.rel)
	times := []unix.Timespec{ch.up.Atim, ch.up.Mtim}
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", low), times, 0) // another user's folder keeps its time
	return nil
}

// writable opens a folder of the workspace to change the names in it.
func (c *copier) writable(dir string) (int, error) {
	low, err := c.low.open(dir)
	if err != nil {
		return -1, err
	}
	return low, c.allow(low, dir)
}

// allow lets the owner of a folder change the names in it, until it is settled.
func (c *copier) allow(low int, dir string) error {
	var st unix.Stat_t
	if err := unix.Fstat(low, &st); err != nil || st.Mode&0700 == 0700 || int(st.Uid) != os.Geteuid() {
		return err
	}
	if _, is := c.opened[dir]; !is {
		c.opened[dir] = st.Mode & 07777
	}
	return unix.Fchmod(low, st.Mode&07777|0700)
}

// instead does what takes a name away or gives it, if what has it now is what was judged. The time of change of a file's
// other names is new by that alone.
func (c *copier) instead(low int, name string, was unix.Stat_t, do func() error) error {
	now, is := lstat(low, name)
	ours := c.ours[inodeOf(now)]
	isDir := kind(was) == unix.S_IFDIR
	switch {
	case was.Mode == 0 && !is:
		return do()
	case was.Mode == 0, !is, inodeOf(now) != inodeOf(was):
		return errMeanwhile
	case isDir:
		return do()
	case now.Mode != was.Mode, now.Size != was.Size, now.Mtim != was.Mtim, now.Ctim != was.Ctim && now.Ctim != ours:
		return errMeanwhile
	case was.Nlink == 1:
		return do()
	}
	handle, err := unix.Openat(low, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(handle)
	if err := do(); err != nil {
		return err
	}
	if err := unix.Fstat(handle, &now); err != nil {
		return err
	}
	c.ours[inodeOf(now)] = now.Ctim
	return nil
}

// folders opens folders below a root, through no link and no mount; the last one stays open for what comes next.
type folders struct {
	root, fd int
	rel      string
	expected map[string][2]uint64 // inodes, if they matter
}

func (f *folders) open(rel string) (int, error) {
	if rel == "" {
		return f.root, nil
	}
	if rel == f.rel {
		return f.fd, nil
	}
	f.close()
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	fd, err := unix.Openat2(f.root, rel, &how)
	if err != nil {
		return -1, err
	}
	f.fd, f.rel = fd, rel
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, err
	}
	if f.expected != nil && f.expected[rel] != inodeOf(st) {
		return -1, errMeanwhile
	}
	return fd, nil
}

func (f *folders) close() {
	if f.rel != "" {
		_ = unix.Close(f.fd)
	}
	f.rel = ""
}

// move gives a name of the workspace the file of the upper directory, at once.
func (c *copier) move(up, low int, name string, ch change) error {
	err := rename(up, name, low, name, ch)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	root := c.low.root
	if err := c.allow(root, ""); err != nil {
		return err
	}
	err = copied(up, root, name, c.fresh, ch.up, ch.mode())
	times := []unix.Timespec{ch.up.Atim, ch.up.Mtim}
	if err == nil {
		err = errors.Join(unix.UtimesNanoAt(root, c.fresh, times, unix.AT_SYMLINK_NOFOLLOW), rename(root, c.fresh, low, name, ch))
	}
	if err != nil {
		_ = unix.Unlinkat(root, c.fresh, 0)
		return err
	}
	return unix.Unlinkat(up, name, 0)
}

// rename takes no name that was free when it was judged.
func rename(from int, name string, to int, as string, ch change) error {
	if ch.low.Mode != 0 {
		return unix.Renameat(from, name, to, as)
	}
	err := unix.Renameat2(from, name, to, as, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) { // not every file system knows it
		err = unix.Renameat(from, name, to, as)
	}
	return err
}

// copied copies a file with its holes, and its access control list if the file system has such.
func copied(up, low int, name, fresh string, st unix.Stat_t, mode uint32) error {
	in, _, err := openAnyway(up, name, unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	from := os.NewFile(uintptr(in), name)
	defer from.Close()
	out, err := unix.Openat(low, fresh, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0600)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(out), fresh)
	for at := int64(0); err == nil; {
		data, end := unix.Seek(in, at, unix.SEEK_DATA)
		if end != nil { // no more than a hole
			break
		}
		at, err = unix.Seek(in, data, unix.SEEK_HOLE)
		_, inErr := from.Seek(data, io.SeekStart)
		_, outErr := to.Seek(data, io.SeekStart)
		if err = errors.Join(err, inErr, outErr); err == nil {
			_, err = io.CopyN(to, from, at-data)
		}
	}
	err = errors.Join(err, to.Truncate(st.Size), unix.Fchmod(out, mode))
	if list := acl(up, name); list != "" && err == nil {
		if err = unix.Fsetxattr(out, aclName, []byte(list), 0); errors.Is(err, unix.EOPNOTSUPP) {
			err = nil // so the file that it replaces has none
		}
	}
	return errors.Join(err, to.Close())
}

// ofServers are how attributes begin by which the overlay, file servers and containers give files modes, owners and capabilities.
var ofServers = []string{ofOverlay, "user.virtfs.", "user.virtiofs.", "user.containers.", "user.rootlesscontainers",
	"user.fuseoverlayfs.", "user.DOSATTRIB", "user.SMB"}

// strip takes from a file what only the overlay or a call gave it: notes of the kernel and for servers, and set-id bits.
func strip(dir int, name string, st unix.Stat_t, kept uint32) error {
	file := fmt.Sprintf("/proc/self/fd/%d/%s", dir, name)
	var buf [64 << 10]byte // as long as a list can be
	n, err := unix.Llistxattr(file, buf[:])
	if err != nil && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	own := strings.FieldsFunc(string(buf[:max(n, 0)]), func(r rune) bool { return r == 0 })
	mode, writable := kept, st.Mode&0200 != 0
	for _, a := range own {
		if !slices.ContainsFunc(ofServers, func(prefix string) bool { return strings.HasPrefix(a, prefix) }) {
			continue
		}
		if !writable {
			if err := unix.Fchmodat(dir, name, mode|0600, 0); err != nil {
				return err
			}
			writable = true
		}
		if err := unix.Lremovexattr(file, a); err != nil {
			return err
		}
	}
	if mode != st.Mode&07777 || st.Mode&0200 == 0 && writable {
		return unix.Fchmodat(dir, name, mode, 0)
	}
	return nil
}

// remove takes a name away with all below it, even if its modes forbid that. What lies deeper than a workspace may be is moved to
// the directory top, if that is one, for its caller to remove.
func remove(dir int, name string, top, depth int) error {
	err := unix.Unlinkat(dir, name, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) {
		return err
	}
	if unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) == nil { // another user's may be empty
		return nil
	}
	sub, _, err := openAnyway(dir, name, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(sub)
	if err := unix.Fchmod(sub, 0700); err != nil {
		return err
	}
	if depth > deepest && top >= 0 {
		return unix.Renameat(dir, name, top, rand.Text())
	}
	all, err := entries(sub)
	for _, d := range all {
		err = errors.Join(err, remove(sub, d.name, top, depth+1))
	}
	return errors.Join(err, unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
}

// discard removes a folder of the state, however deep it is: what lies deeper is moved up and removed then.
func (w *Watch) discard(name string) error {
	dir, err := unix.Open(w.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := os.MkdirAll(w.path("deep"), 0700); err != nil {
		return err
	}
	deep, err := openDir(w.path("deep"))
	if err != nil {
		return err
	}
	defer deep.Close()
	if err := remove(dir, name, int(deep.Fd()), 0); err != nil {
		return err
	}
	for {
		all, err := entries(int(deep.Fd()))
		if err != nil || len(all) == 0 {
			return err
		}
		for _, d := range all {
			if err := remove(int(deep.Fd()), d.name, int(deep.Fd()), 0); err != nil {
				return err
			}
		}
	}
}

// drop removes what is left of a call.
func (w *Watch) drop() error {
	if w.call != nil {
		_ = w.call.Close()
		w.call = nil
	}
	return w.discard("call")
}

// mostQuarantined is how many of the newest calls of which nothing was kept can be looked at.
const mostQuarantined = 5

// quarantine moves what a call did out of the way, closed so that nothing obeys it while somebody looks. What cannot be moved
// stays, and the next call tries again.
func (w *Watch) quarantine() (string, error) {
	dir, upper := w.path("quarantine"), w.path("call/upper")
	to := filepath.Join(dir, time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := errors.Join(w.mark(), os.Chmod(upper, 0700), os.Rename(upper, to)); err != nil {
		return upper, fmt.Errorf("the call's work stays there, and no other call can run in this workspace until it "+
			"can be moved: %w", err)
	}
	err := os.Chmod(to, 0)
	all, readErr := os.ReadDir(dir) // sorted by name, which is by time
	for _, old := range all[:max(0, len(all)-mostQuarantined)] {
		err = errors.Join(err, w.discard(filepath.Join("quarantine", old.Name())))
	}
	return to, errors.Join(err, readErr, w.drop())
}
