package watch

import (
	"fmt"

	"approvalbot/api"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// show draws a request as the cards in the chats have it, with what those fold away, and
// what the wider answers would cover.
func (w *watcher) show(a api.Approval) {
	fmt.Fprintln(w.Stdout)
	show.Card(w.Stdout, w.Paint(), a)
	show.Details(w.Stdout, w.Paint(), a)
	if r := a.RetryRound; r != nil { // of what has ended, a card has less than the whole call
		fmt.Fprintf(w.Stdout, "🔁 %s: %s\n", display.Escape(r.Text), show.Headline(a))
	}
	if a.Card == nil {
		return
	}
	for _, wider := range a.Card.Wider {
		fmt.Fprintf(w.Stdout, "%s\n", w.Paint().Dim(display.Escape(wider)))
	}
}
