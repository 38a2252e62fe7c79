//go:build !linux

package hook

import (
	"io/fs"
	"time"
)

// changed is when a file was changed.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
