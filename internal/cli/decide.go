package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// decisions are the words of --decision.
var decisions = []api.Decision{api.AllowOnce, api.AllowSession, api.AllowAlways, api.Deny, api.Retry}

func newDecideCommand(a *app.App) *cobra.Command {
	var decision, reason, note string
	cmd := &cobra.Command{
		Use:   "decide ID --decision DECISION",
		Short: "Decide a request, as your token's person",
		Long: "Decide a request, as your token's person. approve ID and deny ID are short for --decision allow-once and\n" +
			"--decision deny.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return decideOn(cmd.Context(), a, args[0], decision, reason, note)
		},
	}
	noteFlag(cmd, &note)
	cmd.Flags().StringVar(&decision, "decision", "", "allow-once, allow-session, allow-always or deny; retry while a retry round is open")
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown on the cards")
	_ = cmd.MarkFlagRequired("decision")
	return cmd
}

// newApproveCommand is decide --decision allow-once. The decision as a second word is
// the old spelling of decide.
func newApproveCommand(a *app.App) *cobra.Command {
	var reason, note string
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Allow a request once: decide --decision allow-once",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			decision := string(api.AllowOnce)
			if len(args) == 2 {
				fmt.Fprintln(a.Stderr,
					"approvalbot: approve ID DECISION is deprecated, use: approvalbot decide ID --decision DECISION")
				decision = args[1]
			}
			return decideOn(cmd.Context(), a, args[0], decision, reason, note)
		},
	}
	noteFlag(cmd, &note)
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown on the cards")
	return cmd
}

func newDenyCommand(a *app.App) *cobra.Command {
	var reason, note string
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Deny a request: decide --decision deny",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return decideOn(cmd.Context(), a, args[0], string(api.Deny), reason, note)
		},
	}
	noteFlag(cmd, &note)
	cmd.Flags().StringVar(&reason, "reason", "", "why; shown on the cards")
	return cmd
}

func noteFlag(cmd *cobra.Command, note *string) {
	cmd.Flags().StringVar(note, "note", "", "for the agent, whose model reads it if its runtime hands it on; at most 500 characters")
}

func decideOn(ctx context.Context, a *app.App, id, decision, reason, note string) error {
	if !slices.Contains(decisions, api.Decision(decision)) {
		return errors.New("the decision must be allow-once, allow-session, allow-always, deny or retry")
	}
	c, err := a.Desk(ctx)
	if err != nil {
		return err
	}
	got, err := c.Resolve(ctx, id, api.ResolveRequest{Decision: api.Decision(decision), Reason: reason, Note: note})
	return printChanged(a, got, show.ShortID(got), err)
}

// printChanged prints the state of an approval after a step. id is its id in the form
// that the caller may type.
func printChanged(a *app.App, got api.Approval, id string, err error) error {
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(got)
	}
	fmt.Fprintf(a.Stdout, "%s %s: %s\n", display.Escape(id), display.Escape(got.Code), show.Standing(got))
	return nil
}
