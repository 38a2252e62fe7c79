package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/help"
	"approvalbot/internal/config"
)

// tty is a pseudo-terminal: what a person types goes in at one end, what they see comes out there.
type tty struct {
	t      *testing.T
	person *os.File
	end    *os.File // the program's end
	out    safeBuffer
	seen   int // how much of out was waited for
	found  *term.State
}

func newTerminal(t *testing.T, columns int) *tty {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	ioctl := func(request uintptr, arg unsafe.Pointer) {
		raw, err := person.SyscallConn()
		require.NoError(t, err)
		var failed syscall.Errno
		require.NoError(t, raw.Control(func(fd uintptr) {
			_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg))
		}))
		require.Zero(t, failed)
	}
	var number, locked int32
	ioctl(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	ioctl(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{24, uint16(columns)}
	ioctl(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	end, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	x := &tty{t: t, person: person, end: end, found: stateOf(t, end)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := person.Read(buf)
			_, _ = x.out.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { end.Close(); person.Close(); <-read })
	return x
}

func stateOf(t *testing.T, end *os.File) *term.State {
	t.Helper()
	state, err := term.GetState(int(end.Fd()))
	require.NoError(t, err)
	return state
}

// presses types a key, or more at once.
func (x *tty) presses(keys string) {
	x.t.Helper()
	_, err := x.person.WriteString(keys)
	require.NoError(x.t, err)
}

// says waits until what was seen so far is followed by the text.
func (x *tty) says(text string) {
	x.t.Helper()
	require.Eventually(x.t, func() bool { return strings.Contains(x.out.String()[x.seen:], text) }, patient, 2*time.Millisecond,
		"never said %q after %q", text, x.out.String()[:x.seen])
	x.seen += strings.Index(x.out.String()[x.seen:], text) + len(text)
}

// isRaw waits until the terminal hands on every key, or is as it was found.
func (x *tty) isRaw(raw bool) {
	x.t.Helper()
	require.Eventually(x.t, func() bool { return !raw == (*stateOf(x.t, x.end) == *x.found) }, patient, 2*time.Millisecond)
}

// stillClock stays until it is told to go on.
type stillClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stillClock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// keyed is a watch whose keys act at once, under a clock of the test's.
type keyed struct {
	*tty
	clock stillClock
	done  chan int
	stop  context.CancelFunc
}

func (r *rig) keyed(secret string, columns int) *keyed {
	k := keyedAt(r.t, columns, r.url, secret)
	k.says("Watching for requests. Keys act at once")
	return k
}

func keyedAt(t *testing.T, columns int, url, secret string) *keyed {
	ctx, stop := context.WithCancel(t.Context())
	k := &keyed{tty: newTerminal(t, columns), clock: stillClock{now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}, done: make(chan int, 1), stop: stop}
	a := &app.App{Env: config.NewEnviron([]string{"APPROVALBOT_SERVER=" + url, "APPROVALBOT_TOKEN=" + secret, "NO_COLOR=1", "TERM=xterm"}),
		Stdin: k.end, Stdout: k.end, Stderr: k.end, Now: k.clock.time}
	root := newRootCommand(a)
	root.SetArgs([]string{"watch"})
	help.Plainly(a, root)
	go func() { k.done <- a.Exit(root.ExecuteContext(ctx)) }()
	t.Cleanup(func() { stop() })
	return k
}

// reads gives the person the time that a key needs to count.
func (k *keyed) reads() { k.clock.pass(800 * time.Millisecond) }

// ends waits for the end of the program, which leaves the terminal as it was.
func (k *keyed) ends(t *testing.T) int {
	t.Helper()
	select {
	case code := <-k.done:
		require.Equal(t, *k.found, *stateOf(t, k.end))
		return code
	case <-time.After(patient):
		require.Fail(t, "it does not end", k.out.String())
		return -1
	}
}

// A key acts at once, for the card that was shown when it was pressed, and not before a person can
// have read it.
func TestWatchKeys_ActAtOnceForWhatIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k := r.keyed(operatorSecret, 80)
	k.isRaw(true)
	k.presses("y") // nothing is shown yet
	k.says("No request is waiting for an answer.")
	a := r.ask(`{"to":"prod"}`)
	k.says(a.Code)
	k.says("Press [y]es")
	k.presses("y")
	k.says("(too early, not counted)")
	k.reads()
	k.presses("Y") // as the last character of an arrow key on a slow line
	k.says("Keys act at once, without Enter:")
	k.says("Press [y]es")
	k.reads()
	k.presses("yy") // typed ahead, or pasted
	k.says("(several keys at once: not counted)")
	require.Empty(t, r.get(a).Votes)
	k.presses("y")
	k.says(a.Code + ": approved (allow-once) by olga")

	b := r.ask(`{"to":"staging"}`)
	k.says(b.Code)
	k.says("Press [y]es")
	k.presses("n") // within 800 ms of the change
	k.says("(too early, not counted)")
	k.reads()
	k.presses("\r") // the habit of Enter is no answer
	k.presses("n")
	k.says(b.Code + ": denied by olga")
	k.presses("\x03")
	require.Zero(t, k.ends(t))
}

// The riskiest comes first, and an allow of R4 takes its key twice, not in one go; another key goes back.
func TestWatchKeys_R4TakesTwoPresses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mild := r.ask(`{"to":"prod"}`)
	wild := r.exec("rm -rf /var/lib/releases")
	k := r.keyed(operatorSecret, 40)
	k.says(wild.Code)
	k.says(" left")
	k.reads()
	k.presses("y")
	k.says("$ rm -rf /var/lib/releases")
	k.says("R4 high impact")
	k.says("y again: allow this call, once")
	k.presses("y")
	k.says("(too early, not counted)")
	k.reads()
	k.presses("k")
	k.says(" left")
	require.Empty(t, r.get(wild).Votes)
	k.reads()
	k.presses("y")
	k.says("y again")
	k.reads()
	k.presses("y")
	k.says(wild.Code + ": approved (allow-once)")
	k.says(mild.Code)
	for line := range strings.Lines(strings.ReplaceAll(k.out.String(), "\r\x1b[K", "\n")) {
		if !strings.Contains(line, ": approved") && !strings.Contains(line, "Watching") && !strings.HasPrefix(line, "approvalbot: ") {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\r\n"))), 40, line)
		}
	}
	k.stop()
	require.Zero(t, k.ends(t))
}

// What was just allowed can be taken back until it is claimed, also below the next card.
func TestWatchKeys_TakesBackWhatIsUnclaimed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"to":"prod"}`)
	k := r.keyed(operatorSecret, 80)
	k.says("Press [y]es")
	k.reads()
	k.presses("u")
	k.says("(no decision to take back)")
	k.presses("y")
	k.says("[u] takes " + a.Code + " back")
	k.reads()
	k.presses("u")
	k.says(a.Code + ": revoked by olga")
	require.NotZero(t, r.get(a).RevokedAtMs)

	b := r.ask(`{"to":"staging"}`)
	k.says(b.Code)
	k.says("Press [y]es")
	k.reads()
	k.presses("y")
	k.says("[u] takes " + b.Code + " back")
	_, err := r.agent().Claim(r.ctx(), b.ID, api.ClaimRequest{})
	require.NoError(t, err)
	c := r.ask(`{"to":"elsewhere"}`)
	k.says(c.Code)
	k.says("Press [y]es")
	k.reads()
	k.presses("u")
	require.Eventually(t, func() bool {
		said := k.out.String()[k.seen:]
		return strings.Contains(said, "(no decision to take back)") || strings.Contains(said, b.Code+": not taken back")
	}, patient, 2*time.Millisecond)
	require.Zero(t, r.get(b).RevokedAtMs)
	k.presses("\x04")
	require.Zero(t, k.ends(t))
}

// Words take a line: a note reaches the agent with the call, a reason the log. What somebody else
// decides meanwhile ends the line, and the rest of it answers nothing.
func TestWatchKeys_WordsTakeALine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.ask(`{"to":"prod"}`)
	k := r.keyed(operatorSecret, 80)
	k.says("Press [y]es")
	k.reads()
	k.presses("t")
	k.says("Answer, then Enter")
	for _, key := range "y note: run the testz\x7fs first" {
		k.presses(string(key))
	}
	k.says("y note: run the tests first")
	k.presses("\r")
	k.says(a.Code + ": approved (allow-once) by olga")
	k.says("note from olga: run the tests first")
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	require.Equal(t, []api.Note{{By: "person:olga", Text: "run the tests first"}}, claim.Notes)

	b := r.ask(`{"to":"staging"}`)
	k.says(b.Code)
	k.says("Press [y]es")
	k.reads()
	k.presses("t")
	k.says("Answer, then Enter")
	k.presses("n: not ")
	k.says("n: not ")
	r.tap(r.alice, r.group, r.card(b).ID, "Allow once")
	k.says(b.Code + ": approved (allow-once) by alice")
	k.says("Enter goes on")
	c := r.ask(`{"to":"elsewhere"}`)
	k.reads()
	k.presses("any day")
	k.presses("\r")
	k.says(c.Code)
	k.says("Press [y]es")
	require.Empty(t, r.get(c).Votes)
	k.stop()
	require.Zero(t, k.ends(t))
}

// The terminal is put back when the program panics.
func TestWatchKeys_PanicPutsTheTerminalBack(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	x := newTerminal(t, 80)
	a := &app.App{Env: config.NewEnviron([]string{"APPROVALBOT_SERVER=" + d.URL, "APPROVALBOT_TOKEN=t", "TERM=xterm"}),
		Stdin: x.end, Stdout: x.end, Stderr: x.end, Now: func() time.Time { panic("the clock is broken") }}
	root := newRootCommand(a)
	root.SetArgs([]string{"watch"})
	require.PanicsWithValue(t, "the clock is broken", func() { _ = root.ExecuteContext(t.Context()) })
	x.isRaw(false)
}

// Each way to end or stop the program puts the terminal back, and continuing it makes it raw again.
func TestWatchKeys_SignalsPutTheTerminalBack(t *testing.T) {
	t.Parallel()
	for _, ending := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		x, child := watchChild(t)
		require.NoError(t, child.Process.Signal(ending))
		require.NoError(t, child.Wait(), ending)
		x.isRaw(false)
	}
	for _, stop := range []func(x *tty, child *exec.Cmd){
		func(_ *tty, child *exec.Cmd) { _ = child.Process.Signal(syscall.SIGTSTP) },
		func(x *tty, _ *exec.Cmd) { x.presses("\x1a") },
	} {
		x, child := watchChild(t)
		stop(x, child)
		var status syscall.WaitStatus
		_, err := syscall.Wait4(child.Process.Pid, &status, syscall.WUNTRACED, nil)
		require.NoError(t, err)
		require.True(t, status.Stopped())
		x.isRaw(false)
		require.NoError(t, child.Process.Signal(syscall.SIGCONT))
		x.says("│ rm -rf build")
		x.isRaw(true)
		x.presses("\x03")
		require.NoError(t, child.Wait())
		x.isRaw(false)
	}
}

// watchChild is a watch in a process of its own, whose terminal it controls, with a card on it.
func watchChild(t *testing.T) (*tty, *exec.Cmd) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	x := newTerminal(t, 80)
	child := &exec.Cmd{Path: self, Args: []string{"approvalbot", "watch"}, Stdin: x.end, Stdout: x.end, Stderr: x.end,
		Env:         []string{"APPROVALBOT_SERVER=" + deskFor(t).URL, "APPROVALBOT_TOKEN=t", "TERM=xterm"},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true}}
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	x.says("Press [y]es")
	x.isRaw(true)
	return x, child
}
