package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

func newViewCommand(a *app.App) *cobra.Command {
	var from reading
	cmd := &cobra.Command{
		Use:     "view ID",
		Aliases: []string{"show"},
		Short:   "Show one approval",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, closes, err := from.client(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer closes()
			got, err := c.Get(cmd.Context(), args[0], 0)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(got)
			}
			printView(a, got)
			return nil
		},
	}
	from.add(cmd)
	return cmd
}

// printView shows an approval with everything that is known of it.
func printView(a *app.App, v api.Approval) {
	const width = 12
	show.Card(a.Column(), v)
	fmt.Fprintln(a.Stdout)
	show.Fields(a.Stdout, width,
		"ID", display.Escape(v.ID),
		"Tool", display.Escape(v.ToolName),
		"Agent", display.Safe(cmp.Or(v.AgentID, "-")),
		"Session", display.Safe(cmp.Or(v.SessionKey, "-")),
		"Fingerprint", display.Escape(v.ArgsFingerprint),
		"Created", show.When(v.CreatedAtMs),
		"Expires", show.When(v.ExpiresAtMs),
		"Status", a.Paint().Bold(show.Ending(v)),
		"Code", display.Escape(v.Code),
		"Why", safeAll(v.Why, " "),
		"Effects", safeAll(v.SideEffects, ", "),
	)
	workdir, host, envHash := (*approval.Bind)(v.Bind).Fields()
	if envHash != "" {
		envHash = "environment " + envHash
	}
	bound := slices.DeleteFunc([]string{workdir, host, envHash}, func(s string) bool { return s == "" })
	show.Fields(a.Stdout, width, "Bound to", display.Escape(strings.Join(bound, ", ")))
	printVotes(a, v)
	for _, n := range v.Notes {
		show.Fields(a.Stdout, width, "Note", display.UpperFirst(strings.TrimPrefix(show.Note(n), "note ")))
	}
	for _, c := range v.Consulted {
		words := fmt.Sprintf("%s %s: %s (%s) in %d ms", c.Authority, c.Endpoint, c.Verdict, c.Cause, c.LatencyMs)
		if c.RequestID != "" {
			words += ", request " + c.RequestID
		}
		show.Fields(a.Stdout, width, "Asked", display.Escape(words))
	}
	for _, d := range v.Deliveries {
		show.Fields(a.Stdout, width, "Card", display.Escape(strings.TrimSpace(d.Target+" "+d.State+" "+d.Error)))
	}
	if !v.Reached && !v.Status.Final() {
		show.Fields(a.Stdout, width, "Reached", "no approver yet")
	}
	printAfter(a, v)
	printCommands(a, v)
}

func printVotes(a *app.App, v api.Approval) {
	need := fmt.Sprintf("%d needed", max(1, v.Approvers.MinApprovals))
	if v.Approvers.RequiresHuman {
		need += ", one of them a person"
	}
	show.Fields(a.Stdout, 12, "Approvals", show.Needs(need, v.Approvers))
	for _, vote := range v.Votes {
		words := show.Voter(vote) + " " + cmp.Or(string(vote.Decision), vote.Verdict) + " at " +
			show.When(vote.DecidedAtMs)
		if vote.VerifierOnly {
			words += ", for the verifier"
		}
		if vote.Reason != "" {
			words += ": " + vote.Reason
		}
		show.Fields(a.Stdout, 12, "Vote", display.Escape(words))
	}
}

// printAfter shows what came after the decision.
func printAfter(a *app.App, v api.Approval) {
	at := func(label string, ms int64) {
		if ms != 0 {
			show.Fields(a.Stdout, 12, label, show.When(ms))
		}
	}
	at("Resolved", v.ResolvedAtMs)
	at("Claim until", v.ClaimUntilMs)
	at("Claimed", v.ClaimedAtMs)
	at("Revoked", v.RevokedAtMs)
	if r := v.Result; r != nil {
		words := r.Status
		if r.ExitCode != nil {
			words += fmt.Sprintf(", exit status %d", *r.ExitCode)
		}
		if r.Summary != "" {
			words += ": " + r.Summary
		}
		show.Fields(a.Stdout, 12, "Result", display.Escape(words)+" (as the asker says)")
	}
	for i, r := range v.Retries {
		show.Fields(a.Stdout, 12, fmt.Sprintf("Retry %d", i+1), "by "+display.Escape(people.People(r.By))+", "+show.When(r.AtMs))
	}
	if r := v.RetryRound; r != nil {
		show.Fields(a.Stdout, 12, "Waits", display.Escape(r.Text)+", until "+show.When(r.ExpiresAtMs))
	}
}

// printCommands shows how to decide what is offered.
func printCommands(a *app.App, v api.Approval) {
	if v.Status != api.Pending || len(v.Offers) == 0 {
		return
	}
	with := ""
	if a.ClientFile != "" {
		with = " --client " + display.Escape(display.ShellPath(a.ClientFile))
	}
	fmt.Fprintln(a.Stdout, "\nCommands:")
	for _, d := range v.Offers {
		fmt.Fprintf(a.Stdout, "  approvalbot decide %s --decision %s%s\n", display.Escape(show.ShortID(v)),
			display.Escape(string(d)), with)
	}
}

func safeAll(list []string, sep string) string { return display.Escape(strings.Join(list, sep)) }
