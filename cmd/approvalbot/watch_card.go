package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/display"
)

// show draws a request as the cards in the chats have it: what would run and
// where, then the risk and why, then the facts, then the asker's words, apart.
func (w *watcher) show(a api.Approval) {
	p := w.paint()
	title, whole := framed(headline(a))
	fmt.Fprintf(w.stdout, "\n%s\n", p.bold(title))
	for _, line := range whole {
		fmt.Fprintln(w.stdout, line)
	}
	fmt.Fprintln(w.stdout, p.risk(a.RiskClass, "Risk "+riskWords(a.RiskClass)))
	for _, why := range a.Why {
		fmt.Fprintf(w.stdout, "  %s\n", safe(why))
	}
	for _, warning := range display.Lookalikes(a.ToolName+"\n"+a.ParamsSummary, 3) {
		fmt.Fprintln(w.stdout, p.with("33", "! "+safe(warning)))
	}
	workdir, host, _ := (*core.Bind)(a.Bind).Says()
	fields(w.stdout, 12,
		"Directory", safe(workdir),
		"Host", safe(host),
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
	if slices.Contains(a.Offers, api.AllowSession) {
		fmt.Fprintf(w.stdout, "  %s\n", p.dim("session: "+safe(a.SessionCovers)+"; in this session, up to this risk and for no other reason, for at most 12 hours"))
	}
	if slices.Contains(a.Offers, api.AllowAlways) {
		fmt.Fprintf(w.stdout, "  %s\n", p.dim("always: "+safe(a.AlwaysCovers)+"; by this agent, from now on"))
	}
}

// headline is the whole call on one line; the desk has redacted and escaped it.
func headline(a api.Approval) string {
	if a.ToolName == "exec" {
		return "$ " + safe(a.ParamsSummary)
	}
	return safe(a.ToolName) + " · " + safe(cmp.Or(a.ParamsSummary, "no parameters"))
}

// callWidth is how wide a call is drawn in a terminal.
const callWidth = 76

// lineFeed is how the desk writes one.
const lineFeed = `\u{A}`

// framed gives a call's first line, and the whole call again where that line is too
// short for it: drawn behind a bar, so that whatever is in it, nothing of it can be
// taken for a line of the desk. A line feed in it is seen, and followed by a real one.
func framed(call string) (title string, whole []string) {
	title, cut := display.Clip(call, callWidth)
	if !cut && !strings.Contains(call, lineFeed) {
		return title, nil
	}
	for _, line := range strings.SplitAfter(call, lineFeed) {
		for runes := []rune(line); len(runes) > 0; {
			n := min(len(runes), callWidth)
			whole, runes = append(whole, "│ "+string(runes[:n])), runes[n:]
		}
	}
	return title, whole
}
