package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is a reference that runs as a child. It ends when its input closes,
// and so with this program, however that ends.
type process struct {
	cmd  *exec.Cmd
	in   io.Closer
	addr string // host:port
}

// child starts a program that prints its address when it is ready to serve.
func child(name string, args ...string) (*process, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, in: in}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s %s did not start: %w", name, strings.Join(args, " "), err)
	}
	p.addr = strings.TrimSpace(line)
	return p, nil
}

// self starts this program as a reference.
func self(args ...string) (*process, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return child(name, args...)
}

func (p *process) stop() {
	p.in.Close()
	_ = p.cmd.Wait()
}

// tick is the kernel's unit of processor time in /proc; it is the same on every
// Linux that Go runs on.
const tick = 10 * time.Millisecond

// processorTime gives what a process has used.
func processorTime(pid int) time.Duration {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ") // behind the program's name
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * tick
}

// memory gives one of a process's figures of memory in MB, by its name in
// /proc/PID/status: VmRSS is all that is resident, RssAnon what no file backs.
func memory(pid int, name string) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
