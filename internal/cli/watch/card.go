package watch

import (
	"fmt"

	"approvalbot/api"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// show draws a request as the cards in the chats have it, with what the wider answers
// would cover. The details that chats fold away are there too, or a key shows them.
func (w *watcher) show(a api.Approval) {
	fmt.Fprintln(w.Stdout)
	out := w.column()
	show.Card(out, a)
	if w.keys == nil || w.looksOn { // else a key shows them
		show.Details(out, a)
	}
	if r := a.RetryRound; r != nil { // of what has ended, a card has less than the whole call
		out.Own(out.Paint.Plain, "🔁 "+display.Escape(r.Text)+": "+show.Headline(a))
	}
	if a.Card == nil {
		return
	}
	for _, wider := range a.Card.Wider {
		out.Own(out.Paint.Dim, display.Escape(wider))
	}
}
