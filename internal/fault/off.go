//go:build !faults

package fault

// Point does nothing in this build.
func Point(name string) {}
