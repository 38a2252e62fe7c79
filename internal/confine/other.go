//go:build !linux

package confine

import (
	"context"
	"errors"
	"runtime"
)

// Check says that nothing can be confined here.
func Check(context.Context) error {
	return errors.New("commands are confined on Linux alone, and this is " + runtime.GOOS)
}

// Run runs nothing.
func Run(ctx context.Context, _ Call) (int, error) { return NotConfined, Check(ctx) }
