//go:build !linux

package connection

import "net"

// HungUp is not known here.
func HungUp(net.Conn) bool { return false }
