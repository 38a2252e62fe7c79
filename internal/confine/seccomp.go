//go:build linux

package confine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// audited are the architectures whose system calls the filter knows. Calls of any other, such as those
// of 32-bit programs, end the process.
var audited = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// made are the sockets that may be made beside those of Unix: of these families, as others, such as vsock, have no namespace, and
// of these types and protocols together: for others the kernel loads modules, or logs what they are sent.
var made = slices.Concat(
	triples(unix.AF_INET, unix.SOCK_STREAM, 0, unix.IPPROTO_TCP, unix.IPPROTO_MPTCP),
	triples(unix.AF_INET, unix.SOCK_DGRAM, 0, unix.IPPROTO_UDP, unix.IPPROTO_ICMP),
	triples(unix.AF_INET6, unix.SOCK_STREAM, 0, unix.IPPROTO_TCP, unix.IPPROTO_MPTCP),
	triples(unix.AF_INET6, unix.SOCK_DGRAM, 0, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6),
	triples(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, unix.NETLINK_KOBJECT_UEVENT),
	triples(unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_ROUTE, unix.NETLINK_KOBJECT_UEVENT),
)

// triples are the sockets of a family and type, each as one number: the family from bit 16, the type from bit 12, the protocol.
func triples(family, kind uint32, protocols ...uint32) (all []uint32) {
	for _, protocol := range protocols {
		all = append(all, family<<16|kind<<12|protocol)
	}
	return all
}

// refused are system calls that reach the kernel where ordinary programs do not need to, or another
// process: pid 1 is bwrap, by the same user.
var refused = []uint32{
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES, unix.SYS_SYSLOG,
	// The kernel logs names of a command of which its own filter asks that, and paths of what a ruleset refuses.
	unix.SYS_SECCOMP, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF,
}

// ofOthers are system calls that change how a process is scheduled, and the arguments that are zero if it is the caller:
// with pid 1 behind thousands of others, a call would not end with its command.
var ofOthers = map[uint32][]uint32{
	unix.SYS_SETPRIORITY: {offsetFirst, offsetSecond}, unix.SYS_SCHED_SETSCHEDULER: {offsetFirst},
	unix.SYS_SCHED_SETPARAM: {offsetFirst}, unix.SYS_SCHED_SETATTR: {offsetFirst},
}

// lastKnown is the last system call that was looked at for this filter: newer ones, such as file_setattr, are refused as a
// kernel without them does, and programs do without.
const lastKnown = unix.SYS_MSEAL

// Offsets in struct seccomp_data, and what a filter returns.
const (
	offsetCall, offsetArch, offsetFirst, offsetSecond, offsetThird = 0, 4, 16, 24, 32

	allow = 0x7fff0000
	fail  = 0x00050000
)

// filter is the program that bwrap gives to the kernel.
func filter() ([]byte, error) {
	arch, ok := audited[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("the filter of system calls supports only amd64 and arm64, not %s", runtime.GOARCH)
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: fail | uint32(unix.ENOSYS)}, // not killed, which the kernel would log with names of the call
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: lastKnown, SkipTrue: 1}, // those of x32 are larger
		bpf.RetConstant{Val: fail | uint32(unix.ENOSYS)},
	}
	for _, call := range refused {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, bpf.RetConstant{Val: fail | uint32(unix.ENOSYS)})
	}
	program = append(program, sockets()...)
	program = append(program, only(unix.SYS_SOCKETPAIR, offsetFirst, []uint32{unix.AF_UNIX}, unix.EAFNOSUPPORT)...)
	for _, call := range slices.Sorted(maps.Keys(ofOthers)) {
		program = append(program, ownOnly(call, ofOthers[call])...)
	}
	program = append(program, noKeys()...)
	program = append(program, noFilters()...)
	program = append(program, keepImages()...)
	program = append(program, requests()...)
	raw, err := bpf.Assemble(append(program, bpf.RetConstant{Val: allow}))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, i := range raw {
		_ = binary.Write(&out, binary.NativeEndian, i) // a buffer takes all
	}
	return out.Bytes(), nil
}

// sockets lets the sockets through that may be made.
func sockets() []bpf.Instruction {
	refuse, pass := bpf.RetConstant{Val: fail | uint32(unix.EPROTONOSUPPORT)}, bpf.RetConstant{Val: allow}
	out := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 1},
		pass,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
		bpf.RetConstant{Val: fail | uint32(unix.EAFNOSUPPORT)},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 16},
		bpf.TAX{},
		bpf.LoadAbsolute{Off: offsetSecond, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}, // SOCK_TYPE_MASK of linux/net.h
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 12},
		bpf.ALUOpX{Op: bpf.ALUOpOr},
		bpf.TAX{},
		bpf.LoadAbsolute{Off: offsetThird, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: 0xfff, SkipTrue: 1},
		refuse,
		bpf.ALUOpX{Op: bpf.ALUOpOr},
	}
	for i, socket := range made {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: socket, SkipTrue: uint8(len(made) - i)})
	}
	out = append(out, refuse, pass)
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SOCKET, SkipTrue: uint8(len(out))}}, out...)
}

// noKeys refuses TCP_AO_ADD_KEY and its like, which name an algorithm that the kernel loads a module for.
func noKeys() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SETSOCKOPT, SkipTrue: 7},
		bpf.LoadAbsolute{Off: offsetSecond, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_TCP, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offsetThird, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 38, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: 40, SkipTrue: 1},
		bpf.RetConstant{Val: fail | uint32(unix.ENOPROTOOPT)},
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
	}
}

// only lets a call through whose argument is one of a few, and refuses it else.
func only(call, offset uint32, values []uint32, errno unix.Errno) []bpf.Instruction {
	n := uint8(len(values))
	out := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: n + 4},
		bpf.LoadAbsolute{Off: offset, Size: 4},
	}
	for i, v := range values {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: n - uint8(i)})
	}
	return append(out, bpf.RetConstant{Val: fail | uint32(errno)}, bpf.RetConstant{Val: allow}, bpf.LoadAbsolute{Off: offsetCall, Size: 4})
}

// ownOnly refuses a call with one of these arguments.
func ownOnly(call uint32, offsets []uint32) []bpf.Instruction {
	n := uint8(len(offsets))
	out := []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 2*n + 2}}
	for i, at := range offsets {
		out = append(out, bpf.LoadAbsolute{Off: at, Size: 4}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2*(n-uint8(i)) - 1})
	}
	return append(out, bpf.RetConstant{Val: allow}, bpf.RetConstant{Val: fail | uint32(unix.EPERM)})
}

// noFilters refuses filters of the command's own, as a kernel without them does.
func noFilters() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_PRCTL, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offsetFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.PR_SET_SECCOMP, SkipTrue: 1},
		bpf.RetConstant{Val: fail | uint32(unix.EINVAL)}, bpf.RetConstant{Val: allow},
	}
}

// keepImages lets a process believe that it has set the limit of its memory images, which stays what limits made it.
func keepImages() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SETRLIMIT, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offsetFirst, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.RLIMIT_CORE, SkipTrue: 1},
		bpf.RetConstant{Val: fail}, bpf.RetConstant{Val: allow},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_PRLIMIT64, SkipTrue: 8},
		bpf.LoadAbsolute{Off: offsetSecond, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.RLIMIT_CORE, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offsetThird, Size: 4}, // no address: it only asks
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 3},
		bpf.LoadAbsolute{Off: offsetThird + 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: allow}, bpf.RetConstant{Val: fail},
	}
}

// requests lets through what programs ask of terminals, pipes and sockets, and a few questions to files. Those of file
// systems are refused: some exchange the contents of files and leave their times as they are.
func requests() []bpf.Instruction {
	never := []uint32{unix.TIOCSTI, unix.TIOCLINUX,
		unix.TIOCSETD, 0x89a0, 0x89a1, 0x89a2, 0x89a3, // SIOCBRADDBR and its like
		unix.SIOCGIFBR, unix.SIOCSIFBR, unix.SIOCGIFVLAN, unix.SIOCSIFVLAN} // have the kernel load modules
	exact := []uint32{unix.FICLONE, unix.FICLONERANGE, unix.FS_IOC_GETFLAGS}
	m, n := uint8(len(never)), uint8(len(exact))
	out := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IOCTL, SkipTrue: m + n + 6},
		bpf.LoadAbsolute{Off: offsetSecond, Size: 4},
	}
	for i, v := range never {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: m - uint8(i) + n + 2})
	}
	for i, v := range exact {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: n - uint8(i) + 3})
	}
	return append(out,
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff00}, // whose driver is meant
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 'T' << 8, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0x8900, SkipTrue: 1}, // of sockets
		bpf.RetConstant{Val: fail | uint32(unix.ENOTTY)}, bpf.RetConstant{Val: allow})
}
