package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// Bounds of waiting for word of the cards: they are sent in a moment, and are not
// worth a longer wait.
const (
	cardsPatience = 10 * time.Second
	cardsEvery    = 250 * time.Millisecond
)

// tellCards says on stderr which chats got an approval's cards, until that is
// known of all of them or the approval has ended, and gives it as last seen.
func tellCards(ctx context.Context, a *app.App, c *api.Client, got api.Approval) api.Approval {
	if tellNoCard(ctx, a, c, got) {
		return got
	}
	ctx, cancel := context.WithTimeout(ctx, cardsPatience)
	defer cancel()
	told := map[string]bool{}
	for {
		open := 0
		for _, d := range got.Deliveries {
			switch {
			case d.State == "queued", d.State == "folded":
				open++
			case told[d.Target]:
			case d.State == "failed":
				fmt.Fprintf(a.Stderr, "approvalbot: no card in %s: %s\n", display.Escape(d.Target),
					display.Escape(d.Error))
			case d.State == "listed":
				fmt.Fprintf(a.Stderr, "approvalbot: it is in a list in %s, from which its card is opened\n",
					display.Escape(d.Target))
			default:
				fmt.Fprintf(a.Stderr, "approvalbot: its card is in %s\n", display.Escape(d.Target))
			}
			told[d.Target] = told[d.Target] || d.State != "queued" && d.State != "folded"
		}
		if open == 0 || got.Status.Final() {
			return got
		}
		select {
		case <-time.After(cardsEvery):
		case <-ctx.Done():
			return got
		}
		if next, err := c.Get(ctx, got.ID, 0); err == nil {
			got = next
		}
	}
}

// tellWaiting says on stderr that an approval waits, for how long, and where people
// decide it. It does not say how they do, since the reader is the asker.
func tellWaiting(a *app.App, got api.Approval) {
	fmt.Fprintf(a.Stderr, "approvalbot: waiting for approval %s (%s), until %s\n", display.Escape(got.Code),
		show.Risk(got.RiskClass), show.When(got.ExpiresAtMs))
	if len(got.Deliveries) > 0 {
		fmt.Fprintln(a.Stderr,
			"approvalbot: people decide it in the chats that get its card, or in approvalbot watch")
	}
}

// tellNoCard says on stderr where people decide a pending approval whose card goes to no chat. If a
// chat is on, this is probably a mistake.
func tellNoCard(ctx context.Context, a *app.App, c *api.Client, got api.Approval) bool {
	if got.Status.Final() || len(got.Deliveries) > 0 {
		return false
	}
	if allOff(ctx, c) {
		fmt.Fprintln(a.Stderr, "approvalbot: people decide it in approvalbot watch, or on the desk's pages")
		return true
	}
	fmt.Fprintf(a.Stderr, "approvalbot: no chat gets a card of this request, because the routing has no target "+
		"for it and no --origin names a chat; people see it in approvalbot watch and on the desk's pages\n")
	return true
}

// allOff reports whether all chats of the desk are off.
func allOff(ctx context.Context, c *api.Client) bool {
	state, err := c.Ready(ctx)
	for _, chat := range state.Channels {
		if chat.Up || !strings.HasPrefix(chat.Detail, "off") {
			return false
		}
	}
	return err == nil && len(state.Channels) > 0
}

// countdown shows on a terminal how long is left, on one line that stop takes away
// again. Without a terminal it shows no countdown.
func countdown(a *app.App, untilMs int64) (stop func()) {
	if !show.IsTerminal(a.Stderr) {
		return func() {}
	}
	return countDown(a.Stderr, untilMs)
}

func countDown(w io.Writer, untilMs int64) (stop func()) {
	done := make(chan struct{})
	var counting sync.WaitGroup
	counting.Go(func() {
		tick := time.NewTicker(app.CountingEvery)
		defer tick.Stop()
		for {
			left := max(time.Until(time.UnixMilli(untilMs)), 0).Round(time.Second)
			fmt.Fprintf(w, "\r\x1b[Kapprovalbot: %s left ", left)
			select {
			case <-tick.C:
			case <-done:
				fmt.Fprint(w, "\r\x1b[K")
				return
			}
		}
	})
	return func() { close(done); counting.Wait() }
}
