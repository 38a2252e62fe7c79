//go:build faults

package fault

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestPoint(t *testing.T) {
	if os.Getenv("APPROVALBOT_FAULT") != "" { // the process to die
		for range 2 {
			Point("here")
			os.Stdout.WriteString("passed\n")
		}
		return
	}
	for fault, want := range map[string]string{"here": "", "here:2": "passed\n", "there": "passed\npassed\n"} {
		c := exec.Command(os.Args[0], "-test.run=^TestPoint$", "-test.v=false")
		c.Env = append(os.Environ(), "APPROVALBOT_FAULT="+fault)
		out, err := c.Output()
		if len(out) > len(want) && fault == "there" {
			out = out[:len(want)] // then the test's own words
		}
		status, _ := c.ProcessState.Sys().(syscall.WaitStatus)
		if string(out) != want || status.Signaled() != (fault != "there") {
			t.Errorf("%s: %q, %v", fault, out, err)
		}
	}
}
