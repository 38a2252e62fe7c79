package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/config/effective"
	"approvalbot/core"
)

func newEvaluateCommand(a *app) *cobra.Command {
	var ask askFlags
	var tool, params string
	cmd := &cobra.Command{
		Use:   "evaluate --tool NAME --params JSON",
		Short: "Say what policy makes of a call; nothing is created, sent or asked",
		Long: "Say what policy makes of a call, and with an operator's token each rule that spoke, in order.\n" +
			"Exit status: 0 allowed, 10 denied, 13 people would be asked, 1 error.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := a.readParams(params)
			if err != nil {
				return err
			}
			req, err := ask.request(tool, raw)
			if err != nil {
				return err
			}
			return a.evaluate(cmd.Context(), req)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&tool, "tool", "", "the tool's name, such as exec")
	fl.StringVar(&params, "params", "{}", "the call's parameters: a JSON object, @FILE, or - for standard input")
	ask.add(cmd)
	_ = cmd.MarkFlagRequired("tool")
	return cmd
}

func (a *app) evaluate(ctx context.Context, req api.CreateRequest) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	e, err := c.Evaluate(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(e)
	} else {
		err = a.printEvaluation(e)
	}
	switch {
	case err != nil:
		return err
	case e.Outcome == "allow":
		return nil
	case e.Outcome == "ask":
		return exitCode(exitPending)
	}
	return exitCode(exitDenied)
}

func (a *app) printEvaluation(e api.Evaluation) error {
	p := a.paint()
	outcome := e.Outcome
	if e.By != "" {
		outcome += " by " + e.By
	}
	if e.Reason != "" {
		outcome += ": " + e.Reason
	}
	fields(a.stdout, 9,
		"Outcome", p.bold(safe(outcome)),
		"Risk", p.risk(e.Assessment.RiskClass, riskWords(e.Assessment.RiskClass)),
		"Touches", touches(e.Assessment),
		"Because", safe(strings.Join(e.Assessment.ReasonCodes, ", ")),
	)
	if e.Outcome == "ask" {
		need := fmt.Sprintf("%d", e.Approvers.MinApprovals)
		if e.Approvers.RequiresHuman {
			need += ", at least one person"
		}
		fields(a.stdout, 9, "Approvals", needWords(need, e.Approvers))
	}
	if len(e.Trace) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, s := range e.Trace {
		fmt.Fprintf(w, "%s\t%s\t%s\n", safe(s.Stage), safe(s.Outcome), cell(s.Rule, 30))
		fmt.Fprintf(w, "\t\t  %s\n", safe(s.Text))
	}
	return w.Flush()
}

// touches says what a call would touch, where the desk can tell.
func touches(a api.Assessment) string {
	if slices.Contains(a.ReasonCodes, "unknown-tool") && slices.Equal(a.SideEffects, []string{string(core.NoSideEffect)}) {
		return "unknown: the desk does not know this tool"
	}
	return safe(strings.Join(a.SideEffects, ", "))
}

func newPolicyCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Look at the running desk's policy, or have it read again"}
	cmd.AddCommand(
		&cobra.Command{Use: "show", Short: "Print the policy in force and who could approve each class now", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.showPolicy(cmd.Context()) }},
		&cobra.Command{Use: "reload", Short: "Have the desk read its configuration again, all or nothing", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.reloadPolicy(cmd.Context()) }},
	)
	return cmd
}

func (a *app) showPolicy(ctx context.Context) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	p, err := c.Policy(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(p)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Class\tMeans\tOutcome\tNeeds\tWho could approve now")
	for i, x := range p.Classes {
		of := effective.ClassPolicy{Class: x.RiskClass, Outcome: x.Outcome, Need: x.MinApprovals, Human: x.RequiresHuman, People: x.People,
			Unmapped: x.Unmapped, Open: x.Open, Reachable: x.Reachable}
		needs, who := "-", "-"
		if x.Outcome == "ask" {
			needs, who = of.Needs(), safe(of.Who())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", x.RiskClass, core.RiskClass(i).Words(), x.Outcome, needs, who)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	fields(a.stdout, 14, "Policy", p.PolicyHash[:min(12, len(p.PolicyHash))], "Mode", p.Mode, "Approvers", strings.Join(p.Approvers.Effective, ", "),
		"Cards go to", p.Routing.Mode+": "+cmp.Or(safe(strings.Join(p.Routing.Targets, ", ")), "no target chat"), "Own requests", p.SelfApproval,
		"Verifier", map[bool]string{true: "on, fail mode " + p.Verifier.FailMode, false: "off"}[p.Verifier.Enabled],
		"Classifier", map[bool]string{true: "on", false: "off"}[p.Classifier])
	return nil
}

func (a *app) reloadPolicy(ctx context.Context) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	r, err := c.Reload(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	state := "is unchanged"
	if r.Changed {
		state = "is in force"
	}
	fmt.Fprintf(a.stdout, "policy %s %s\n", r.PolicyHash[:min(12, len(r.PolicyHash))], state)
	for _, l := range r.Looser {
		fmt.Fprintf(a.stdout, "looser: %s\n", safe(l))
	}
	for _, key := range r.Restart {
		fmt.Fprintf(a.stdout, "changed: %s, which only a restart puts in force\n", safe(key))
	}
	return nil
}
