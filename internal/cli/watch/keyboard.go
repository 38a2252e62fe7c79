package watch

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
)

// keyboard is a terminal whose keys act at once. It is in raw mode until close, which every way
// out calls.
type keyboard struct {
	in      *os.File
	now     func() time.Time
	pressed chan press    // closed at the end of the input
	resumed chan struct{} // the program was stopped and goes on: the screen is to be drawn again
	end     context.CancelFunc

	mu     sync.Mutex
	found  *term.State // the terminal's mode before; nil if that is its mode now
	closed bool        // the session is over: no raw mode any more
}

// press is what one read of the terminal gave: a key, or more if a person pasted or typed ahead.
type press struct {
	text string
	at   time.Time
}

// keyBuffer is how many presses may wait while a vote is on its way. Further ones are dropped.
const keyBuffer = 64

// openKeyboard puts the terminal into raw mode, if stdin and stdout are one that can move its
// cursor; else the result is nil. Ctrl-C and what else ends a program calls end.
func openKeyboard(ctx context.Context, a *app.App, end context.CancelFunc) *keyboard {
	in, ok := a.Stdin.(*os.File)
	if !ok || !show.IsTerminal(in) || !show.IsTerminal(a.Stdout) || a.Env["TERM"] == "dumb" {
		return nil
	}
	k := &keyboard{in: in, now: a.Clock(), pressed: make(chan press, keyBuffer), resumed: make(chan struct{}, 1), end: end}
	if !k.raw() {
		return nil
	}
	go k.read(ctx)
	k.obeySignals(ctx)
	return k
}

// raw puts the terminal into raw mode and reports whether it is in it.
func (k *keyboard) raw() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	found, err := term.MakeRaw(int(k.in.Fd()))
	if err == nil && k.found == nil {
		k.found = found
	}
	return err == nil
}

// restore puts the terminal back into the mode that it was found in.
func (k *keyboard) restore() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found != nil {
		_ = term.Restore(int(k.in.Fd()), k.found)
		k.found = nil
	}
}

// close restores the terminal for good. A nil keyboard is allowed.
func (k *keyboard) close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.restore()
}

// guard is deferred by every goroutine beside the verb's own: their panics do not run its defers.
func (k *keyboard) guard() {
	if p := recover(); p != nil {
		k.close() // may be nil
		panic(p)
	}
}

// The keys that a terminal in raw mode hands on instead of acting on them.
const (
	keyInterrupt = "\x03" // Ctrl-C
	keyEnd       = "\x04" // Ctrl-D
	keySuspend   = "\x1a" // Ctrl-Z
	keyQuit      = "\x1c" // Ctrl-\
	keyEscape    = "\x1b" // Esc, and how keys of several characters begin
)

// escapeTime is how long the rest of such a key may take on a slow line.
const escapeTime = 200 * time.Millisecond

// read hands out what is pressed, with the time at which it was, until ctx or the input ends.
func (k *keyboard) read(ctx context.Context) {
	defer k.guard()
	defer close(k.pressed)
	buf, kept := make([]byte, 4096), 0 // kept: the first bytes of a character whose rest is to come
	var escape time.Time               // when a key of several characters began, whose rest may be to come
	for {
		n, err := k.in.Read(buf[kept:])
		if n == 0 || err != nil || ctx.Err() != nil {
			return
		}
		text := string(buf[:kept+n])
		kept = copy(buf, text[len(text)-unfinished(text):])
		text = text[:len(text)-kept]
		now := k.now()
		if strings.HasPrefix(text, keyEscape) {
			escape = now
		} else if now.Sub(escape) < escapeTime && !strings.ContainsAny(text, keyInterrupt+keyEnd+keyQuit) {
			continue
		}
		switch {
		case strings.ContainsAny(text, keyInterrupt+keyEnd+keyQuit):
			k.end()
			return
		case strings.Contains(text, keySuspend):
			suspend()
		case text != "":
			select {
			case k.pressed <- press{text, now}:
			default:
			}
		}
	}
}

// unfinished is how many bytes at the end of a text begin a character without ending it.
func unfinished(text string) int {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		tail := text[len(text)-i:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return i
			}
			return 0
		}
	}
	return 0
}

// rawLines writes line ends as a terminal in raw mode needs them.
type rawLines struct{ to io.Writer }

// Write implements io.Writer.
func (r rawLines) Write(b []byte) (int, error) {
	_, err := io.WriteString(r.to, strings.ReplaceAll(string(b), "\n", "\r\n"))
	return len(b), err
}
