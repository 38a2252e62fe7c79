package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/display"
)

func newViewCommand(a *app) *cobra.Command {
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
			if a.json {
				return a.printJSON(got)
			}
			a.printView(got)
			return nil
		},
	}
	from.add(cmd)
	return cmd
}

// printView shows an approval with everything that is known of it.
func (a *app) printView(v api.Approval) {
	const width = 12
	p := a.paint()
	fields(a.stdout, width,
		"ID", safe(v.ID),
		"Tool", safe(v.ToolName),
		"Agent", safe(cmp.Or(v.AgentID, "-")),
		"Session", safe(cmp.Or(v.SessionKey, "-")),
		"Fingerprint", safe(v.ArgsFingerprint),
		"Created", when(v.CreatedAtMs),
		"Expires", when(v.ExpiresAtMs),
		"Status", p.bold(ending(v)),
		"Code", safe(v.Code),
		"Risk", p.risk(v.RiskClass, riskWords(v.RiskClass)),
		"Why", safeAll(v.Why, " "),
		"Effects", safeAll(v.SideEffects, ", "),
		callLabel(v), safe(v.ParamsSummary),
	)
	workdir, host, envHash := (*core.Bind)(v.Bind).Says()
	fields(a.stdout, width, "Bound to", safe(strings.TrimSpace(workdir+" "+host+" "+envHash)))
	a.printClaims(v)
	a.printVotes(v)
	for _, c := range v.Consulted {
		words := fmt.Sprintf("%s %s: %s (%s) in %d ms", c.Authority, c.Endpoint, c.Verdict, c.Cause, c.LatencyMs)
		if c.RequestID != "" {
			words += ", request " + c.RequestID
		}
		fields(a.stdout, width, "Asked", safe(words))
	}
	for _, d := range v.Deliveries {
		fields(a.stdout, width, "Card", safe(strings.TrimSpace(d.Target+" "+d.State+" "+d.Error)))
	}
	if !v.Reached && !v.Status.Final() {
		fields(a.stdout, width, "Reached", "nobody yet")
	}
	a.printAfter(v)
	a.printCommands(v)
}

// printClaims shows the asker's own words, set apart from the facts.
func (a *app) printClaims(v api.Approval) {
	pairs := []string{"  Why", safe(v.Justification), "  What", safe(v.ActionSummary), "  Requester", requesterWords(v.Requester)}
	if strings.Join([]string{pairs[1], pairs[3], pairs[5]}, "") == "" {
		return
	}
	fmt.Fprintf(a.stdout, "In the words of %s, unchecked:\n", safe(cmp.Or(v.Owner, "the asker")))
	fields(a.stdout, 12, pairs...)
}

func requesterWords(r *api.Requester) string {
	switch {
	case r == nil:
		return ""
	case r.Person != "":
		return safe(r.Person)
	}
	return safe(r.Channel + " user " + r.UserID)
}

func (a *app) printVotes(v api.Approval) {
	need := fmt.Sprintf("%d needed", max(1, v.Approvers.MinApprovals))
	if v.Approvers.RequiresHuman {
		need += ", a person among them"
	}
	fields(a.stdout, 12, "Approvals", needWords(need, v.Approvers))
	for _, vote := range v.Votes {
		words := voterName(vote) + " " + cmp.Or(string(vote.Decision), vote.Verdict) + " at " + when(vote.DecidedAtMs)
		if vote.VerifierOnly {
			words += ", for the verifier"
		}
		if vote.Reason != "" {
			words += ": " + vote.Reason
		}
		fields(a.stdout, 12, "Vote", safe(words))
	}
}

// printAfter shows what came after the decision.
func (a *app) printAfter(v api.Approval) {
	at := func(label string, ms int64) {
		if ms != 0 {
			fields(a.stdout, 12, label, when(ms))
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
		fields(a.stdout, 12, "Result", safe(words)+" (as the asker says)")
	}
}

// printCommands shows how to decide what is offered.
func (a *app) printCommands(v api.Approval) {
	if v.Status != api.Pending || len(v.Offers) == 0 {
		return
	}
	with := ""
	if a.clientFile != "" {
		with = " --client " + safe(display.ShellPath(a.clientFile))
	}
	fmt.Fprintln(a.stdout, "\nCommands:")
	for _, d := range v.Offers {
		fmt.Fprintf(a.stdout, "  approvalbot decide %s --decision %s%s\n", safe(shortID(v)), safe(string(d)), with)
	}
}

func callLabel(v api.Approval) string {
	if v.ToolName == "exec" {
		return "Command"
	}
	return "Params"
}

func safeAll(list []string, sep string) string { return safe(strings.Join(list, sep)) }
