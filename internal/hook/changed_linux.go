package hook

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// changed is when a file or its inode was changed, which no program can set.
func changed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

// ofUser reports a file of this user's.
func ofUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
