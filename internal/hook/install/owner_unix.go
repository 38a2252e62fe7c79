//go:build unix

package install

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner of the one that it replaces.
func keepOwner(f *os.File, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // there is no file
	}
	was, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(was.Uid) == os.Geteuid() {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

// sameOwner reports whether a file is the owner's of another one, or root's.
func sameOwner(own, other fs.FileInfo) bool {
	a, known := own.Sys().(*syscall.Stat_t)
	b, also := other.Sys().(*syscall.Stat_t)
	return known && also && (a.Uid == b.Uid || b.Uid == 0)
}
