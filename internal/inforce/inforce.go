// Package inforce holds what a configuration puts in force, so that all of it is replaced at once.
//
// The Gate reads rules, the server reads tokens, the daemon reads the configuration. If each had a
// pointer of its own, a request that comes while a reload swaps them would be admitted with a token
// of the new configuration and judged by the rules of the old one. So each reads a part of one
// snapshot, behind one pointer that the daemon swaps.
package inforce

import "sync/atomic"

// Value is the newest T: one of its own, or a part of a larger snapshot once it follows one. It may
// be read and replaced at the same time. The zero Value is empty: Load gives nil.
type Value[T any] struct {
	own  atomic.Pointer[T]
	part func() *T
}

// Load gives the newest T, or nil if it is not set. A caller that needs several answers of one snapshot loads it
// once.
func (v *Value[T]) Load() *T {
	if v.part != nil {
		return v.part()
	}
	return v.own.Load()
}

// Store replaces the Value's own T. It panics if the Value follows a snapshot.
func (v *Value[T]) Store(next *T) {
	if v.part != nil {
		panic("inforce: what follows a snapshot is replaced with it")
	}
	v.own.Store(next)
}

// Follow makes the Value a part of a snapshot from now on. Call it before the desk serves requests:
// no goroutine may read the Value meanwhile.
func (v *Value[T]) Follow(part func() *T) { v.part = part }
