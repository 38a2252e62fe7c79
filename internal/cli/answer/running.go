package answer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"approvalbot/internal/confine"
	"approvalbot/internal/hook"
)

// running are the calls of one process of Claude Code that may run now. A command holds a lock from its start until all that
// it started has ended, confined or not (see [confine.Enter]). A call that the client runs by itself holds none, so it has a
// file here, from the hook's answer until the client says that it has ended. A command has one until it starts.
type running struct {
	dir    string // empty: there is none
	record string // the file in which the client keeps what was said; empty if that is not known
}

const (
	startTime = 30 * time.Second       // in which a confined command must start after it was allowed
	shortTime = 300 * time.Millisecond // in which most commands end beside which a call could not run confined
	waitTime  = 10 * time.Minute       // for confined commands; Claude Code ends its own in that time

	callsEnd = ".calls"
	callEnd  = ".call"  // beside files of locks
	mostSaid = 64 << 20 // bytes that are looked through of what was said
	inRecord = "\n"     // between what is noted of an unconfined call and the client's record of it

	// What is noted of a call, beside its kind:
	started = "started " // confined, by the process of that number
	starts  = "starts"   // unconfined, a command that has not started
	lasts   = "lasts"    // unconfined, and it may run until the client ends

	unreadable = "unreadable" // what is noted cannot be read
)

func runningOf(client int, body []byte) (running, error) {
	since, err := startOf(client)
	if err != nil {
		return running{}, err
	}
	name, err := recordOf(client, since.ticks)
	_, record := hook.PlaceOf(body)
	return running{dir: name + callsEnd, record: record}, err
}

// lock is the file that unconfined commands lock.
func (r running) lock() string { return confine.LockOf(r.dir, confine.Unconfined) }

// unconfined gives what is noted of a call that is to run as it is.
func (r running) unconfined(c hook.Call) string {
	switch {
	case c.Instead != nil:
		return starts
	case c.Lasts():
		return lasts
	}
	if c.OfServer() { // if its user interrupts it, the server may go on, also if the record has a result
		return string(confine.Unconfined) + inRecord
	}
	return r.runs()
}

// runs is what is noted of a call until it has ended.
func (r running) runs() string { return string(confine.Unconfined) + inRecord + r.record }

// begin notes that a call runs, as soon as none of the other kind does. It tries at least once. No call is confined any more
// while an unconfined one waits.
func (r running) begin(ctx context.Context, c hook.Call, kind confine.Kind) (err error) {
	what := string(kind)
	if kind == confine.Unconfined {
		what = r.unconfined(c)
	}
	before, missing := os.ReadFile(r.file(c))
	switch text := string(before); {
	case missing != nil:
	case kind == confine.Unconfined:
		what = lasts // another call has that name, and the first of them to end would be taken for both
	case text == lasts, strings.HasPrefix(text, string(confine.Unconfined)):
		return errors.New("another call of that name runs")
	}
	say := func(what string) error { return errors.Join(os.MkdirAll(r.dir, 0o700), note(r.file(c), what)) }
	if kind == confine.Unconfined {
		waiting := what
		if what == starts { // which ends soon
			waiting = r.runs()
		}
		if err = say(waiting); err != nil {
			return err
		}
		defer func() {
			if err != nil && what != lasts {
				_ = os.Remove(r.file(c))
			}
		}()
	}
	var noted error
	leave, err := confine.Enter(ctx, r.dir, kind, io.Discard, func() bool {
		if other(r.file(c), kind) != "" {
			return false
		}
		noted = say(what)
		return true
	})
	if err != nil {
		return err
	}
	leave()
	return noted
}

// free reports whether the call could run confined now, or in a moment.
func (r running) free(ctx context.Context, c hook.Call) bool {
	if r.dir == "" || c.ID == "" {
		return false
	}
	ctx, stop := shortly(ctx)
	defer stop()
	leave, err := confine.Enter(ctx, r.dir, confine.Confined, io.Discard, func() bool {
		why := other(r.file(c), confine.Confined)
		if why == lasts {
			stop()
		}
		if try := r.file(c) + ".try"; why == "" && os.WriteFile(try, nil, 0o600) == nil { // else it could not be noted later
			return os.Remove(try) == nil
		}
		return false
	})
	if err != nil {
		return false
	}
	leave()
	return true
}

// held waits until an unconfined call may run, and says why it may not. none: there is no folder, so no call is confined.
func (r running) held(ctx context.Context, c hook.Call) (why string, none bool) {
	ctx, stop := context.WithTimeout(ctx, waitTime)
	defer stop()
	err := r.begin(ctx, c, confine.Unconfined)
	_, missing := os.Stat(r.dir)
	switch {
	case err == nil:
		return "", false
	case missing != nil && ctx.Err() == nil:
		return "", true
	case ctx.Err() != nil:
		return "a confined command of this session still runs; when it has ended, make the same call again", false
	}
	return "it could not be noted that the call runs, in the folder with the state of confined calls, so it was not allowed", false
}

// over notes what the client says after a call. A confined command that goes on in the background is ended, as no other
// command could run beside it.
func (r running) over(c hook.Call) {
	what, err := os.ReadFile(r.file(c))
	number, confined := strings.CutPrefix(string(what), started)
	switch {
	case c.GoesOn() && c.Runs() && !c.IsCommand():
		_ = note(r.file(c), lasts) // also if another hook has found its first answer; without the folder nothing is confined
		return
	case err != nil, string(what) == lasts:
		return
	case confined && !c.Ended():
		r.stop(c, number)
	}
	_ = os.Remove(r.file(c)) // if it stays, no call is confined
}

// never takes back the note of a call that was denied after it.
func (r running) never(c hook.Call) {
	if what, err := os.ReadFile(r.file(c)); r.dir != "" && err == nil && string(what) != lasts {
		_ = os.Remove(r.file(c)) // if it stays, no call is confined
	}
}

// note says something of a call. No hook reads a part of it.
func note(file, what string) error {
	aside := file + ".new"
	if err := os.WriteFile(aside, []byte(what), 0o600); err != nil {
		return err
	}
	return os.Rename(aside, file)
}

// answered reports whether the client has kept a result of that call in that record of what was said, or in one of its
// subagents'. It does also of a call that its user interrupted, of which no event says that it has ended.
func answered(record, id string) bool {
	if record == "" {
		return false
	}
	of, _ := filepath.Glob(filepath.Join(globbed(strings.TrimSuffix(record, filepath.Ext(record))), "subagents", "*"+filepath.Ext(record)))
	return slices.ContainsFunc(append(of, record), func(file string) bool { return answers(file, id) })
}

// globbed is a path as a pattern that only it matches.
func globbed(path string) string { return globSigns.Replace(path) }

var globSigns = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// answers reports whether a file of what was said has a result of that call.
func answers(file, id string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostSaid))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if hook.Answers(line, id) {
			return true
		}
	}
	return false
}

// stop ends the confined command of a call, which is the process of that number unless it has ended.
func (r running) stop(c hook.Call, number string) {
	words, err := os.ReadFile(filepath.Join("/proc", number, "cmdline"))
	pid, numberErr := strconv.Atoi(number)
	if err != nil || numberErr != nil || !strings.Contains(string(words), r.file(c)) {
		return
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(syscall.SIGTERM) // else it has ended
	}
}

func (r running) file(c hook.Call) string {
	return filepath.Join(r.dir, cmp.Or(c.RequestID(), "unnamed")+callEnd)
}

// other gives what is noted of a call of the other kind than that which may run, apart from the call with that file; empty if
// there is none.
func other(own string, kind confine.Kind) string {
	all, err := os.ReadDir(filepath.Dir(own))
	if err != nil {
		return unreadable
	}
	for _, e := range all {
		name := filepath.Join(filepath.Dir(own), e.Name())
		if name == own || filepath.Ext(name) != callEnd {
			continue
		}
		text, err := os.ReadFile(name)
		info, statErr := os.Stat(name)
		if errors.Is(err, os.ErrNotExist) || errors.Is(statErr, os.ErrNotExist) {
			continue
		}
		what, record, _ := strings.Cut(string(text), inRecord)
		confined := what == string(confine.Confined) || strings.HasPrefix(what, started)
		switch {
		case err != nil, statErr != nil, what == "":
			return unreadable
		case confined == (kind == confine.Confined), strings.HasPrefix(what, started):
		case confined, what == starts:
			if time.Since(info.ModTime()) < startTime {
				return what
			}
			_ = os.Remove(name) // a confined command does not start any more, and an unconfined one waits when it does
		case what == string(confine.Unconfined) && answered(record, strings.TrimSuffix(e.Name(), callEnd)):
			_ = os.Remove(name)
		default:
			return what
		}
	}
	return ""
}

// enterConfined waits until the command of the call with that file may run confined, and notes that it does.
func enterConfined(ctx context.Context, file string, says io.Writer) (leave func(), err error) {
	if err := isCall(file); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	var noted error
	leave, err = confine.Enter(ctx, filepath.Dir(file), confine.Confined, says, func() bool {
		what, err := os.ReadFile(file)
		if err == nil && string(what) != string(confine.Confined) {
			err = errors.New("it runs already")
		}
		if noted = err; err == nil {
			noted = note(file, started+strconv.Itoa(os.Getpid()))
		}
		return true
	})
	if err == nil && noted != nil {
		leave()
		return nil, fmt.Errorf("a command must start within %s after it was allowed (%w); make the same call again", startTime, noted)
	}
	return leave, err
}

// enterBeside waits until the command of a call may run unconfined, and locks the file that its shell has open as that
// descriptor: what the shell starts keeps it.
func enterBeside(ctx context.Context, file string, descriptor int, says io.Writer) error {
	if err := isCall(file); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, waitTime)
	defer stop()
	var held error
	leave, err := confine.Enter(ctx, filepath.Dir(file), confine.Unconfined, says, func() bool {
		held = confine.Hold(filepath.Dir(file), confine.Unconfined, descriptor)
		return true
	})
	if err != nil {
		return err
	}
	leave()
	if what, err := os.ReadFile(file); err == nil && string(what) == starts {
		_ = os.Remove(file) // it only bridged the time until now
	}
	return held
}

// client gives the process of Claude Code whose call has that file, as [recordOf] names it.
func client(file string) (pid int, ticks string) {
	name, ticks, _ := strings.Cut(strings.TrimSuffix(filepath.Base(filepath.Dir(file)), callsEnd), "-")
	pid, _ = strconv.Atoi(name)
	return pid, ticks
}

// whileClient is a context that ends with the client whose call has that file: another one, which may go on with its session,
// does not know what this one left.
func whileClient(ctx context.Context, file string) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	pid, ticks := client(file)
	go func() {
		look := time.NewTicker(parentLook)
		defer look.Stop()
		for {
			if now, err := startOf(pid); err != nil || now.ticks != ticks {
				stop()
			}
			select {
			case <-look.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, stop
}

// isCall says why that is not the name of a call's file, which the hook gives as a whole: the shell of the command may have
// another HOME or XDG_STATE_HOME.
func isCall(file string) error {
	if !filepath.IsAbs(file) || filepath.Ext(file) != callEnd || filepath.Ext(filepath.Dir(file)) != callsEnd {
		return fmt.Errorf("that names no call: %q", file)
	}
	return nil
}

// shortly is a context for what most commands end in.
func shortly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, shortTime)
}
