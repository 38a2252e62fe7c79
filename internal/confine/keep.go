//go:build linux

package confine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keep moves what a call left from the upper directory to the workspace. If it fails, or this process dies after the
// marker, the rest goes to the quarantine: nothing is copied that was judged beside another workspace.
func (w *Watch) keep(upper int) error {
	if all, err := entries(upper); err == nil && len(all) == 0 && w.sameMode(upper) {
		return w.drop() // most calls change nothing
	}
	if err := w.whole("call/keep", []byte("copied back")); err != nil {
		return err
	}
	err := w.back(upper)
	if err == nil {
		return nil
	}
	rest, failed := w.quarantine()
	return errors.Join(fmt.Errorf("not everything that the call did in %s was copied back (%w); the rest "+
		"is in %s", w.Root, err, rest), failed)
}

func (w *Watch) sameMode(upper int) bool {
	var u, l unix.Stat_t
	return unix.Fstat(upper, &u) == nil && unix.Fstat(int(w.root.Fd()), &l) == nil && (u.Mode^l.Mode)&01777 == 0
}

func (w *Watch) back(upper int) error {
	var st unix.Stat_t
	if err := unix.Fstat(upper, &st); err != nil {
		return err
	}
	if err := w.copyDir(upper, int(w.root.Fd()), st, false); err != nil {
		return err
	}
	return errors.Join(os.Remove(w.path("call/keep")), w.drop())
}

// step is called before each change of a workspace, for tests.
var step = func() {}

// copyDir makes a directory what the upper one says, and gives it its mode and time. Both are written to meanwhile.
func (w *Watch) copyDir(up, low int, u unix.Stat_t, hides bool) error {
	var l unix.Stat_t
	if err := unix.Fstat(low, &l); err != nil {
		return err
	}
	for fd, mode := range map[int]uint32{up: u.Mode, low: l.Mode} {
		if mode&0700 != 0700 {
			if err := unix.Fchmod(fd, mode&07777|0700); err != nil {
				return err
			}
		}
	}
	all, err := entries(up)
	if err != nil {
		return err
	}
	if hides {
		if err := w.uncover(up, low, all); err != nil {
			return err
		}
	}
	for _, d := range all {
		step()
		if err := w.copyEntry(up, low, d.name); err != nil {
			return fmt.Errorf("%.80q: %w", d.name, err)
		}
	}
	// Set-id bits stay as they are: a call gives none.
	if mode := u.Mode&01777 | l.Mode&06000; mode != l.Mode&07777 || l.Mode&0700 != 0700 {
		if err := unix.Fchmod(low, mode); err != nil {
			return err
		}
	}
	times := []unix.Timespec{u.Atim, u.Mtim}
	_ = unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", low), times, 0) // another user's folder keeps its time
	return nil
}

// uncover removes what an opaque directory hides, and then its mark: what is moved from now on is not hidden. Of a directory
// below all is hidden, also if there is a new one of that name.
func (w *Watch) uncover(up, low int, all []dirent) error {
	made := map[string]bool{}
	for _, d := range all {
		made[d.name] = true
	}
	hidden, err := entries(low)
	if err != nil {
		return err
	}
	for _, d := range hidden {
		if !made[d.name] || d.kind == unix.DT_DIR {
			step()
			if err := remove(low, d.name, -1, 0); err != nil {
				return err
			}
		}
	}
	return unix.Fremovexattr(up, ofOverlay+"opaque")
}

func (w *Watch) copyEntry(up, low int, name string) error {
	u, is := lstat(up, name)
	l, was := lstat(low, name)
	// Another program may have changed it since it was judged. When the copy replaces a file, the time of change of that
	// one's other names is new too, and not that of its content.
	if was && kind(l) != unix.S_IFDIR && min(l.Ctim.Nano(), l.Mtim.Nano()) >= w.began {
		return errors.New("another program changed it meanwhile")
	}
	switch {
	case !is:
		return nil
	case kind(u) == unix.S_IFDIR:
	case kind(u) != unix.S_IFREG && kind(u) != unix.S_IFLNK: // removed, or a socket or a pipe, which lived in the call
		if err := remove(low, name, -1, 0); err != nil {
			return err
		}
		return unix.Unlinkat(up, name, 0)
	default:
		if was && kind(l) == unix.S_IFDIR {
			if err := remove(low, name, -1, 0); err != nil {
				return err
			}
		}
		return move(up, low, name, u)
	}
	hides := opaque(up, name)
	if was && kind(l) != unix.S_IFDIR {
		if err := remove(low, name, -1, 0); err != nil {
			return err
		}
	}
	if err := unix.Mkdirat(low, name, 0700); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return w.copyBelow(up, low, name, u, hides)
}

func (w *Watch) copyBelow(up, low int, name string, u unix.Stat_t, hides bool) error {
	from, _, err := openAnyway(up, name, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, _, err := openAnyway(low, name, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if err := w.copyDir(from, to, u, hides); err != nil {
		return err
	}
	return unix.Unlinkat(up, name, unix.AT_REMOVEDIR)
}

// move gives a name of the workspace the file or link of the upper directory, at once.
func move(up, low int, name string, st unix.Stat_t) error {
	if kind(st) == unix.S_IFREG {
		if err := strip(up, name, st); err != nil {
			return err
		}
	}
	err := unix.Renameat(up, name, low, name)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	fresh := ".approvalbot-" + rand.Text()
	if kind(st) == unix.S_IFLNK {
		target, readErr := readlink(up, name)
		err = errors.Join(readErr, unix.Symlinkat(target, low, fresh))
	} else {
		err = copied(up, low, name, fresh, st)
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	if err == nil {
		err = errors.Join(unix.UtimesNanoAt(low, fresh, times, unix.AT_SYMLINK_NOFOLLOW), unix.Renameat(low, fresh, low, name))
	}
	if err != nil {
		_ = unix.Unlinkat(low, fresh, 0)
		return err
	}
	return unix.Unlinkat(up, name, 0)
}

func copied(up, low int, name, fresh string, st unix.Stat_t) error {
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
	_, err = io.Copy(to, from)
	return errors.Join(err, unix.Fchmod(out, st.Mode&01777), to.Close())
}

// strip takes from a file what only the overlay or a call gave it: notes of the kernel, and set-id bits.
func strip(dir int, name string, st unix.Stat_t) error {
	file := fmt.Sprintf("/proc/self/fd/%d/%s", dir, name)
	var buf [64 << 10]byte // as long as a list can be
	n, err := unix.Llistxattr(file, buf[:])
	if err != nil && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	own := strings.FieldsFunc(string(buf[:max(n, 0)]), func(r rune) bool { return r == 0 })
	mode, writable := st.Mode&01777, st.Mode&0200 != 0
	for _, a := range own {
		if !strings.HasPrefix(a, ofOverlay) {
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
		return unix.Renameat(dir, name, top, "deep-"+rand.Text())
	}
	all, err := entries(sub)
	for _, d := range all {
		err = errors.Join(err, remove(sub, d.name, top, depth+1))
	}
	return errors.Join(err, unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
}

// discard removes a folder of the state, however deep it is.
func (w *Watch) discard(name string) error {
	top, err := openDir(w.dir)
	if err != nil {
		return err
	}
	defer top.Close()
	if err := remove(int(top.Fd()), name, int(top.Fd()), 0); err != nil {
		return err
	}
	for again := true; again; {
		again = false
		all, err := entries(int(top.Fd()))
		if err != nil {
			return err
		}
		for _, d := range all {
			if strings.HasPrefix(d.name, "deep-") {
				again = true
				if err := remove(int(top.Fd()), d.name, int(top.Fd()), 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
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

// quarantine moves what a call did out of the way, closed so that nothing obeys it while somebody looks.
func (w *Watch) quarantine() (string, error) {
	dir, upper := w.path("quarantine"), w.path("call/upper")
	to := filepath.Join(dir, time.Now().UTC().Format("20060102T150405.000000000Z"))
	err := errors.Join(os.MkdirAll(dir, 0700), os.Chmod(upper, 0700), os.Rename(upper, to), os.Chmod(to, 0))
	all, readErr := os.ReadDir(dir) // sorted by name, which is by time
	for _, old := range all[:max(0, len(all)-mostQuarantined)] {
		err = errors.Join(err, w.discard(filepath.Join("quarantine", old.Name())))
	}
	return to, errors.Join(err, readErr, w.drop())
}
