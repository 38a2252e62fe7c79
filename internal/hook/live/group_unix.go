//go:build unix

package live

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// ownGroup lets the program lead a process group, which ends with its context.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup ends what is left of the program's group.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // no process may be left
	}
}

// endOthers ends every process with that variable in its environment, if the system
// shows it (Linux): these are daemons that have left their group.
func endOthers(variable string) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		text, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		same := func(b []byte) bool { return string(b) == variable }
		if err == nil && pid > 1 && slices.ContainsFunc(bytes.Split(text, []byte{0}), same) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone by now
		}
	}
}
