package core

import (
	"fmt"
	"strings"
	"time"

	"approvalbot/internal/display"
)

// messageText is what a message that is no card says. Words of people and of the agent stand
// on lines of their own, behind a label, and no text has line breaks: nobody's words
// can be taken for the desk's.
func (a Approval) messageText(kind DeliveryKind) string {
	lines := []string{}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+text)
		}
	}
	bare := a
	if bare.RevokeReason = ""; a.Status != Expired { // that one is the desk's own
		bare.Reason = ""
	}
	switch kind {
	case OutcomeDelivery, RevokedDelivery:
		add(icon(a)+" "+a.Code+": ", bare.Ending())
		if a.Status != Withdrawn && a.Status != Expired {
			add("Reason: ", display.Escape(a.Reason))
		}
		add("Reason for taking it back: ", display.Escape(a.RevokeReason))
		add("Why, in the asker's words: ", clipped(display.Safe(a.withdrawalText()), maxClaim))
	case ResultDelivery:
		if r := a.Result; r != nil {
			bare.Result = &Result{Status: r.Status, ExitCode: r.ExitCode}
			add(resultIcon(a)+" "+a.Code+": ", bare.resultText())
			add("In its words: ", clipped(display.Escape(r.Summary), maxClaim))
		}
	case CallbackDelivery:
		return "the approval" // the channel writes what it is then
	case RetryDelivery:
		until := timeText(a.ClaimUntilMs, time.Local)
		add("🔁 "+a.Code+": ", a.retriedBy()+" let the agent run it again, until "+until+".")
	case UnreachedDelivery:
		add("", "Nobody could be asked to approve "+a.Code+". No approver's chat took the card.")
	case DrillDelivery:
		return a.drillText()
	case ReminderDelivery:
		add("⏰ "+a.Code+" ", "still waits for a decision, until "+timeText(a.ExpiresAtMs, time.Local)+".")
		add("", a.alsoAskedText())
	case ReasonDelivery:
		return fmt.Sprintf("You denied %s. Reply to this message with the reason, if you want to give one.", a.Code)
	}
	add("What: ", a.Headline())
	return strings.Join(lines, "\n")
}

func (a Approval) resultText() string {
	r := a.Result
	if r == nil {
		return ""
	}
	s := "The agent says it " + r.Status
	if r.ExitCode != nil {
		s += fmt.Sprintf(" with exit status %d", *r.ExitCode)
	}
	if r.Summary != "" {
		s += ": " + clipped(display.Escape(r.Summary), maxClaim)
	}
	return s + "."
}

func resultIcon(a Approval) string {
	if a.failed() {
		return "❌"
	}
	return "🏁"
}

func icon(a Approval) string {
	switch {
	case a.Status == Approved && a.RevokedAtMs == 0:
		return "✅"
	case a.Status == Denied, a.RevokedAtMs != 0:
		return "⛔"
	default:
		return "⌛"
	}
}

// votesSoFar says for a card who has voted how: while it is pending, and after its
// end as far as the outcome does not say it.
func (a Approval) votesSoFar(d *Directory) string {
	t := a.tally(d)
	switch {
	case !a.Final() || t.Outcome == Pending:
		return t.Text()
	case t.Outcome == Denied:
		allows := a.clone()
		allows.Votes = nil
		for _, v := range a.Votes {
			if v.Verdict != Reject {
				allows.Votes = append(allows.Votes, v)
			}
		}
		if yes := allows.tally(d).By; len(yes) > 0 {
			return "allowed: " + People(yes) + " · denied: " + People(t.By)
		}
		return ""
	case t.Need <= 1:
		return ""
	}
	return t.Text()
}
