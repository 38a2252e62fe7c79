package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
	"approvalbot/internal/policy/program"
)

func newPolicyCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Look at the running desk's policy, or have it read again"}
	test := evaluating(a, "test") // as others call it
	test.Hidden = true
	cmd.AddCommand(
		&cobra.Command{Use: "show", Short: "Print the policy in force and who could approve each class now",
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return showPolicy(cmd.Context(), a) }},
		newExplainCommand(a), test,
		&cobra.Command{Use: "reload", Short: "Have the desk read its configuration again; a mistake in it changes no part",
			Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return reloadPolicy(cmd.Context(), a) }},
	)
	return cmd
}

func newExplainCommand(a *app.App) *cobra.Command {
	var agent, workdir string
	var from reading
	cmd := &cobra.Command{
		Use:   "explain PROGRAM | -- COMMAND…",
		Short: "Say what is held of a program, or what policy makes of a command",
		Long: `Say what is held of a program: its subcommands, each with its class and what it does. No desk is asked.
Or say what policy makes of a command, as evaluate does: each rule that spoke and, with an operator's token, what would
let it run unasked and what else that lets run. --offline judges by the configuration's file and asks no desk.
A single word is a program, if the desk knows it; behind -- it is a command. One argument is a shell line; several are
the words of one command.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if uses, known := program.Uses(args[0]); known && len(args) == 1 && cmd.ArgsLenAtDash() < 0 {
				return explainProgram(a, args[0], uses)
			}
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
			return evaluateCall(cmd.Context(), a, from, req)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "agent id")
	cmd.Flags().StringVar(&workdir, "bind-workdir", "", "the directory it runs in")
	from.add(cmd)
	return cmd
}

// use is a [program.Use] as programs read it.
type use struct {
	Name        string   `json:"name"`
	RiskClass   string   `json:"riskClass"`
	ReasonCodes []string `json:"reasonCodes"`
	Text        string   `json:"text"`
}

// explainProgram prints the row of a program in words.
func explainProgram(a *app.App, name string, uses []program.Use) error {
	if a.JSON {
		items := make([]use, len(uses))
		for i, u := range uses {
			items[i] = use{strings.TrimSpace(name + " " + u.Words), u.Class.String(), u.Codes, u.Text}
		}
		return a.PrintJSON(map[string]any{"program": name, "items": items})
	}
	if len(uses) == 0 {
		_, err := fmt.Fprintf(a.Stdout, "%s is read word by word: approvalbot policy explain -- %[1]s … says what a call of it is.\n",
			display.Escape(name))
		return err
	}
	if !show.IsTerminal(a.Stdout) {
		t := a.Table("", "Class", "Use", "Means")
		for _, u := range uses {
			t.Row(u.Class.String(), strings.TrimSpace(name+" "+u.Words), u.Text)
		}
		return t.Flush()
	}
	out := a.Column()
	for _, u := range uses {
		class := u.Class.String()
		head := func(s string) string { return out.Paint.Risk(class, s) }
		out.Own(head, class+"  "+strings.TrimSpace(name+" "+u.Words))
		out.Own(out.Paint.Plain, "    "+u.Text)
	}
	out.Own(out.Paint.Dim, "What its other words name (a secret, a file outside the workspace) counts besides; what is not listed asks.")
	return nil
}

// policy makes the client that judges calls; closes ends it. Whether approvals are disabled is for
// the desk to say.
func (r *reading) policy(ctx context.Context, a *app.App) (c *api.Client, closes func(), err error) {
	if r.offline {
		return a.OpenStore(ctx, a)
	}
	c, err = a.Client()
	return c, func() {}, err
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
	t := a.Table("", "Class", "Means", "Outcome", "Needs", "Who could approve now")
	for i, x := range p.Classes {
		needs, who := "-", "-"
		if x.Outcome == "ask" {
			needs, who = show.ClassNeeds(x), display.Escape(show.ClassWho(x))
		}
		t.Row(x.RiskClass, approval.RiskClass(i).Text(), x.Outcome, needs, who)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout)
	show.Fields(a.Stdout, 14, "Policy", p.PolicyHash[:min(12, len(p.PolicyHash))], "Mode", p.Mode, "Approvers",
		strings.Join(p.Approvers.Effective, ", "),
		"Cards go to", p.Routing.Mode+": "+cmp.Or(display.Escape(strings.Join(p.Routing.Targets, ", ")),
			"no target chat"), "Own requests", p.SelfApproval,
		"Verifier", map[bool]string{true: "on, fail mode " + p.Verifier.FailMode, false: "off"}[p.Verifier.Enabled],
		"Classifier", map[bool]string{true: "on", false: "off"}[p.Classifier], "Confined", confines(p.Confine))
	return nil
}

// confines says which calls run confined, and whose; an agent may have a mode of its own.
func confines(c api.ConfinePolicy) string {
	switch {
	case c.Mode == "off":
		return c.Mode
	case len(c.Tokens) == 0:
		return c.Mode + ", no token may confine (mayConfine)"
	}
	return c.Mode + ", calls of " + display.Escape(strings.Join(c.Tokens, ", "))
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
		fmt.Fprintf(a.Stdout, "changed: %s; takes effect only after a restart\n", display.Escape(key))
	}
	return nil
}
