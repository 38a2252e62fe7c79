// Package watch is the verb that shows requests in a terminal and takes decisions there.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
)

// Command is the verb.
func Command(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Show each new request here and decide it",
		Long: "Show each request as it comes, the riskiest first, and ask for a decision, until you press Ctrl-C. Several people may\n" +
			"watch at once: a decision of another person is shown with their name.\n" +
			"On a terminal a key acts at once, without Enter, for the request that is shown. It does not count within 0.8 seconds of\n" +
			"a change of the screen, nor if more than one came at once. To allow an R4 call takes the key twice. t takes a line:\n" +
			"y: looks fine gives a reason, y note: run the tests first is for the agent. u takes back what you just allowed,\n" +
			"until it is claimed.\n" +
			"With input from a file or a pipe each line answers the next request, and watch ends when all lines are used; without\n" +
			"any (</dev/null) it shows the first one that waits, if one does, and ends.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.JSON {
				return errors.New("watch talks to a person and has no --json; use list --status pending --json")
			}
			c, err := a.Client()
			if err != nil {
				return err
			}
			if err := app.InForce(cmd.Context(), c); errors.Is(err, app.ErrDisabled) { // one that is away is waited for
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			keys := openKeyboard(ctx, a, cancel)
			defer keys.close()
			return newWatcher(ctx, a, c, keys).run(ctx)
		},
	}
}

// newWatcher begins to listen to the desk, and to read lines if there are no keys, until ctx ends.
func newWatcher(ctx context.Context, a *app.App, c *api.Client, keys *keyboard) *watcher {
	plain := *a
	plain.Stdout = a.Plain()
	w := &watcher{App: &plain, client: c, seen: map[string]bool{}, skipped: map[string]bool{}, news: listen(ctx, c, keys),
		counts: show.IsTerminal(a.Stdout), screen: a.Stdout, keys: keys}
	if keys == nil {
		w.lines, w.over = app.ReadLines(ctx, a.Stdin)
	} else {
		plain.Stdout = rawLines{plain.Stdout}
	}
	return w
}

func (w *watcher) run(ctx context.Context) error {
	if w.keys != nil {
		fmt.Fprintln(w.Stdout, "Watching for requests. Keys act at once, ? shows them, Ctrl-C ends it.")
	} else {
		fmt.Fprintln(w.Stdout,
			"Watching for requests. Ctrl-C ends it. A reason may follow after a colon, as\nin y: looks fine")
	}
	for {
		pending, err := w.pending(ctx)
		shown := false
		if err == nil {
			shown, err = w.round(ctx, pending)
		}
		if err == nil && !shown { // requests that came meanwhile have been waiting
			err = w.pause(ctx)
		}
		switch {
		case errors.Is(err, errDone) && w.away && ctx.Err() == nil: // its correct output is not known
			return app.ExitCode(app.ExitError)
		case ctx.Err() != nil || errors.Is(err, errDone):
			w.say("")
			return nil
		case err != nil:
			w.say("")
			return err
		}
	}
}

// round shows the first that is new, whether there was one, and tells how what was
// skipped has ended.
func (w *watcher) round(ctx context.Context, pending []api.Approval) (shown bool, err error) {
	for id := range w.skipped {
		if slices.ContainsFunc(pending, func(a api.Approval) bool { return a.Code == id }) {
			continue
		}
		delete(w.skipped, id)
		if got, err := w.client.Get(ctx, id, 0); err == nil && over(got) {
			w.wipe()
			w.tell(got)
		}
	}
	for _, a := range pending {
		if w.seen[shownAs(a)] {
			continue
		}
		// It may have ended while another one was decided.
		if now, err := w.client.Get(ctx, a.Code, 0); err == nil { // else the list's word is good enough
			a = now
		}
		if over(a) {
			continue
		}
		w.seen[shownAs(a)] = true
		w.wipe()
		return true, w.handle(ctx, a) // a newer request may be riskier than the next of these
	}
	return false, nil
}

// shownAs names what was shown: a request, or one retry round of it.
func shownAs(a api.Approval) string {
	if a.RetryRound == nil {
		return a.Code
	}
	return fmt.Sprint(a.Code, " ", a.RetryRound.OpenedAtMs)
}

// pending lists what waits for a decision as the inbox does, the riskiest first and of those what ends soonest, and
// then the open retry rounds. A desk that does not answer is waited for; one that refuses is an error.
func (w *watcher) pending(ctx context.Context) ([]api.Approval, error) {
	page, err := w.client.List(ctx, api.Filter{Status: api.Pending, Limit: app.PageSize})
	if err == nil && len(page.Items) == 0 {
		err = app.InForce(ctx, w.client) // or watch would wait for ever
	}
	var refused *api.Problem
	switch {
	case errors.As(err, &refused) && !app.Passing(refused):
		return nil, err
	case err != nil && !w.away && ctx.Err() == nil:
		w.away = true
		w.say(app.Sentence(err) + "; trying again.")
	case err == nil && w.away:
		w.away = false
		w.say("The desk is back.")
	}
	rounds := api.List{}
	if err == nil { // a desk that is older than this program knows no such list
		rounds, _ = w.client.List(ctx, api.Filter{Round: true, Limit: app.PageSize})
	}
	slices.SortStableFunc(page.Items, func(a, b api.Approval) int {
		return cmp.Or(strings.Compare(b.RiskClass, a.RiskClass), cmp.Compare(a.ExpiresAtMs, b.ExpiresAtMs))
	})
	slices.Reverse(rounds.Items)
	return append(page.Items, rounds.Items...), nil
}

// pause waits for the next look. Lines typed meanwhile are ignored.
func (w *watcher) pause(ctx context.Context) error {
	wait := w.news.interval()
	if w.allowed != nil { // no event tells of a claim
		wait = pollEvery
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	defer w.checkAllowed(ctx)
	var pressed <-chan press
	if w.keys != nil {
		pressed = w.keys.pressed
		w.idle()
	}
	for {
		select {
		case p, ok := <-pressed:
			if !ok {
				return errDone
			}
			w.pressIdle(ctx, p)
		case <-t.C:
			return nil
		case <-w.news.come:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-w.over:
			return errDone
		case line := <-w.idleLines():
			if line != "" {
				fmt.Fprintln(w.Stdout, "No request is waiting for an answer.")
			}
		}
	}
}
