package connection

import (
	"encoding/binary"
	"net"
	"syscall"
)

// established is the state of a TCP connection that neither side has closed
// (TCP_ESTABLISHED of include/net/tcp_states.h).
const established = 1

// HungUp reports whether the other side has closed its end of a TCP connection or a Unix
// socket, or all of it. Unlike a read it knows so of TCP also if something unread comes
// before that.
func HungUp(c net.Conn) bool {
	control, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := control.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = raw.Control(func(fd uintptr) {
		if c.LocalAddr().Network() == "unix" {
			n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			gone = n == 0 && err == nil
			return
		}
		// The first byte of struct tcp_info is the state.
		info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		first := binary.NativeEndian.AppendUint32(nil, uint32(info))[0]
		gone = err == nil && first != established
	})
	return gone
}
