//go:build !linux

package confine

import (
	"context"
	"errors"
	"io"
	"runtime"
)

// Check says that nothing can be confined here.
func Check(context.Context, string, string) error {
	return errors.New("commands can be confined only on Linux, and this is " + runtime.GOOS)
}

// Run runs nothing.
func Run(ctx context.Context, _ Call) (status, changed int, err error) {
	return NotConfined, 0, Check(ctx, "", "")
}

// Possible reports whether it is worth a [Check].
func Possible() bool { return false }

// Enter lets every command in: none is confined here.
func Enter(context.Context, string, Kind, io.Writer, func() bool) (leave func(), err error) {
	return func() {}, nil
}

// LockOf names no file.
func LockOf(string, Kind) string { return "" }

// Hold locks nothing.
func Hold(string, Kind, int) error { return nil }

// Overlaying reports nothing: no program starts itself here.
func Overlaying([]string) bool { return false }

// Overlay mounts nothing.
func Overlay([]string) int { return NotConfined }
