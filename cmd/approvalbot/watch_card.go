package main

import (
	"cmp"
	"fmt"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/display"
)

// show draws a request as the cards in the chats have it: what would run and
// where, then the risk and why, then the facts, then the asker's words, apart.
func (w *watcher) show(a api.Approval) {
	p := w.paint()
	fmt.Fprintf(w.stdout, "\n%s\n", p.bold(headline(a)))
	fmt.Fprintln(w.stdout, p.risk(a.RiskClass, "Risk "+riskWords(a.RiskClass)))
	for _, why := range a.Why {
		fmt.Fprintf(w.stdout, "  %s\n", safe(why))
	}
	for _, warning := range display.Lookalikes(a.ToolName+"\n"+a.ParamsSummary, 3) {
		fmt.Fprintln(w.stdout, p.with("33", "! "+safe(warning)))
	}
	workdir, _, _ := (*core.Bind)(a.Bind).Says()
	fields(w.stdout, 12,
		"Directory", safe(workdir),
		"Agent", safe(a.AgentID),
		"Session", safe(a.SessionKey),
		"Asked by", safe(a.Owner),
		"Fingerprint", safe(a.ArgsFingerprint[:min(12, len(a.ArgsFingerprint))]),
	)
	w.printClaims(a)
	if a.Approvers.MinApprovals > 1 || len(a.Votes) > 0 {
		fields(w.stdout, 12, "Votes", votes(a))
	}
	fields(w.stdout, 12, "Expires", when(a.ExpiresAtMs), "Code", safe(a.Code))
	for _, x := range a.Offers {
		if x == api.AllowSession || x == api.AllowAlways {
			fmt.Fprintf(w.stdout, "  %s\n", p.dim(grantWords[x]))
		}
	}
}

// grantWords say what the wider decisions leave behind.
var grantWords = map[api.Decision]string{
	api.AllowSession: "session: also the like of it in this session, up to this risk, for at most 12 hours",
	api.AllowAlways:  "always: this very call of this agent, from now on",
}

// headline is the whole call; the desk has redacted and escaped it.
func headline(a api.Approval) string {
	if a.ToolName == "exec" {
		return "$ " + safe(a.ParamsSummary)
	}
	return safe(a.ToolName) + " · " + safe(cmp.Or(a.ParamsSummary, "no parameters"))
}
