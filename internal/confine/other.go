//go:build !linux

package confine

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// Check says that nothing can be confined here.
func Check(context.Context) error {
	return errors.New("commands are confined on Linux alone, and this is " + runtime.GOOS)
}

// Run runs nothing.
func Run(ctx context.Context, _ Call) (int, error) { return NotConfined, Check(ctx) }

// Possible reports whether it is worth a [Check].
func Possible() bool { return false }

// Changed counts nothing.
func Changed([]string, time.Time) int { return 0 }
