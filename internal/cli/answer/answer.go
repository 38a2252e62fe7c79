// Package answer is how a program answers an agent runtime's hook on stdin and stdout: approvalbot
// hook and approvalbot-hook are it, with flags. It imports little, since a runtime starts it
// before each tool call.
package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"approvalbot/api"
	"approvalbot/internal/confine"
	"approvalbot/internal/hook"
	"approvalbot/internal/panics"
)

// parentLook is how often a hook looks whether the runtime that started it still lives.
const parentLook = time.Second

// exitAnswered is a hook's exit status, instead of 0, for the shell that install writes:
// that takes everything but this for a program that failed.
const exitAnswered = 3

// Streams are the process's own, or a test's.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Flags are what a hook's command line says. A repository cannot change which desk is asked and
// with which token: neither the environment nor the working directory is looked at.
type Flags struct {
	Server, Token, Client string
	TokenFile             string
	Limit                 time.Duration // of the hook in the runtime's configuration; 0 means the runtime's default
	Caller                int           // the process that is answered, with which the hook ends; 0 if not given
	Silent                bool          // an allow by policy gives no answer, so that the runtime's own rules go on
	Confine               bool          // say that commands can run confined, if nothing else judges or changes them
}

// Runtimes are the names of the runtimes that hook answers.
func Runtimes() (names []string) {
	for _, rt := range hook.Runtimes() {
		if slices.ContainsFunc(rt.Events, func(e hook.Event) bool { return e.Command }) {
			names = append(names, rt.Name)
		}
	}
	return names
}

// Words are the runtime and its event, if they are there, of a command line's words.
func Words(args []string) (words []string) {
	var rt hook.Runtime
	for _, w := range args {
		if len(words) == 0 {
			var known bool
			if rt, known = hook.Find(w); known {
				words = []string{w}
			}
		} else if _, known := rt.Event(w); known {
			return append(words, w)
		}
	}
	return words
}

// denial is the deny of what goes wrong before an event's body is known.
func denial(words []string, why string) hook.Answer {
	if len(words) == 0 {
		return hook.LastResort(why)
	}
	rt, known := hook.Find(words[0])
	if !known || len(rt.Events) == 0 {
		return hook.LastResort(why)
	}
	e := rt.Events[0]
	if len(words) > 1 {
		if named, ok := rt.Event(words[1]); ok {
			e = named
		}
	}
	return e.Deny(hook.Call{}, why)
}

// Hook answers one hook and gives the process's exit status.
func Hook(ctx context.Context, s Streams, f Flags, words []string) int {
	code := run(ctx, s, f, words)
	if code == 0 && f.Caller > 0 {
		return exitAnswered
	}
	return code
}

// Deny answers what could not be understood as a hook, of which these words are known.
func Deny(s Streams, words []string, why string) int { return s.answer(denial(words, why)) }

func run(ctx context.Context, s Streams, f Flags, words []string) (code int) {
	deny := func(format string, args ...any) int { return Deny(s, words, fmt.Sprintf(format, args...)) }
	log := slog.New(slog.NewTextHandler(s.Stderr, nil))
	broken := func() { code = deny("approvalbot hook broke down, so the call was not allowed") }
	defer panics.Catch(log, broken, "a hook caused a panic; its call was denied", "hook", words)
	ctx, stop := whileWanted(ctx, f.Caller)
	defer stop()
	if len(words) == 0 || len(words) > 2 {
		return deny("approvalbot hook takes a runtime and at most one event, but got %d words", len(words))
	}
	rt, known := hook.Find(words[0])
	switch {
	case !known:
		return deny("approvalbot hook does not know this runtime; it knows %s", strings.Join(Runtimes(), ", "))
	case len(rt.Events) == 0:
		return deny("approvalbot hook cannot answer %s: %s", rt.Title, rt.Traps[0])
	}
	if rt.KillsHooks {
		leaveGroup()
	}
	until := rt.Limit.Until(time.Now(), f.Limit)
	body, err := within(ctx, until, errStdin, func() ([]byte, error) { return readStdin(s.Stdin) })
	if err != nil {
		return deny("%s", hook.Failed(err))
	}
	e := rt.EventOf(body)
	if len(words) == 2 && rt.Looks(words[1]) {
		confiner(f, words[1], body)
		return 0
	}
	if len(words) == 2 {
		named, known := rt.Event(words[1])
		if !known {
			why := "approvalbot hook does not know this event of " + rt.Title + "; letter case counts"
			return s.answer(rt.Meant(e, body).Deny(hook.Call{}, why))
		}
		e = named
	}
	words = []string{rt.Name, e.Name}
	c, err := e.Decode(body)
	if err != nil {
		return s.answer(rt.Meant(e, body).Deny(hook.Call{}, hook.Failed(err)))
	}
	desk, err := within(ctx, until, errFile, func() (*api.Client, error) { return f.Connect() })
	if err != nil {
		return s.answer(e.Deny(c, hook.Failed(err)))
	}
	if c.Here {
		c.Workdir, err = os.Getwd()
		if err != nil {
			return s.answer(e.Deny(c, "the hook cannot tell in which directory the call would run, so it was not allowed"))
		}
	}
	var around Around
	if e.Phase != hook.After {
		c.From = place(ctx, c.Workdir, c.From)
		around, err = Look(ctx, c.Workdir, os.Getenv("PATH"), c.Commands()...)
		c.Untracked, c.Programs, c.MustAsk = around.Untracked, around.Programs, err != nil || mentionsSecret(c)
	}
	calls, err := runningOf(f.Caller, body)
	if err == nil && e.Phase == hook.After {
		calls.over(c)
	}
	confines := func() []string { return nil }
	var own []string
	if f.Confine && e.Confines() { // what the client's first call sees is remembered, so each call looks
		confines = func() []string { return confiner(f, e.Name, body) }
		if own = confines(); c.Confinable() && calls.free(ctx, c) {
			c.Confiner = own
		}
	}
	if e.Phase == hook.After {
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		return s.answer(e.Answer(c, hook.Report(ctx, desk, c), f.Silent))
	}
	v := hook.Ask(ctx, desk, c, until)
	switch {
	case v.Confined != nil: // a call that may run confined alone is denied if it cannot be confined any more
		c.Confiner = confines() // looked at again, as the answer may come hours later
		ctx, stop := shortly(ctx)
		defer stop()
		if c.Allowed = calls.file(c); calls.begin(ctx, c, confine.Confined) != nil {
			c.Confiner = nil
		}
	case v.Allow && f.Confine && c.Runs() && calls.dir != "" && !(v.Reads && c.IsCommand()):
		ctx, stop := context.WithDeadline(ctx, until)
		defer stop()
		// Claude Code judges the commands of an agent in a worktree itself, and refuses replaced ones.
		if judges := c.From.Worktree != "" || f.Silent && v.Policy; own != nil && c.ID != "" && !judges {
			c.Allowed = calls.file(c)
			c.Instead = c.Held(own, calls.lock())
		}
		why, none := calls.held(ctx, c)
		if none {
			c.Instead = nil
		}
		if why != "" {
			v = hook.Verdict{Why: why}
		}
	}
	if v.Allow {
		if err := around.Grew(ctx, c.Workdir, os.Getenv("PATH"), c.Commands()...); err != nil {
			v = hook.Verdict{Why: "approvalbot: " + err.Error()}
			calls.never(c)
		}
	}
	return s.answer(e.Answer(c, v, f.Silent))
}

// answer writes what a runtime reads and gives the exit status. If the answer cannot
// be written, the status still denies in most runtimes.
func (s Streams) answer(what hook.Answer) int {
	_, err := s.Stdout.Write(what.Stdout)
	if what.Stderr != "" {
		fmt.Fprintln(s.Stderr, what.Stderr)
	}
	if err != nil {
		fmt.Fprintln(s.Stderr, "approvalbot hook: the answer could not be written, so the call was not allowed")
		return 2
	}
	return what.Exit
}

// whileWanted gives a context that ends when a signal says that the answer is not wanted
// any more, or when the process that started this one, or caller (0: not given), has gone
// without a signal.
func whileWanted(ctx context.Context, caller int) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		parent, look := os.Getppid(), time.NewTicker(parentLook)
		defer look.Stop()
		for os.Getppid() == parent && !ended(caller) {
			select {
			case <-look.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, func() { cancel(); <-done; stop() }
}

// ended reports whether there is no process of that id any more.
func ended(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release() // only a handle
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// The outcomes of a hook whose body or token cannot be read.
var (
	errStdin = errors.New("the hook's body did not arrive on stdin in time")
	errFile  = errors.New("the file with the token could not be read in time")
)

// readStdin reads a hook's body, all of it, since a runtime may take a closed pipe for
// a failure. Of a body that is too long it keeps one byte more than a decoder accepts.
func readStdin(stdin io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(stdin, hook.MaxBody+1))
	if err == nil {
		_, err = io.Copy(io.Discard, stdin)
	}
	return body, err
}

// within returns what read returns, or late if that takes longer than until: read then
// keeps running until the process ends.
func within[T any](ctx context.Context, until time.Time, late error, read func() (T, error)) (out T, err error) {
	done := make(chan struct{})
	var got T
	var gotErr error
	go func() {
		defer close(done)
		got, gotErr = read()
	}()
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case <-done:
		return got, gotErr
	case <-ctx.Done():
		return out, late
	}
}
