//go:build linux

package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"approvalbot/internal/policy/workspace"
)

// lookout notices, from before the workspace is listed until the call has ended, when a program of the host gives a secret a
// name in it that no mount hides: a folder is renamed or copied, a file made, or one written that is shown. It is asked before
// each piece of output, and before the command begins. The kernel tells of a change (inotify(7)) before another program can
// have read the new name and written what it read, but for the moment in which it ends the rename itself.
type lookout struct {
	fd    int
	file  *os.File // of fd, to wait for it
	root  int      // the workspace
	guard *guard
	dirs  sync.Map // folders that are watched, by the kernel's numbers

	mu      sync.Mutex
	known   map[string]bool // secrets that were listed; nil before that
	twins   map[[2]uint64]bool
	shown   map[string]bool   // of these, because the repository has them
	changed map[string]bool   // of these
	moving  map[uint32]string // folders that left their names, by the kernel's mark of the rename
	names   int               // that were looked at since the workspace was listed
	over    bool
	lost    error
}

// close gives the lookout back to the kernel. If namespaces ended shortly before, that takes as a rule three of the kernel's
// ticks (12 ms of 43 for a short call, measured on Linux 6.18), for which closing it would wait. So the last descriptor of it
// is in a message of a socket to itself, which a kernel thread collects (unix(7), SCM_RIGHTS).
func (l *lookout) close() {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(l.fd, pair[1]), nil, 0)
	}
	_ = l.file.Close()
	if err == nil {
		_, _ = unix.Close(pair[0]), unix.Close(pair[1])
	}
}

// mostNew bounds how many new names are looked at, which takes some seconds.
const mostNew = 1 << 17

func newLookout(w *Watch) (*lookout, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("the kernel gives this user no more watches (%w); raise fs.inotify.max_user_instances", err)
	}
	return &lookout{fd: fd, file: os.NewFile(uintptr(fd), "inotify"), root: int(w.root.Fd()), guard: &guard{root: w.Root}}, nil
}

// add watches a folder before its names are read, or has not changed since they were. It is found by a descriptor of it or of
// the folder above, and its name there.
func (l *lookout) add(fd int, name, rel string) error {
	if l == nil {
		return nil
	}
	number, err := unix.InotifyAddWatch(l.fd, fmt.Sprintf("/proc/self/fd/%d/%s", fd, name),
		unix.IN_CREATE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
	switch {
	case err == nil:
		l.dirs.Store(int32(number), rel)
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("workspace %s has more folders than the kernel lets this user watch; raise fs.inotify.max_user_watches, or name a smaller "+
			"one", l.guard.root)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
		return nil // gone, or none that the command can look into
	}
	return err
}

// content watches what is in a secret, before it is compared with what the repository has.
func (l *lookout) content(rel string) error {
	number, err := unix.InotifyAddWatch(l.fd, fmt.Sprintf("/proc/self/fd/%d/%s", l.root, rel), unix.IN_MODIFY|unix.IN_DONT_FOLLOW)
	l.dirs.Store(int32(number), rel)
	return err
}

// shows says which secrets the call sees.
func (l *lookout) shows(rel string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown[rel] = true; l.changed[rel] {
		l.lost = written(rel)
	}
}

func written(rel string) error {
	return fmt.Errorf("another program changed %q, which the command can read", rel)
}

// listed says which secrets the mounts know of. What changed before is looked at after this.
func (l *lookout) listed(secrets []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.twins, l.shown, l.changed = map[string]bool{}, map[[2]uint64]bool{}, map[string]bool{}, map[string]bool{}
	l.moving = map[uint32]string{}
	for _, rel := range secrets {
		l.known[rel] = true
		if st, is := lstat(l.root, rel); is {
			l.twins[inodeOf(st)] = true
		}
	}
}

// look gives an error, from then on, once a secret may have another name.
func (l *lookout) look() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var buf [64 << 10]byte
	for l.lost == nil && l.known != nil && !l.over {
		n, err := unix.Read(l.fd, buf[:])
		if errors.Is(err, unix.EAGAIN) {
			for _, rel := range l.moving { // the command sees it yet, with what is put there
				l.lost = fmt.Errorf("another program moved the folder %q out of the workspace", rel)
			}
			return l.lost
		}
		l.lost = err
		for at := 0; at+unix.SizeofInotifyEvent <= n && l.lost == nil; {
			number, mask := int32(binary.NativeEndian.Uint32(buf[at:])), binary.NativeEndian.Uint32(buf[at+4:])
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[at+12:]))
			name, mark := unix.ByteSliceToString(buf[at+unix.SizeofInotifyEvent:at+size]), binary.NativeEndian.Uint32(buf[at+8:])
			at += size
			delete(l.moving, mark)
			if l.lost = l.event(number, mask, name); mask&unix.IN_MOVED_FROM != 0 && mask&unix.IN_ISDIR != 0 {
				l.moving[mark] = name
			}
		}
	}
	return l.lost
}

// last looks once more, and no more after that.
func (l *lookout) last() error {
	err := l.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	return err
}

func (l *lookout) event(number int32, mask uint32, name string) error {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		return errors.New("other programs changed more names in the workspace than the kernel tells of, so secrets may have new ones")
	}
	dir, watched := l.dirs.Load(number)
	if mask&unix.IN_IGNORED != 0 || !watched {
		return nil
	}
	rel := dir.(string)
	if name != "" {
		rel = join(rel, name)
	}
	if l.known[rel] && mask&unix.IN_MOVED_FROM == 0 {
		l.changed[rel] = true
		switch {
		case l.shown[rel]:
			return written(rel)
		case mask&unix.IN_MOVED_TO != 0:
			return fmt.Errorf("another program gave the secret %q its name, and the command could read it by the one before", rel)
		}
		return nil
	}
	if mask&unix.IN_MOVED_FROM != 0 {
		for secret := range l.known {
			if secret == rel || strings.HasPrefix(secret, rel+"/") {
				return fmt.Errorf("another program renamed %q, by whose name the secret %q was hidden", rel, secret)
			}
		}
		return nil
	}
	under := place{Under: join(l.guard.top().Under, workspace.FoldPath(rel))}
	if _, in, is := strings.Cut("/"+workspace.FoldPath(rel), "/.git/"); is {
		under = place{Git: true, Under: in}
	}
	sub := walker{guard: l.guard, out: newList(), looks: l}
	if mask&unix.IN_ISDIR == 0 {
		if st, is := lstat(l.root, rel); under.private() || is && st.Nlink > 1 && l.twins[inodeOf(st)] { // also if it is gone again
			sub.out.secrets = append(sub.out.secrets, rel)
		}
	} else if st, is := lstat(l.root, rel); is && closed(st) { // opened for a look it could be open to the command
		return fmt.Errorf("another program made the folder %q, which cannot be looked into", rel)
	} else if fd, put, err := openAnyway(l.root, rel, unix.O_DIRECTORY); err == nil {
		err = sub.dir(fd, rel, under, 0)
		put()
		_ = unix.Close(fd)
		if err != nil && !errors.Is(err, unix.ENOENT) { // else it is gone
			return err
		}
	} else if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("another program made the folder %q, and it is gone already: there may have been secrets in it", rel)
	} else if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		return err
	}
	if l.names += 1 + sub.out.names; l.names > mostNew {
		return errors.New("other programs made more names in the workspace than can be looked at")
	}
	for _, secret := range sub.out.secrets {
		if !l.known[secret] {
			return fmt.Errorf("another program gave the secret %q its name meanwhile, which is not hidden", secret)
		}
	}
	return nil
}

// until calls end once a secret may have another name. It returns then, and when the lookout is closed.
func (l *lookout) until(end func()) {
	conn, err := l.file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(uintptr) bool {
		err := l.look()
		if err != nil {
			end()
		}
		return err != nil
	})
}
