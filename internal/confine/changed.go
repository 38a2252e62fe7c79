//go:build linux

package confine

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// mostCounted is how many files are looked at to count those that changed.
const mostCounted = 200_000

// Changed counts the files of the workspaces that are new or changed since then, without what git keeps. It is for
// people: of a file that could not be looked at it says nothing, and what was removed is not counted.
func Changed(workspaces []string, since time.Time) (n int) {
	looked := 0
	for _, root := range workspaces {
		_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case d.IsDir() && d.Name() == ".git":
				return fs.SkipDir
			case looked == mostCounted:
				return fs.SkipAll
			case d.IsDir():
				return nil
			}
			looked++
			info, err := d.Info()
			if err != nil {
				return nil
			}
			// ctime, which the kernel alone sets; its clock ticks every few milliseconds.
			if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Ctim.Nano() >= since.Add(-10*time.Millisecond).UnixNano() {
				n++
			}
			return nil
		})
	}
	return n
}
