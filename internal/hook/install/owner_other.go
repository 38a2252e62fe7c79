//go:build !unix

package install

import (
	"io/fs"
	"os"
)

// keepOwner does nothing where files have no owner in that sense.
func keepOwner(*os.File, string) error { return nil }

// sameOwner cannot tell here: the rights of the folder decide who may put a program there.
func sameOwner(_, _ fs.FileInfo) bool { return true }
