//go:build !unix

package connection

// fileLimit is how many connections are accepted, since this system has no such
// limit.
func fileLimit() int { return usualFiles }
