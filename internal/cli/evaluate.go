package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

func newEvaluateCommand(a *app.App) *cobra.Command {
	return evaluating(a, "evaluate")
}

func evaluating(a *app.App, name string) *cobra.Command {
	var call callFlags
	var from reading
	cmd := &cobra.Command{
		Use:   name + " --tool NAME --params JSON",
		Short: "Say how policy would decide a call, without asking for it",
		Long: "Say what policy makes of a call, and with an operator's token each rule that spoke, in order.\n" +
			"Exit status: 0 allowed, 10 denied, 13 people would be asked, 1 error.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := call.request(a)
			if err != nil {
				return err
			}
			return evaluateCall(cmd.Context(), a, from, req)
		},
	}
	call.add(cmd)
	from.add(cmd)
	return cmd
}

func evaluateCall(ctx context.Context, a *app.App, from reading, req api.CreateRequest) error {
	c, closes, err := from.policy(ctx, a)
	if err != nil {
		return err
	}
	defer closes()
	e, err := c.Evaluate(ctx, req)
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(e)
	} else {
		err = printEvaluation(a, e)
	}
	switch {
	case err != nil:
		return err
	case e.Outcome == "allow":
		return nil
	case e.Outcome == "ask":
		return app.ExitCode(app.ExitPending)
	}
	return app.ExitCode(app.ExitDenied)
}

func printEvaluation(a *app.App, e api.Evaluation) error {
	p := a.Paint()
	outcome := e.Outcome
	if e.By != "" {
		outcome += " by " + e.By
	}
	if e.Reason != "" {
		outcome += ": " + e.Reason
	}
	show.Fields(a.Stdout, 9,
		"Outcome", p.Bold(display.Escape(outcome)),
		"Risk", p.Risk(e.Assessment.RiskClass, show.Risk(e.Assessment.RiskClass)),
		"Touches", touches(e.Assessment),
		"Because", display.Escape(strings.Join(e.Assessment.ReasonCodes, ", ")),
	)
	if e.Outcome == "ask" {
		need := fmt.Sprintf("%d", e.Approvers.MinApprovals)
		if e.Approvers.RequiresHuman {
			need += ", at least one person"
		}
		show.Fields(a.Stdout, 9, "Approvals", show.Needs(need, e.Approvers))
	}
	if len(e.Trace) == 0 {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range e.Trace {
		fmt.Fprintf(w, "%s\t%s\t%s\n", display.Escape(s.Stage), display.Escape(s.Outcome), show.Cell(s.Rule, 30))
		fmt.Fprintf(w, "\t\t  %s\n", display.Escape(s.Text))
	}
	return w.Flush()
}

// touches names the targets of a call, if the desk knows them.
func touches(a api.Assessment) string {
	if slices.Contains(a.ReasonCodes, "unknown-tool") &&
		slices.Equal(a.SideEffects, []string{string(approval.NoSideEffect)}) {
		return "unknown: the desk does not know this tool"
	}
	return display.Escape(strings.Join(a.SideEffects, ", "))
}
