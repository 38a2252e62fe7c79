//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// exclusively takes a file's exclusive lock, or gives errHeld at once.
func exclusively(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

// unlock gives up that lock, also if another process has a duplicate of the descriptor.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
