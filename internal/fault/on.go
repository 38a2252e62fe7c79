//go:build faults

package fault

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var passed atomic.Int64

// Point kills the process with SIGKILL when APPROVALBOT_FAULT names this point
// and it has been passed as often as that says.
func Point(name string) {
	want, count, _ := strings.Cut(os.Getenv("APPROVALBOT_FAULT"), ":")
	if want != name {
		return
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	if passed.Add(1) == n {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal may take a moment
	}
}
