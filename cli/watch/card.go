package watch

import (
	"fmt"
	"slices"
	"strings"

	"approvalbot/api"
	"approvalbot/cli/show"
	"approvalbot/core"
	"approvalbot/display"
)

// show draws a request as the cards in the chats have it: what would run and
// where, then the risk and why, then the facts, then the asker's words, apart.
func (w *watcher) show(a api.Approval) {
	p := w.Paint()
	title, whole := framed(show.Headline(a))
	fmt.Fprintf(w.Stdout, "\n%s\n", p.Bold(title))
	for _, line := range whole {
		fmt.Fprintln(w.Stdout, line)
	}
	fmt.Fprintln(w.Stdout, p.Risk(a.RiskClass, "Risk "+show.Risk(a.RiskClass)))
	for _, why := range a.Why {
		fmt.Fprintf(w.Stdout, "  %s\n", display.Escape(why))
	}
	for _, warning := range display.Lookalikes(a.ToolName+"\n"+a.ParamsSummary, 3) {
		fmt.Fprintln(w.Stdout, p.With("33", "! "+display.Escape(warning)))
	}
	workdir, host, _ := (*core.Bind)(a.Bind).Fields()
	show.Fields(w.Stdout, 12,
		"Directory", display.Escape(workdir),
		"Host", display.Escape(host),
		"Agent", display.Escape(a.AgentID),
		"Session", display.Escape(a.SessionKey),
		"Asked by", display.Escape(a.Owner),
		"Fingerprint", display.Escape(a.ArgsFingerprint[:min(12, len(a.ArgsFingerprint))]),
	)
	show.Claims(w.Stdout, a)
	if a.Approvers.MinApprovals > 1 || len(a.Votes) > 0 {
		show.Fields(w.Stdout, 12, "Votes", show.Votes(a))
	}
	show.Fields(w.Stdout, 12, "Expires", show.When(a.ExpiresAtMs), "Code", display.Escape(a.Code))
	if slices.Contains(a.Offers, api.AllowSession) {
		fmt.Fprintf(w.Stdout, "  %s\n", p.Dim("session: "+display.Escape(a.SessionCovers)+"; "+
			"in this session, up to this risk and for no other reason, for at most 12 hours"))
	}
	if slices.Contains(a.Offers, api.AllowAlways) {
		fmt.Fprintf(w.Stdout, "  %s\n", p.Dim("always: "+display.Escape(a.AlwaysCovers)+"; by this agent, from now on"))
	}
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
