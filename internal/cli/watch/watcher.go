package watch

import (
	"errors"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
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
}

// errDone ends a session: the input is over.
var errDone = errors.New("the input is over")
