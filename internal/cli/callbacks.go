package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

func newCallbacksCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "callbacks", Short: "Calls back to owners that have not succeeded"}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List calls that are still tried and calls that were given up, newest first",
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return listCallbacks(cmd.Context(), a) }},
		&cobra.Command{Use: "retry ID", Short: "Try a call that was given up for another day", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return retryCallback(cmd.Context(), a, args[0]) }},
	)
	return cmd
}

func listCallbacks(ctx context.Context, a *app.App) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	got, err := c.Callbacks(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(got)
	}
	if len(got.Items) == 0 {
		fmt.Fprintln(a.Stdout, "none: every owner that wanted to be called has been")
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Approval\tState\tAge\tOwner\tProblem")
	for _, x := range got.Items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", display.Escape(x.Code), display.Escape(x.State),
			show.Age(x.CreatedAtMs, time.Now()), show.Cell(x.Owner, agentWidth), show.Cell(x.Error, 40))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, x := range got.Items {
		if x.State == "failed" {
			fmt.Fprintf(a.Stdout, "again: approvalbot callbacks retry %s\n", display.Escape(x.ID))
		}
	}
	return nil
}

func retryCallback(ctx context.Context, a *app.App, id string) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	if err := c.RetryCallback(ctx, id); err != nil {
		return err
	}
	if !a.JSON {
		fmt.Fprintln(a.Stdout, "it is tried again")
	}
	return nil
}
