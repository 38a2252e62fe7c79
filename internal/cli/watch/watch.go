// Package watch is the verb that shows requests in a terminal and takes decisions there.
package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		Long: "Show each request as it comes and ask for a decision, until the input ends or you press Ctrl-C. Several people may\n" +
			"watch at once: what somebody else decides is told with their name. A reason may follow after a colon, as in\n" +
			"y: looks fine. With input from a file or a pipe each line answers the next request, and watch ends when all lines\n" +
			"are used; without any (</dev/null) it shows the first one that waits, if one does, and ends.",
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
			return newWatcher(ctx, a, c).run(ctx)
		},
	}
}

// newWatcher begins to read lines and to listen to the desk, until ctx ends.
func newWatcher(ctx context.Context, a *app.App, c *api.Client) *watcher {
	plain := *a
	plain.Stdout = a.Plain()
	w := &watcher{App: &plain, client: c, seen: map[string]bool{}, skipped: map[string]bool{}, news: listen(ctx, c),
		counts: show.IsTerminal(a.Stdout)}
	w.lines, w.over = app.ReadLines(ctx, a.Stdin)
	return w
}

func (w *watcher) run(ctx context.Context) error {
	fmt.Fprintln(w.Stdout,
		"Watching for requests. Ctrl-C ends it. A reason may follow after a colon, as\nin y: looks fine")
	for {
		pending, err := w.pending(ctx)
		shown := false
		if err == nil {
			shown, err = w.round(ctx, pending)
		}
		if err == nil && !shown { // what came meanwhile has been waiting
			err = w.pause(ctx)
		}
		switch {
		case errors.Is(err, errDone) && w.away: // nobody knows what would have been to show
			return app.ExitCode(app.ExitError)
		case ctx.Err() != nil || errors.Is(err, errDone):
			fmt.Fprintln(w.Stdout)
			return nil
		case err != nil:
			return err
		}
	}
}

// round shows what is new, whether there was something, and tells how what was
// skipped has ended.
func (w *watcher) round(ctx context.Context, pending []api.Approval) (shown bool, err error) {
	for id := range w.skipped {
		if slices.ContainsFunc(pending, func(a api.Approval) bool { return a.Code == id }) {
			continue
		}
		delete(w.skipped, id)
		if got, err := w.client.Get(ctx, id, 0); err == nil && over(got) {
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
		w.seen[shownAs(a)], shown = true, true
		if err := w.handle(ctx, a); err != nil {
			return shown, err
		}
	}
	return shown, nil
}

// shownAs names what was shown: a request, or one retry round of it.
func shownAs(a api.Approval) string {
	if a.RetryRound == nil {
		return a.Code
	}
	return fmt.Sprint(a.Code, " ", a.RetryRound.OpenedAtMs)
}

// pending lists what waits for a decision, oldest first, and then the open retry rounds. A desk that does not
// answer is waited for; one that refuses is an error.
func (w *watcher) pending(ctx context.Context) ([]api.Approval, error) {
	page, err := w.client.List(ctx, api.Filter{Status: api.Pending, Limit: app.PageSize})
	if err == nil && len(page.Items) == 0 {
		err = app.InForce(ctx, w.client) // or nothing would ever come
	}
	var refused *api.Problem
	switch {
	case errors.As(err, &refused) && !app.Passing(refused):
		return nil, err
	case err != nil && !w.away && ctx.Err() == nil:
		w.away = true
		fmt.Fprintf(w.Stdout, "%s; trying again.\n", app.Sentence(err))
	case err == nil && w.away:
		w.away = false
		fmt.Fprintln(w.Stdout, "The desk is back.")
	}
	rounds := api.List{}
	if err == nil { // a desk that is older than this program knows no such list
		rounds, _ = w.client.List(ctx, api.Filter{Round: true, Limit: app.PageSize})
	}
	slices.Reverse(page.Items)
	slices.Reverse(rounds.Items)
	return append(page.Items, rounds.Items...), nil
}

// pause waits for the next look. Lines typed meanwhile answer nothing.
func (w *watcher) pause(ctx context.Context) error {
	t := time.NewTimer(w.news.interval())
	defer t.Stop()
	for {
		select {
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
				fmt.Fprintln(w.Stdout, "Nothing is waiting for an answer.")
			}
		}
	}
}
