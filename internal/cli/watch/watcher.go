package watch

import (
	"errors"
	"io"
	"time"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
)

// watcher is one person's session at a terminal.
type watcher struct {
	*app.App
	client  *api.Client
	lines   <-chan string   // closed at the end of the input
	over    <-chan struct{} // closed then too
	seen    map[string]bool // requests that were shown
	skipped map[string]bool // shown, passed over, still pending
	away    bool            // the desk did not answer last time
	news    *news
	looksOn bool // the token may not decide
	counts  bool // stdout is a terminal, on which time left can be counted down

	screen  io.Writer     // stdout as given by the caller
	keys    *keyboard     // nil: answers are lines
	drawn   time.Time     // when the screen last changed; with keys
	allowed *api.Approval // the call that was just allowed here and is unclaimed; with keys
}

// Paint reports whether the screen takes colours.
func (w *watcher) Paint() show.Paint {
	plain := *w.App
	plain.Stdout = w.screen
	return plain.Paint()
}

// width is how many characters a line of the screen has.
func (w *watcher) width() int { return show.Width(w.screen) }

// column is the screen as cards are written on it.
func (w *watcher) column() show.Column {
	return show.Column{To: w.Stdout, Width: w.width(), Paint: w.Paint()}
}

// errDone ends a session: the input is over.
var errDone = errors.New("the terminal's input has ended")
