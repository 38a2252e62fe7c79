//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	hasSockets    = true
	socketDraft   = ".ab"       // the private directory in which a socket is made; a short name, as its path is bounded too
	socketLock    = ".ab.lock"  // held by the desk that makes or removes a socket in the directory
	socketAnswers = time.Second // how long a process that has the socket may take to say so
	lockTries     = 30          // with lockPause between them: longer than a desk that starts needs
	lockPause     = 100 * time.Millisecond
)

// socket is the desk's Unix socket.
type socket struct {
	*net.UnixListener
	path  string
	made  os.FileInfo
	close sync.Once
	err   error
}

// openSocket makes a socket of mode 0600, and replaces one at which no process answers.
// The socket has its mode before any other process can reach it: it is made in a
// private directory and then moved.
func openSocket(path string) (*socket, error) {
	dir := filepath.Dir(path)
	if err := privateEnough(dir); err != nil {
		return nil, err
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := vacant(path); err != nil {
		return nil, err
	}
	draft := filepath.Join(dir, socketDraft)
	made := filepath.Join(draft, "s")
	if info, err := os.Lstat(draft); err == nil && info.IsDir() { // left by a crash
		if info, err := os.Lstat(made); err == nil && info.Mode().Type() == os.ModeSocket {
			_ = os.Remove(made)
		}
		_ = os.Remove(draft)
	}
	if err := os.Mkdir(draft, 0o700); err != nil {
		return nil, fmt.Errorf("the socket's directory cannot be made anew: %w; move away the file or folder that "+
			"has its name", err)
	}
	defer func() { _ = os.Remove(draft) }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then something else may be at its path
	s := &socket{UnixListener: l, path: path}
	if err = os.Chmod(made, 0o600); err == nil {
		s.made, err = os.Lstat(made)
	}
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(made))
	}
	return s, nil
}

// privateEnough reports an error if another user could put something else at a path in
// that directory.
func privateEnough(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("other users may write to its directory %s (mode %04o), and could put their own socket "+
			"there; run chmod go-w on the directory", dir, info.Mode().Perm())
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && of.Uid != 0 && int(of.Uid) != os.Geteuid() {
		return fmt.Errorf("its directory %s belongs to another user, who could put another socket there", dir)
	}
	return nil
}

// lockFolder keeps other desks from making or removing a socket in that directory. No other
// user can hold the lock: its file is this one's alone.
func lockFolder(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, socketLock)
	for try := range lockTries {
		if try > 0 {
			time.Sleep(lockPause)
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, fmt.Errorf("its lock file %s cannot be opened: %w; give its directory to the desk's user, or, if "+
				"a link, pipe or folder has that name, remove it", path, err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && still(f, path) {
			return func() {
				_ = os.Remove(path)
				_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // a child that is about to execute has a duplicate
				_ = f.Close()
			}, nil
		}
		_ = f.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
		}
	}
	return nil, fmt.Errorf("another process of this user holds the lock %s. If a desk is starting, wait. If a desk "+
		"was suspended (Ctrl-Z), continue it with kill -CONT, or end it", path)
}

// still reports whether the file that was opened is at the path: the previous holder of
// the lock may have removed it.
func still(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, now)
}

// vacant returns an error unless the path is free, or has a socket at which no
// process answers.
func vacant(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return errors.New("the file there is not a socket; remove it")
	}
	c, err := net.DialTimeout("unix", path, socketAnswers)
	switch {
	case err == nil:
		_ = c.Close()
		return errLive
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return nil
	}
	return fmt.Errorf("cannot find out whether another process answers at the socket there: %w", err)
}

// Close implements net.Listener. It removes the socket if it is still this desk's. If the lock
// is not to be had, the socket stays, and the next start replaces it.
func (s *socket) Close() error {
	s.close.Do(func() {
		if unlock, err := lockFolder(filepath.Dir(s.path)); err == nil {
			if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.made) {
				s.err = os.Remove(s.path)
			}
			unlock()
		}
		s.err = errors.Join(s.err, s.UnixListener.Close()) // last: until then no other file has its number
	})
	return s.err
}
