package reach

import (
	"net"
	"syscall"
)

// peerOf is the user of the process that listens at a Unix socket.
func peerOf(conn net.Conn) (uid int, known bool) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if err == nil {
			uid, known = int(peer.Uid), true
		}
	})
	return uid, known && err == nil
}
