//go:build unix

package store

import (
	"os"
	"syscall"
)

// sameOwner gives a file the owner and group of another one.
func sameOwner(path string, as os.FileInfo) error {
	owner, known := as.Sys().(*syscall.Stat_t)
	if !known {
		return nil
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}
