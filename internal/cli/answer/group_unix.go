//go:build unix

package answer

import "syscall"

// leaveGroup lets a kill of the process group miss this program: it sees that its caller has gone, and withdraws.
func leaveGroup() {
	_ = syscall.Setpgid(0, 0) // a session's leader cannot leave; then it is killed as before
}
