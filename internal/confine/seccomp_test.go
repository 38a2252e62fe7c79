//go:build linux

package confine

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Of sockets only those of TCP, MPTCP, UDP and echo requests are made, of Unix, and of routes and device events: for another pair
// of type and protocol the kernel would load a module.
func TestSockets(t *testing.T) {
	t.Parallel()
	vm, err := bpf.NewVM(append(append([]bpf.Instruction{bpf.LoadAbsolute{Off: offsetCall, Size: 4}}, sockets()...), bpf.RetConstant{Val: 1}))
	require.NoError(t, err)
	made := func(call, family, kind, protocol uint32) bool {
		var data [64]byte // struct seccomp_data, in the order of bytes that the VM reads
		for at, value := range map[int]uint32{offsetCall: call, offsetFirst: family, offsetSecond: kind, offsetThird: protocol} {
			binary.BigEndian.PutUint32(data[at:], value)
		}
		got, err := vm.Run(data[:])
		require.NoError(t, err)
		require.True(t, got == allow || got&0xffff0000 == fail, got)
		return got == allow
	}
	can := map[[3]uint32]bool{}
	for _, inet := range []uint32{unix.AF_INET, unix.AF_INET6} {
		for _, p := range []uint32{0, 6, 262} {
			can[[3]uint32{inet, unix.SOCK_STREAM, p}] = true
		}
		for _, p := range []uint32{0, 17} {
			can[[3]uint32{inet, unix.SOCK_DGRAM, p}] = true
		}
	}
	can[[3]uint32{unix.AF_INET, unix.SOCK_DGRAM, 1}], can[[3]uint32{unix.AF_INET6, unix.SOCK_DGRAM, 58}] = true, true
	for _, p := range []uint32{0, 15} {
		can[[3]uint32{unix.AF_NETLINK, unix.SOCK_RAW, p}], can[[3]uint32{unix.AF_NETLINK, unix.SOCK_DGRAM, p}] = true, true
	}
	for _, family := range []uint32{0, 1, 2, 3, 10, 15, 16, 17, 38, 40, 44} {
		for kind := range uint32(16) {
			for protocol := range uint32(300) {
				want := can[[3]uint32{family, kind, protocol}] || family == unix.AF_UNIX
				require.Equal(t, want, made(unix.SYS_SOCKET, family, kind, protocol), "%d %d %d", family, kind, protocol)
				require.Equal(t, want, made(unix.SYS_SOCKET, family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, protocol))
				for _, more := range []uint32{1 << 12, 1 << 16, 1 << 28} {
					require.False(t, made(unix.SYS_SOCKET, family|1<<16, kind, protocol) || family != unix.AF_UNIX && made(unix.SYS_SOCKET, family, kind, protocol|more))
				}
			}
		}
	}
}
