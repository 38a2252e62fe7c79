package answer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"approvalbot/internal/confine"
	"approvalbot/internal/hook"
)

// running are the calls of a client's process that may run now: what it runs holds no lock, so each has a file until the
// client says that it has ended. Of calls that have no such end, for example because the user interrupted them, the
// processes tell.
type running struct {
	dir, state string
	client     int
}

const (
	startTime = 30 * time.Second // in which a client starts what it was allowed
	waitTime  = 10 * time.Minute // for confined commands; Claude Code ends its own in that time

	// Of an unconfined call no process tells that it has ended,
	later   = "later"   // because the client asks its user before it begins
	outlive = "outlive" // because some may go on that are not found any more, also behind the end that the client says
)

func runningOf(client int) (running, error) {
	state, err := confine.State(os.Getenv("HOME"), os.Getenv("XDG_STATE_HOME"))
	if err != nil {
		return running{}, err
	}
	since, err := started(client)
	if err != nil {
		return running{}, err
	}
	name, err := recordOf(client, since.ticks)
	return running{dir: name + ".calls", state: state, client: client}, err
}

// begin notes that a call runs, as soon as none of the other kind does. It tries at least once. asks says that
// the client asks its user before an unconfined one.
func (r running) begin(ctx context.Context, c hook.Call, kind confine.Kind, asks bool) error {
	what := string(kind)
	switch {
	case kind == confine.Confined:
	case c.Outlives():
		what = outlive
	case asks:
		what = later
	}
	var noted error
	leave, err := confine.Enter(ctx, r.state, kind, io.Discard, func() bool {
		if r.has(c, kind) {
			return false
		}
		noted = errors.Join(os.MkdirAll(r.dir, 0o700), os.WriteFile(r.file(c), []byte(what), 0o600))
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
	leave, err := confine.Enter(once(), r.state, confine.Confined, io.Discard, func() bool { return !r.has(c, confine.Confined) })
	if err != nil {
		return false
	}
	leave()
	return true
}

// end notes that a call has ended.
func (r running) end(c hook.Call) {
	if what, err := os.ReadFile(r.file(c)); err == nil && string(what) != outlive {
		_ = os.Remove(r.file(c)) // if it stays, no call is confined
	}
}

func (r running) file(c hook.Call) string {
	return filepath.Join(r.dir, cmp.Or(c.RequestID(), "unnamed"))
}

// has reports whether a call of the other kind than that may run, apart from this very call.
func (r running) has(c hook.Call, kind confine.Kind) bool {
	all, err := os.ReadDir(r.dir)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	for _, e := range all {
		name := filepath.Join(r.dir, e.Name())
		text, err := os.ReadFile(name)
		info, infoErr := e.Info()
		if name == r.file(c) || errors.Is(err, os.ErrNotExist) {
			continue
		}
		young := infoErr != nil || time.Since(info.ModTime()) < startTime
		confined := string(text) == string(confine.Confined) // then it holds the lock itself, once it has started
		switch {
		case confined && kind == confine.Confined, !confined && kind == confine.Unconfined:
		case err != nil, young, string(text) == outlive, string(text) == later, !confined && r.alive(info.ModTime()):
			return true
		default:
			_ = os.Remove(name)
		}
	}
	return false
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
			if s, err := started(pid); err == nil { // else it has ended
				processes[pid] = s
			}
		}
	}
	return began(processes, r.client, os.Getpid(), since.Add(-time.Second)) // times of processes are rounded
}

// began reports whether a process began after that time that has the client above it and is not self or between them, or
// that has lost what was between them: a shell that is killed leaves what it started in its session.
func began(processes map[int]start, client, self int, since time.Time) bool {
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
