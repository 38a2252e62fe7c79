package cli

import (
	"context"
	"fmt"
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
	if len(got.Items) == 0 && show.IsTerminal(a.Stdout) {
		fmt.Fprintln(a.Stdout, "no callback is waiting, and none was given up")
		return nil
	}
	t := a.Table("", "Approval", "State", "Age", "Owner", "Problem")
	for _, x := range got.Items {
		t.Row(display.Escape(x.Code), display.Escape(x.State), show.Age(x.CreatedAtMs, time.Now()), t.Cell(x.Owner, agentWidth),
			t.Cell(x.Error, 40))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, x := range got.Items {
		if x.State == "failed" {
			fmt.Fprintf(a.Stderr, "approvalbot: again with: approvalbot admin callbacks retry %s\n", display.Escape(x.ID))
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
