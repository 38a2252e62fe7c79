//go:build unix

package connection

import "syscall"

// fileLimit is how many file descriptors this process may have.
func fileLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return usualFiles
	}
	return int(min(l.Cur, 1<<30))
}
