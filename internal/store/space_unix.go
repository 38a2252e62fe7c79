//go:build linux || darwin

package store

import "syscall"

// FreeBytes is how much room a folder's file system has for this user.
func FreeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return s.Bavail * uint64(s.Bsize), err
}
