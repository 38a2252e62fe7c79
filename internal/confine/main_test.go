//go:build linux

package confine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// nobody is the user whom the tests run as on a machine where they are started by root, who is not confined.
const nobody = 65534

func TestMain(m *testing.M) {
	if Overlaying(os.Args) {
		os.Exit(Overlay(os.Args))
	}
	if os.Getenv(asWrapper) != "" {
		os.Exit(wrap(os.Args[1:]))
	}
	if os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	code, err := asUser()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// asWrapper is set where the test binary is to be approvalbot confine.
const asWrapper = "APPROVALBOT_TEST_CONFINES"

// more is set to more workspaces.
const more = "APPROVALBOT_TEST_MORE"

// shows is set to folders that are shown.
const shows = "APPROVALBOT_TEST_SHOWS"

// killedAt is set to the number of changes of the workspace after which the wrapper is killed.
const killedAt = "APPROVALBOT_TEST_KILLED_AT"

// whileCopied is set to the file of a script that the host runs before the first change of the workspace.
const whileCopied = "APPROVALBOT_TEST_WHILE_COPIED"

// summed is set to the number of bytes that are compared of what a call takes away.
const summed = "APPROVALBOT_TEST_SUMMED"

// watched is set to a file with the number of folders that the user may watch.
const watched = "APPROVALBOT_TEST_WATCHED"

// mayRemove is set where the call may take away files that cannot be had back.
const mayRemove = "APPROVALBOT_TEST_MAY_REMOVE"

func wrap(args []string) int {
	if script := os.Getenv(whileCopied); script != "" {
		step = func() {
			step = func() {}
			if out, err := exec.Command("sh", "-e", script).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v, %s\n", script, err, out)
			}
		}
	}
	if file := os.Getenv(watched); file != "" {
		watchesFile = file
	}
	if n, err := strconv.ParseInt(os.Getenv(summed), 10, 64); err == nil {
		mostSummed = n
	}
	if n := os.Getenv(killedAt); n != "" {
		left, _ := strconv.Atoi(n)
		step = func() {
			if left--; left < 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
	}
	status, _, err := Run(context.Background(), Call{State: args[0], Show: strings.Fields(os.Getenv(shows)), Workspaces: append(strings.Fields(os.Getenv(more)), args[1]), Dir: args[1], MayRemove: os.Getenv(mayRemove) != "", Argv: args[2:],
		Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "approvalbot:", err)
	}
	return status
}

// asUser runs this test binary once more as an ordinary user.
func asUser() (int, error) {
	home, err := os.MkdirTemp("", "confine-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(home)
	self := filepath.Join(home, "confine.test")
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return 1, err
	}
	if err := os.WriteFile(self, program, 0755); err != nil {
		return 1, err
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		return 1, err
	}
	var args []string
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.testlogfile") && !strings.HasPrefix(a, "-test.coverprofile") {
			args = append(args, a)
		}
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}
