//go:build !unix

package watch

import "context"

// obeySignals has no effect: programs cannot be stopped by signals on this system.
func (k *keyboard) obeySignals(context.Context) {}

func suspend() {}
