//go:build !unix

package connection

// fileLimit is how many connections are taken where the system has no such limit.
func fileLimit() int { return usualFiles }
