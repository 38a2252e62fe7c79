package answer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"approvalbot/internal/confine"
	"approvalbot/internal/display"
	"approvalbot/internal/hook"
)

// confiner is this program, if it can confine a command of the client with that process id; else it is empty, and the
// call is asked for as it is. doctor says why.
func confiner(client int) []string {
	program, err := os.Executable()
	if err != nil || !confine.Possible() || client <= 0 {
		return nil
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(client), "cmdline"))
	if err != nil {
		return nil
	}
	since, err := started(client)
	setup := hook.ClaudeSetup{Environ: os.Environ(), Home: os.Getenv("HOME"), Program: program, Started: since,
		Arguments: strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")}
	if err != nil || setup.Alone() != nil {
		return nil
	}
	return []string{program}
}

// ticks is how many a second has in /proc/PID/stat (proc(5), on the architectures that are confined on).
const ticks = 100

// started is when a process began.
func started(pid int) (time.Time, error) {
	now := time.Now()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return now, err
	}
	up, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return now, err
	}
	var since, uptime float64
	_, rest, _ := strings.Cut(string(stat), ") ")
	if f := strings.Fields(rest); len(f) > 19 {
		since, err = strconv.ParseFloat(f[19], 64)
	}
	if _, scanErr := fmt.Sscan(string(up), &uptime); err != nil || scanErr != nil || since == 0 {
		return now, errors.New("the client's start is not known")
	}
	return now.Add(-time.Duration((uptime - since/ticks) * float64(time.Second))), nil
}

// Confining is the verb confine, of approvalbot and of approvalbot-hook: a hook's replaced command starts the program
// that is the hook.
type Confining struct {
	Workspaces []string // that the command may change; empty: the working directory
	Show       []string // folders that it may read, too
	Readable   []string // names of files of the workspaces that are not hidden as secrets
	Asked      bool     // the desk was asked for the command, and asks people if it comes again after it failed
}

// Run runs a command confined, with the variables HOME and XDG_STATE_HOME of its environment, and gives the exit status.
func (f Confining) Run(ctx context.Context, s Streams, environ, argv []string) int {
	status, err := f.run(ctx, s, environ, argv)
	switch {
	case err != nil && status == confine.NotConfined:
		fmt.Fprintf(s.Stderr, "approvalbot: not run, since it could not be confined: %s\n", display.Escape(err.Error()))
	case err != nil:
		fmt.Fprintf(s.Stderr, "approvalbot: %s\n", display.Escape(err.Error()))
	}
	if f.Asked && status != 0 {
		fmt.Fprintln(s.Stderr, AgainAsks)
	}
	return status
}

// AgainAsks is what a model reads of a command that failed confined.
const AgainAsks = "approvalbot: the command ran confined: it had no network, and could change only its workspace. " +
	"The same command again asks a person"

func (f Confining) run(ctx context.Context, s Streams, environ, argv []string) (int, error) {
	dir, err := os.Getwd()
	if err != nil {
		return confine.NotConfined, err
	}
	if len(f.Workspaces) == 0 {
		f.Workspaces = []string{dir}
	}
	var home, state string
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); name == "HOME" {
			home = value
		} else if name == "XDG_STATE_HOME" {
			state = value
		}
	}
	if state, err = confine.State(home, state); err != nil {
		return confine.NotConfined, err
	}
	status, _, err := confine.Run(ctx, confine.Call{State: state, Workspaces: f.Workspaces, Show: f.Show, Readable: f.Readable, Dir: dir,
		Argv: argv, Env: environ, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr})
	return status, err
}

// runConfined is approvalbot-hook confine. It is for commands that a hook replaced.
func runConfined(ctx context.Context, args []string, s Streams) int {
	var f Confining
	set := flag.NewFlagSet("approvalbot-hook confine", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for name, list := range map[string]*[]string{"workspace": &f.Workspaces, "show": &f.Show, "readable": &f.Readable} {
		set.Func(name, "", func(value string) error { *list = append(*list, value); return nil })
	}
	set.BoolVar(&f.Asked, "asked", false, "")
	err := set.Parse(args)
	if err == nil && set.NArg() == 0 {
		err = errors.New("no command was given; usage: approvalbot-hook confine [flags] -- CMD [ARG...]")
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "approvalbot-hook confine: %v\n", err)
		return confine.NotConfined
	}
	return f.Run(ctx, s, os.Environ(), set.Args())
}
