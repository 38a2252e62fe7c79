//go:build !faults

package fault

// Point is empty in this build.
func Point(name string) {}
