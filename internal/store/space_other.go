//go:build !linux && !darwin && !freebsd

package store

import "errors"

// FreeBytes is not known here.
func FreeBytes(string) (uint64, error) { return 0, errors.ErrUnsupported }
