// Package progress shows on a terminal the progress of work that takes more than a
// second.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	after  = time.Second            // the line is first drawn after this
	redraw = 200 * time.Millisecond // the line is drawn anew so often
	blocks = 20
	width  = 79
)

// Line is one line of a terminal that is drawn anew until it ends, and then is gone. A nil Line is never drawn.
type Line struct {
	out  io.Writer
	over chan struct{}
	done sync.WaitGroup

	mu       sync.Mutex
	what     string
	part, of int64
}

// Start begins to show on out what is being done. If out is no terminal, it returns nil, a Line
// that is never drawn.
func Start(out io.Writer, terminal bool, what string) *Line {
	if !terminal {
		return nil
	}
	l := &Line{out: out, over: make(chan struct{}), what: what}
	l.done.Go(l.run)
	return l
}

// At says what is being done now, and how far it is: part of so many; if of is 0, the total is not
// known.
func (l *Line) At(what string, part, of int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.what, l.part, l.of = what, part, of
}

// End removes the line. A second call has no effect.
func (l *Line) End() {
	if l == nil {
		return
	}
	l.mu.Lock()
	select {
	case <-l.over:
	default:
		close(l.over)
	}
	l.mu.Unlock()
	l.done.Wait()
}

func (l *Line) run() {
	began, drawn := time.Now(), false
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-l.over:
			if drawn {
				fmt.Fprint(l.out, "\r\x1b[K")
			}
			return
		case <-tick.C:
		}
		if took := time.Since(began); took >= after {
			drawn = true
			fmt.Fprintf(l.out, "\r%s\x1b[K", l.text(took))
		}
	}
}

func (l *Line) text(took time.Duration) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	bar := " "
	if l.of > 0 {
		part := min(max(l.part, 0), l.of)
		bar = fmt.Sprintf(" [%-*s] %d %% ", blocks, strings.Repeat("#", int(blocks*part/l.of)), 100*part/l.of)
	}
	end := fmt.Sprintf("%s%d s", bar, int(took.Seconds()))
	return fmt.Sprintf("%.*s%s", width-len(end), l.what, end)
}
