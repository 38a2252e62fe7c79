package hook

import (
	"io/fs"
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
