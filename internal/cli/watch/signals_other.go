//go:build !unix

package watch

import "context"

// obeySignals has nothing to obey: programs are not stopped here.
func (k *keyboard) obeySignals(context.Context) {}

func suspend() {}
