//go:build !unix

package daemon

import (
	"errors"
	"net"
)

// hasSockets: this system has no modes that keep other users from a socket.
const hasSockets = false

func openSocket(string) (net.Listener, error) {
	return nil, errors.New("this system has no Unix sockets that other users cannot reach")
}
