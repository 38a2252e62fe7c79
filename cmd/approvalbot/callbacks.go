package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func newCallbacksCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "callbacks", Short: "Calls back to owners that have not succeeded"}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List calls that are still tried and calls that were given up, newest first", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.listCallbacks(cmd.Context()) }},
		&cobra.Command{Use: "retry ID", Short: "Try a call that was given up for another day", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return a.retryCallback(cmd.Context(), args[0]) }},
	)
	return cmd
}

func (a *app) listCallbacks(ctx context.Context) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	got, err := c.Callbacks(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(got)
	}
	if len(got.Items) == 0 {
		fmt.Fprintln(a.stdout, "none: every owner that wanted to be called has been")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Approval\tState\tAge\tOwner\tProblem")
	for _, x := range got.Items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", safe(x.Code), safe(x.State), age(x.CreatedAtMs, time.Now()), cell(x.Owner, agentWidth), cell(x.Error, 40))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, x := range got.Items {
		if x.State == "failed" {
			fmt.Fprintf(a.stdout, "again: approvalbot callbacks retry %s\n", safe(x.ID))
		}
	}
	return nil
}

func (a *app) retryCallback(ctx context.Context, id string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	if err := c.RetryCallback(ctx, id); err != nil {
		return err
	}
	if !a.json {
		fmt.Fprintln(a.stdout, "it is tried again")
	}
	return nil
}
