//go:build linux

package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// other is the kind of which no command runs beside one of this kind.
func (k Kind) other() Kind {
	if k == Confined {
		return Unconfined
	}
	return Confined
}

// Enter waits until no command of the other kind runs, for all who have the same state, and gives what ends the command's
// own stay. It says after a second that it waits, and tries at least once, also if the context has ended.
//
// If also is not nil, it has the last word: it is called while no other command enters, may take notes of its own, and lets
// the command in by true. All processes that an unconfined command started, and that outlive it, stay too, since they
// inherit a descriptor without close-on-exec.
func Enter(ctx context.Context, state string, kind Kind, says io.Writer, also func() bool) (leave func(), err error) {
	if err := os.MkdirAll(state, 0700); err != nil {
		return nil, err
	}
	err = waitFor(ctx, says, "no "+string(kind.other())+" command runs", func() error {
		door, err := locked(state, "door", unix.LOCK_EX)
		if err != nil {
			return err
		}
		defer door.Close()
		others, err := locked(state, string(kind.other()), unix.LOCK_EX|unix.LOCK_NB)
		if err != nil {
			return err
		}
		_ = others.Close()
		if also != nil && !also() {
			return unix.EWOULDBLOCK
		}
		stay, err := locked(state, string(kind), unix.LOCK_SH)
		if err != nil {
			return err
		}
		leave = func() { _ = stay.Close() }
		if kind == Confined {
			return nil
		}
		defer stay.Close()
		high, err := unix.FcntlInt(stay.Fd(), unix.F_DUPFD, aboveScripts)
		if errors.Is(err, unix.EINVAL) { // a lower limit of descriptors
			high, err = unix.FcntlInt(stay.Fd(), unix.F_DUPFD, 3)
		}
		leave = func() { _ = unix.Close(high) }
		return err
	})
	return leave, err
}

// LockOf is the file that commands of a kind lock while they run, for all who have that state.
func LockOf(state string, kind Kind) string { return lockFile(state, string(kind)) }

func lockFile(state, name string) string { return filepath.Join(state, name+".lock") }

// Hold locks, for the command that has it open as that descriptor, what [Enter] locks: for the function that Enter calls.
// All processes that inherit the descriptor hold the lock, until the last of them ends.
func Hold(state string, kind Kind, descriptor int) error {
	var its, want unix.Stat_t
	name := LockOf(state, kind)
	if err := errors.Join(unix.Fstat(descriptor, &its), unix.Stat(name, &want)); err != nil {
		return err
	}
	if its.Dev != want.Dev || its.Ino != want.Ino {
		return fmt.Errorf("descriptor %d is not of %s", descriptor, name)
	}
	return unix.Flock(descriptor, unix.LOCK_SH|unix.LOCK_NB)
}

// aboveScripts is higher than the descriptors that scripts name.
const aboveScripts = 787

// locked opens a file of the state and locks it.
func locked(state, name string, how int) (*os.File, error) {
	f, err := os.OpenFile(lockFile(state, name), os.O_CREATE|os.O_RDWR, 0600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
