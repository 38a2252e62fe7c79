package answer

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"approvalbot/internal/confine"
	"approvalbot/internal/display"
	"approvalbot/internal/hook"
)

// confiner is this program, if it can confine a command of the client that calls the hook with these flags, for an event
// with this body; else it is empty, and the call is asked for as it is. doctor says why. It remembers what it saw.
func confiner(f Flags, event string, body []byte) []string {
	program, err := os.Executable()
	client := f.Caller
	if err != nil || !confine.Possible() || client <= 0 {
		return nil
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(client), "cmdline"))
	if err != nil {
		return nil
	}
	began, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(client), "environ"))
	if err != nil {
		return nil
	}
	// The shell between them hands on no variable whose name is none to it, such as an exported function of bash.
	given, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(os.Getppid()), "environ"))
	if err != nil {
		return nil
	}
	since, err := startOf(client)
	if err != nil {
		return nil
	}
	own, err := os.ReadFile("/proc/self/cmdline") // its first word is that with which the hook starts it
	if err != nil {
		return nil
	}
	words := func(text []byte) []string { return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00") }
	name, err := recordOf(client, since.ticks)
	if err != nil {
		return nil
	}
	_, err = os.Stat(name)
	first := event == hook.SessionStart && errors.Is(err, fs.ErrNotExist)
	dir, record := hook.PlaceOf(body)
	setup := hook.ClaudeSetup{Environ: words(given), Began: words(began), Home: os.Getenv("HOME"), Program: words(own)[0], File: f.Client,
		Started: since.at, Arguments: words(line), Dir: dir, Record: record, Page: hook.PageOf(body), Starts: first,
		Bypasses: hook.BypassesOf(body), OfSession: event == hook.SessionStart}
	seen, err := setup.Alone()
	if err != nil || event == hook.ConfigChange || event == hook.DirectoryAdded {
		seen = notAlone
	}
	if !alwaysSaw(name, seen, first) {
		return nil
	}
	return []string{program}
}

// notAlone is seen where something else may judge or change commands.
const notAlone = "not alone"

// clients is the folder, beside the state of confined calls, with what is remembered of processes of Claude Code.
const clients = "claude-code"

// recordOf is the file in which it is remembered what a client's process saw.
func recordOf(client int, ticks string) (string, error) {
	state, err := confine.State(os.Getenv("HOME"), os.Getenv("XDG_STATE_HOME"))
	if err != nil {
		return "", err
	}
	numbers, err := os.Readlink("/proc/self/ns/pid") // in which the client has its number
	return filepath.Join(filepath.Dir(state), clients, strings.Trim(numbers, "pid:[]"), fmt.Sprintf("%d-%s", client, ticks)), err
}

// alwaysSaw reports whether a client's process saw the same of its settings when it started as at each call since, and
// nothing else that judges: the client goes on with what it read, also if an agent has removed it since.
func alwaysSaw(name, seen string, first bool) bool {
	before, err := os.ReadFile(name)
	if first && errors.Is(err, fs.ErrNotExist) {
		before, err = firstSaw(name, seen)
	}
	if err == nil && seen != notAlone && string(before) == seen {
		return true
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
		_ = os.WriteFile(name, []byte(notAlone), 0o600) // if it cannot be written, the next call compares with the start again
	}
	return false
}

// firstSaw remembers what a client saw at its start, and gives what is remembered: another event may have been quicker.
func firstSaw(name, seen string) ([]byte, error) {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	forget(dir)
	whole := fmt.Sprintf("%s.%d", name, os.Getpid())
	defer os.Remove(whole)
	if err := os.WriteFile(whole, []byte(seen), 0o600); err != nil {
		return nil, err
	}
	if err := os.Link(whole, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(name)
}

// forget removes what is remembered of processes that have ended, in this namespace of processes.
func forget(dir string) {
	all, _ := os.ReadDir(dir) // none are no harm
	for _, e := range all {
		pid, _, _ := strings.Cut(e.Name(), "-")
		if _, err := os.Stat(filepath.Join("/proc", pid)); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// ticks is how many a second has in /proc/PID/stat (proc(5), on the architectures that are confined on).
const ticks = 100

// start is when a process began.
type start struct {
	at    time.Time
	ticks string // since the machine started, as the kernel says it: no two processes of one number have the same
}

func startOf(pid int) (start, error) {
	now := time.Now()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return start{}, err
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return start{}, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return start{}, errors.New("the process's start is not known")
	}
	var uptime float64
	_, err = fmt.Sscan(string(text), &uptime)
	since, sinceErr := strconv.ParseFloat(fields[19], 64)
	at := now.Add(time.Duration((since/ticks - uptime) * float64(time.Second)))
	return start{at, fields[19]}, errors.Join(err, sinceErr)
}

// Confining is the verb confine, of approvalbot and of approvalbot-hook: a hook's replaced command starts the program
// that is the hook.
type Confining struct {
	Workspaces []string // that the command may change; empty: the working directory
	Show       []string // folders that it may read, too
	Readable   []string // names of files of the workspaces that are not hidden as secrets
	MayRemove  bool     // its work is kept also if it removed what cannot be had back
	Asked      string   // the call for which the desk was asked, see [running.file]; it asks people if that comes again after it failed
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
	if f.Asked != "" && status != 0 {
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
	if f.Asked != "" {
		leave, err := enterConfined(ctx, f.Asked, s.Stderr)
		if err != nil {
			return confine.NotConfined, err
		}
		defer leave()
		var stop context.CancelFunc
		ctx, stop = whileClient(ctx, f.Asked)
		defer stop()
	}
	status, _, err := confine.Run(ctx, confine.Call{State: state, Workspaces: f.Workspaces, Show: f.Show, Readable: f.Readable, Dir: dir,
		MayRemove: f.MayRemove, Argv: argv, Env: environ, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr})
	for refused := range confine.AllRefused(err) {
		if len(refused.Lost) > 0 && f.Asked == "" {
			fmt.Fprintln(s.Stderr, "approvalbot: if it is to remove files, run it with --may-remove")
		}
	}
	return status, err
}

// Beside is the verb beside: the shell of a call that is to run as it is calls it first, with the call's name and the number of
// a descriptor, see [enterBeside]. It gives the exit status.
func Beside(ctx context.Context, s Streams, args []string) int {
	err := beside(ctx, s, args)
	if err == nil {
		return 0
	}
	fmt.Fprintf(s.Stderr, "approvalbot: not run, since it could not be kept from running beside a confined command: %s\n",
		display.Escape(err.Error()))
	return confine.NotConfined
}

func beside(ctx context.Context, s Streams, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("approvalbot beside takes a call and a descriptor, but got %d words", len(args))
	}
	descriptor, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	return enterBeside(ctx, args[0], descriptor, s.Stderr)
}

// runConfined is approvalbot-hook confine. It is for commands that a hook replaced.
func runConfined(ctx context.Context, args []string, s Streams) int {
	var f Confining
	set := flag.NewFlagSet("approvalbot-hook confine", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for name, list := range map[string]*[]string{"workspace": &f.Workspaces, "show": &f.Show, "readable": &f.Readable} {
		set.Func(name, "", func(value string) error { *list = append(*list, value); return nil })
	}
	set.StringVar(&f.Asked, "asked", "", "")
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
