package cli

import (
	"cmp"
	"context"
	"encoding/json"
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
	var call callFlags
	cmd := &cobra.Command{
		Use:   "evaluate --tool NAME --params JSON",
		Short: "Say what policy makes of a call; nothing is created, sent or asked",
		Long: "Say what policy makes of a call, and with an operator's token each rule that spoke, in order.\n" +
			"Exit status: 0 allowed, 10 denied, 13 people would be asked, 1 error.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := call.request(a)
			if err != nil {
				return err
			}
			return evaluateCall(cmd.Context(), a, req)
		},
	}
	call.add(cmd)
	return cmd
}

func evaluateCall(ctx context.Context, a *app.App, req api.CreateRequest) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
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

// touches says what a call would touch, where the desk can tell.
func touches(a api.Assessment) string {
	if slices.Contains(a.ReasonCodes, "unknown-tool") &&
		slices.Equal(a.SideEffects, []string{string(approval.NoSideEffect)}) {
		return "unknown: the desk does not know this tool"
	}
	return display.Escape(strings.Join(a.SideEffects, ", "))
}

func newPolicyCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Look at the running desk's policy, or have it read again"}
	cmd.AddCommand(
		&cobra.Command{Use: "show", Short: "Print the policy in force and who could approve each class now",
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return showPolicy(cmd.Context(), a) }},
		newExplainCommand(a),
		&cobra.Command{Use: "reload", Short: "Have the desk read its configuration again, all or nothing",
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return reloadPolicy(cmd.Context(), a) }},
	)
	return cmd
}

func newExplainCommand(a *app.App) *cobra.Command {
	var agent, workdir string
	cmd := &cobra.Command{
		Use:   "explain -- COMMAND…",
		Short: "Say what policy makes of a command, and what would let it run unasked",
		Long: `Say what policy makes of a command, as evaluate does: each rule that spoke and, with an operator's token, what would
let it run unasked and what else that lets run. One argument is a shell line; several are the words of one command.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			of := map[string]any{"argv": args}
			if len(args) == 1 {
				of = map[string]any{"command": args[0]}
			}
			params, err := json.Marshal(of)
			if err != nil {
				return err
			}
			req := api.CreateRequest{ToolName: "exec", Params: params, AgentID: agent}
			if workdir != "" {
				req.Bind = &api.Bind{Workdir: &workdir}
			}
			return evaluateCall(cmd.Context(), a, req)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "agent id")
	cmd.Flags().StringVar(&workdir, "bind-workdir", "", "the directory it runs in")
	return cmd
}

func showPolicy(ctx context.Context, a *app.App) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	p, err := c.Policy(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(p)
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Class\tMeans\tOutcome\tNeeds\tWho could approve now")
	for i, x := range p.Classes {
		needs, who := "-", "-"
		if x.Outcome == "ask" {
			needs, who = show.ClassNeeds(x), display.Escape(show.ClassWho(x))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", x.RiskClass, approval.RiskClass(i).Text(), x.Outcome, needs, who)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout)
	show.Fields(a.Stdout, 14, "Policy", p.PolicyHash[:min(12, len(p.PolicyHash))], "Mode", p.Mode, "Approvers",
		strings.Join(p.Approvers.Effective, ", "),
		"Cards go to", p.Routing.Mode+": "+cmp.Or(display.Escape(strings.Join(p.Routing.Targets, ", ")),
			"no target chat"), "Own requests", p.SelfApproval,
		"Verifier", map[bool]string{true: "on, fail mode " + p.Verifier.FailMode, false: "off"}[p.Verifier.Enabled],
		"Classifier", map[bool]string{true: "on", false: "off"}[p.Classifier])
	return nil
}

func reloadPolicy(ctx context.Context, a *app.App) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	r, err := c.Reload(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	state := "is unchanged"
	if r.Changed {
		state = "is in force"
	}
	fmt.Fprintf(a.Stdout, "policy %s %s\n", r.PolicyHash[:min(12, len(r.PolicyHash))], state)
	for _, l := range r.Looser {
		fmt.Fprintf(a.Stdout, "looser: %s\n", display.Escape(l))
	}
	for _, l := range r.Unproved {
		fmt.Fprintf(a.Stdout, "changed: %s\n", display.Escape(l))
	}
	for _, l := range r.Otherwise {
		fmt.Fprintf(a.Stdout, "  %s\n", display.Escape(l))
	}
	for _, l := range r.Tighter {
		fmt.Fprintf(a.Stdout, "tighter: %s\n", display.Escape(l))
	}
	for _, had := range r.Ended {
		fmt.Fprintf(a.Stdout, "%s: %s\n", map[bool]string{false: "ended or suspended",
			true: "ends or is suspended when every instance has this configuration"}[r.EndsLater], display.Escape(had))
	}
	for _, key := range r.Restart {
		fmt.Fprintf(a.Stdout, "changed: %s, which only a restart puts in force\n", display.Escape(key))
	}
	return nil
}
