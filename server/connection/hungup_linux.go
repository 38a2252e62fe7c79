package connection

import (
	"encoding/binary"
	"net"
	"syscall"
)

// established is the state of a TCP connection that neither side has closed
// (TCP_ESTABLISHED of include/net/tcp_states.h).
const established = 1

// HungUp reports whether the other side has closed its end of a TCP connection, or all
// of it. Unlike a read it knows so also where something unread stands before that.
func HungUp(c net.Conn) bool {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = raw.Control(func(fd uintptr) {
		// The first byte of struct tcp_info is the state.
		info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		first := binary.NativeEndian.AppendUint32(nil, uint32(info))[0]
		gone = err == nil && first != established
	})
	return gone
}
