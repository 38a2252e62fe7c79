package store

import "syscall"

// FreeBytes is how much room a folder's file system has for this user; a value below zero means that only root has
// room left, and is given as 0.
func FreeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return uint64(max(0, s.Bavail)) * s.Bsize, err
}
