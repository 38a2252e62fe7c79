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

// running are the calls of one process of Claude Code that may run now. What it runs unconfined holds no lock, so each call has a
// file here, from the hook's answer until the client says that it has ended.
type running struct {
	dir    string // empty: there is none
	client int
	record string // the file in which the client keeps what was said; empty if that is not known

	// all gives the machine's processes, and whether none of them can have hidden behind another.
	all func() (all map[int]start, whole bool)
}

const (
	startTime = 30 * time.Second       // in which a confined command must start after it was allowed
	shortTime = 300 * time.Millisecond // in which most commands end beside which a call could not run confined
	waitTime  = 10 * time.Minute       // for confined commands; Claude Code ends its own in that time

	callEnd  = ".call"  // beside files of locks
	mostSaid = 64 << 20 // bytes that are looked through of what was said
	inRecord = "\n"     // between what is noted of an unconfined call and the client's record of it
	looks    = 8        // at the machine's processes, until none ends meanwhile

	// What is noted of a call, beside its kind:
	started  = "started " // confined, by the process of that number; it holds a lock until it ends
	left     = "left"     // unconfined, and the client has gone on; its processes may not have ended
	orphaned = "orphaned" // unconfined, and it has ended, but some processes were left

	unreadable = "unreadable" // what is noted cannot be read
)

func runningOf(client int, body []byte) (running, error) {
	since, err := startOf(client)
	if err != nil {
		return running{}, err
	}
	name, err := recordOf(client, since.ticks)
	_, record := hook.PlaceOf(body)
	return running{name + ".calls", client, record, processes}, err
}

// begin notes that a call runs, as soon as none of the other kind does. It tries at least once. No call is confined any more
// while an unconfined one waits.
func (r running) begin(ctx context.Context, c hook.Call, kind confine.Kind) (err error) {
	say := func() error {
		what := string(kind)
		if kind == confine.Unconfined {
			what += inRecord + r.record
		}
		return errors.Join(os.MkdirAll(r.dir, 0o700), note(r.file(c), what, time.Now()))
	}
	if kind == confine.Unconfined {
		if err = say(); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = os.Remove(r.file(c))
			}
		}()
	}
	var noted error
	leave, err := confine.Enter(ctx, r.dir, kind, io.Discard, func() bool {
		if r.other(c, kind) != "" {
			return false
		}
		noted = say()
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
		other := r.other(c, confine.Confined)
		if other != "" && other != string(confine.Unconfined) {
			stop() // what goes on in the background does not end in a moment
		}
		return other == ""
	})
	if err != nil {
		return false
	}
	leave()
	return true
}

// held waits until an unconfined call may run, and says why it may not.
func (r running) held(ctx context.Context, c hook.Call) (why string) {
	ctx, stop := context.WithTimeout(ctx, waitTime)
	defer stop()
	err := r.begin(ctx, c, confine.Unconfined)
	_, none := os.Stat(r.dir)
	switch {
	case err == nil, none != nil && ctx.Err() == nil: // where no folder can be made, no call is confined
		return ""
	case ctx.Err() != nil:
		return "a confined command of this session still runs; when it has ended, make the same call again"
	}
	return "it could not be noted that the call runs, in the folder with the state of confined calls, so it was not allowed"
}

// over notes what the client says after a call. A confined command that goes on in the background is ended, as no other
// command could run beside it. A client that kills a command may leave processes of it.
func (r running) over(c hook.Call) {
	what, err := os.ReadFile(r.file(c))
	info, statErr := os.Stat(r.file(c))
	if err != nil || statErr != nil {
		return
	}
	number, confined := strings.CutPrefix(string(what), started)
	after := ""
	switch {
	case confined && !c.Ended():
		r.stop(c, number)
	case confined, string(what) == string(confine.Confined):
	case !c.Ended(), !c.Alone() && r.alive(info.ModTime(), true):
		after = left
	case r.alive(info.ModTime(), false):
		after = orphaned
	}
	if after == "" {
		_ = os.Remove(r.file(c)) // if it stays, no call is confined
		return
	}
	_ = note(r.file(c), after, info.ModTime()) // if it fails, the call counts as one that runs
}

// note says something of a call that was allowed at that time, since when its processes have begun. No hook reads a part of
// it, or reads it with another time.
func note(file, what string, allowed time.Time) error {
	aside := file + ".new"
	if err := errors.Join(os.WriteFile(aside, []byte(what), 0o600), os.Chtimes(aside, allowed, allowed)); err != nil {
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
	if err != nil || numberErr != nil || !strings.Contains(string(words), r.asked(c)) {
		return
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(syscall.SIGTERM) // else it has ended
	}
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

// other gives what is noted of a call of the other kind than that which may run, apart from this very call; empty if there is none.
func (r running) other(c hook.Call, kind confine.Kind) string {
	all, err := os.ReadDir(r.dir)
	if err != nil {
		return unreadable
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
		what, record, _ := strings.Cut(string(text), inRecord)
		if what == string(confine.Unconfined) && answered(record, strings.TrimSuffix(e.Name(), callEnd)) {
			what = left
		}
		confined := what == string(confine.Confined)
		switch {
		case err != nil, statErr != nil, what == "":
			return unreadable
		case strings.HasPrefix(what, started), confined && kind == confine.Confined, !confined && kind == confine.Unconfined:
		case confined && time.Since(info.ModTime()) < startTime, !confined && r.counts(what, info.ModTime()):
			return what
		default:
			_ = os.Remove(name) // a confined command that has not started does not start any more
		}
	}
	return ""
}

// counts reports whether what is noted of an unconfined call, which was allowed at that time, says that it may run.
func (r running) counts(what string, allowed time.Time) bool {
	switch what {
	case left:
		return r.alive(allowed, true)
	case orphaned:
		return r.alive(allowed, false)
	}
	return true
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
			noted = note(file, started+strconv.Itoa(os.Getpid()), time.Now())
		}
		return true
	})
	if err == nil && noted != nil {
		leave()
		return nil, fmt.Errorf("a command must start within %s after it was allowed (%w); make the same call again", startTime, noted)
	}
	return leave, err
}

// alive reports whether there are processes of calls that were allowed at that time: ones that were left without a parent,
// and, if below is true, ones of the client. A process can pass on what it does to a new one and end, so a look at which one
// ended says nothing.
func (r running) alive(allowed time.Time, below bool) bool {
	group := groupOf(r.client)
	for range looks {
		all, whole := r.all()
		ours := func(pid int) bool {
			_, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
			its := groupOf(pid)
			whole = whole && !vanished(err) && its != ""
			return !vanished(err) && !errors.Is(err, os.ErrPermission) && its == group // of this user, and nothing else that the machine started
		}
		switch {
		case len(all) == 0, since(all, r.client, os.Getpid(), allowed.Add(-time.Second), below, ours): // times of processes are rounded
			return true
		case whole:
			return false
		}
	}
	return true
}

// vanished reports the error of a look at a process that has ended.
func vanished(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// groupOf is the control group of a process, which what it starts is in, too; empty if it has ended.
func groupOf(pid int) string {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	return string(text)
}

// since reports whether a process began at that time or later, other than self and those between it and the client, that was
// left: the kernel gives it to an ancestor of the client's when its own parent dies. If below is true, one that has the
// client above it counts, too.
func since(processes map[int]start, client, self int, at time.Time, below bool, ours func(pid int) bool) bool {
	line := func(pid int) map[int]bool {
		all := map[int]bool{0: true}
		for ; !all[pid]; pid = processes[pid].parent {
			all[pid] = true
		}
		return all
	}
	ofClient, between := line(client), line(self)
	alive := func(pid int) bool { _, is := processes[pid]; return is }
	for pid, s := range processes {
		if between[pid] || s.at.Before(at) {
			continue
		}
		above, top := line(pid), s // the first of those above it that is as young
		for range above {
			if p, known := processes[top.parent]; known && !p.at.Before(at) && !between[top.parent] {
				top = p
			}
		}
		switch {
		case above[client]:
			if below || client == 1 { // which gets what is left in its namespace
				return true
			}
		case !alive(top.parent), ofClient[top.parent], top.parent == 1: // a client that entered a container has no parent there
			if ours(pid) {
				return true
			}
		}
	}
	return false
}

// shortly is a context for what most commands end in.
func shortly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, shortTime)
}
