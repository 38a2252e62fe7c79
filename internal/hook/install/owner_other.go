//go:build !unix

package install

import (
	"io/fs"
	"os"
)

// keepOwner has no effect: files have no such owner on this system.
func keepOwner(*os.File, string) error { return nil }

// sameOwner cannot tell here: the rights of the folder decide who may put a program there.
func sameOwner(_, _ fs.FileInfo) bool { return true }
