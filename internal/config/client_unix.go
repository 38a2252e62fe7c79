//go:build unix

package config

import (
	"io/fs"
	"syscall"
)

// ownedBy reports whether a file belongs to that user.
func ownedBy(info fs.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}

// OwnerOf is the user that a file belongs to.
func OwnerOf(info fs.FileInfo) int {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(stat.Uid)
}
