package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"approvalbot/internal/confine"
	"approvalbot/internal/hook"
)

// running are the calls of one process of Claude Code that may run now. What it runs unconfined holds no lock, so each call has a
// file here, from the hook's answer until the client says that it has ended.
type running struct {
	dir    string // empty: there is none
	client int
}

const (
	startTime = 30 * time.Second // in which a confined command must start after it was allowed
	waitTime  = 10 * time.Minute // for confined commands; Claude Code ends its own in that time

	callEnd = ".call" // beside files of locks

	// What is noted of a call, beside its kind:
	started = "started " // confined, by the process of that number; it holds a lock until it ends
	left    = "left"     // unconfined, and the client has gone on; its processes may not have ended
	outlive = "outlive"  // unconfined, and some processes may go on that nobody finds
)

func runningOf(client int) (running, error) {
	since, err := startOf(client)
	if err != nil {
		return running{}, err
	}
	name, err := recordOf(client, since.ticks)
	return running{name + ".calls", client}, err
}

// begin notes that a call runs, as soon as none of the other kind does. It tries at least once.
func (r running) begin(ctx context.Context, c hook.Call, kind confine.Kind) error {
	what := string(kind)
	if kind == confine.Unconfined && c.Outlives() {
		what = outlive
	}
	var noted error
	leave, err := confine.Enter(ctx, r.dir, kind, io.Discard, func() bool {
		if r.has(c, kind) {
			return false
		}
		noted = os.WriteFile(r.file(c), []byte(what), 0o600)
		return true
	})
	if err != nil {
		return err
	}
	leave()
	return noted
}

// free reports whether the call could run confined now.
func (r running) free(c hook.Call) bool {
	if r.dir == "" || c.ID == "" {
		return false
	}
	leave, err := confine.Enter(once(), r.dir, confine.Confined, io.Discard, func() bool { return !r.has(c, confine.Confined) })
	if err != nil {
		return false
	}
	leave()
	return true
}

// over notes what the client says after a call. A confined command that goes on in the background is ended, as no other
// command could run beside it.
func (r running) over(c hook.Call) {
	what, err := os.ReadFile(r.file(c))
	number, confined := strings.CutPrefix(string(what), started)
	switch {
	case err != nil || string(what) == outlive:
		return
	case confined && !c.Ended():
		pid, err := strconv.Atoi(number)
		words, readErr := os.ReadFile(filepath.Join("/proc", number, "cmdline"))
		if p, findErr := os.FindProcess(pid); errors.Join(err, readErr, findErr) == nil && strings.Contains(string(words), r.asked(c)) {
			_ = p.Signal(syscall.SIGTERM) // else it has ended
		}
	case string(what) == string(confine.Unconfined) && !c.Ended():
		info, err := os.Stat(r.file(c))
		if err == nil && os.WriteFile(r.file(c), []byte(left), 0o600) == nil {
			_ = os.Chtimes(r.file(c), info.ModTime(), info.ModTime()) // processes since it was allowed; no time is later
		}
		return
	}
	_ = os.Remove(r.file(c)) // if it stays, no call is confined
}

func (r running) file(c hook.Call) string {
	return filepath.Join(r.dir, cmp.Or(c.RequestID(), "unnamed")+callEnd)
}

// asked names the call's file for the command that runs it confined.
func (r running) asked(c hook.Call) string {
	file := r.file(c)
	rel, err := filepath.Rel(filepath.Dir(filepath.Dir(filepath.Dir(file))), file)
	if err != nil {
		return ""
	}
	return rel
}

// has reports whether a call of the other kind than that may run, apart from this very call.
func (r running) has(c hook.Call, kind confine.Kind) bool {
	all, err := os.ReadDir(r.dir)
	if err != nil {
		return true
	}
	for _, e := range all {
		name := filepath.Join(r.dir, e.Name())
		if name == r.file(c) || filepath.Ext(name) != callEnd {
			continue
		}
		text, err := os.ReadFile(name)
		info, statErr := os.Stat(name)
		if errors.Is(err, os.ErrNotExist) || errors.Is(statErr, os.ErrNotExist) {
			continue
		}
		what := string(text)
		confined := what == string(confine.Confined)
		switch {
		case err != nil || statErr != nil:
			return true
		case strings.HasPrefix(what, started), confined && kind == confine.Confined, !confined && kind == confine.Unconfined:
		case confined && time.Since(info.ModTime()) < startTime, !confined && (what != left || r.alive(info.ModTime())):
			return true
		default:
			_ = os.Remove(name) // a confined command that has not started does not start any more
		}
	}
	return false
}

// enterAsked waits until the command of a call may run confined, and notes that it does. The call is named as by
// [running.asked], in the folder with what is remembered of clients.
func enterAsked(ctx context.Context, clients, call string, says io.Writer) (leave func(), err error) {
	if !filepath.IsLocal(call) {
		return nil, fmt.Errorf("--asked names no call: %q", call)
	}
	file := filepath.Join(clients, call)
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	var noted error
	leave, err = confine.Enter(ctx, filepath.Dir(file), confine.Confined, says, func() bool {
		what, err := os.ReadFile(file)
		if err == nil && string(what) != string(confine.Confined) {
			err = errors.New("it runs already")
		}
		if noted = err; err == nil {
			noted = os.WriteFile(file, fmt.Appendf(nil, "%s%d", started, os.Getpid()), 0o600)
		}
		return true
	})
	if err == nil && noted != nil {
		leave()
		return nil, fmt.Errorf("a command must start within %s after it was allowed (%w); make the same call again", startTime, noted)
	}
	return leave, err
}

// alive reports whether the client has processes that began after that time, apart from this one and those between them, or
// whether one has been left by such.
func (r running) alive(since time.Time) bool {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	processes := map[int]start{}
	for _, e := range all {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s, err := startOf(pid); err == nil { // else it has ended
				processes[pid] = s
			}
		}
	}
	return afterwards(processes, r.client, os.Getpid(), since.Add(-time.Second)) // times of processes are rounded
}

// afterwards reports whether a process began after that time that has the client above it and is not self or between them, or
// that has lost what was between them: a shell that is killed leaves what it started in its session.
func afterwards(processes map[int]start, client, self int, since time.Time) bool {
	between := map[int]bool{}
	for pid := self; pid != 0; pid = processes[pid].parent {
		between[pid] = true
	}
	for pid, s := range processes {
		if between[pid] || s.at.Before(since) {
			continue
		}
		if _, led := processes[s.session]; s.session == processes[client].session || !led && own(pid) {
			return true
		}
		for ; pid != 0; pid = processes[pid].parent {
			if processes[pid].parent == client {
				return true
			}
		}
	}
	return false
}

// own reports whether a process is one of this user's.
func own(pid int) bool {
	_, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	return err == nil
}

// once is a context with which something is tried once.
func once() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}
