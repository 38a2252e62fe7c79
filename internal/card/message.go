package card

import (
	"fmt"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// MessageText is the text of a message that is not a card. Words of people and of the agent
// are on lines of their own, after a label, and no text has line breaks: so they cannot pass
// for the desk's words.
func MessageText(a approval.Approval, kind approval.DeliveryKind) string {
	lines := []string{}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+text)
		}
	}
	bare := a
	if bare.RevokeReason = ""; a.Status != approval.Expired { // that one is the desk's own
		bare.Reason = ""
	}
	switch kind {
	case approval.OutcomeDelivery, approval.RevokedDelivery:
		add(icon(a)+" "+a.Code+": ", Ending(bare))
		if a.Status != approval.Withdrawn && a.Status != approval.Expired {
			add("Reason: ", display.Escape(a.Reason))
		}
		add("Reason for taking it back: ", display.Escape(a.RevokeReason))
		add("Why, in the asker's words: ", Clipped(display.Safe(withdrawalText(a)), maxClaim))
	case approval.ResultDelivery:
		if r := a.Result; r != nil {
			bare.Result = &approval.Result{Status: r.Status, ExitCode: r.ExitCode}
			add(resultIcon(a)+" "+a.Code+": ", resultText(bare))
			add("In its words: ", Clipped(display.Escape(r.Summary), maxClaim))
		}
	case approval.CallbackDelivery:
		return "the approval" // the channel writes what it is then
	case approval.RetryDelivery:
		until := approval.TimeText(a.ClaimUntilMs, time.Local)
		add("🔁 "+a.Code+": ", retriedBy(a)+" let the agent run it again, until "+until+".")
	case approval.UnreachedDelivery:
		add("", "No approver could be asked about "+a.Code+": no approver's chat took the card.")
	case approval.DrillDelivery:
		return drillText(a)
	case approval.ReminderDelivery:
		add("⏰ "+a.Code+" ", "still waits for a decision, until "+approval.TimeText(a.ExpiresAtMs, time.Local)+".")
		add("", alsoAskedText(a))
	case approval.ReasonDelivery:
		return fmt.Sprintf("You denied %s. Reply to this message with the reason, if you want to give one.", a.Code)
	}
	add("What: ", Headline(a))
	return strings.Join(lines, "\n")
}

func resultText(a approval.Approval) string {
	r := a.Result
	if r == nil {
		return ""
	}
	s := "The agent says it " + r.Status
	if r.ExitCode != nil {
		s += fmt.Sprintf(" with exit status %d", *r.ExitCode)
	}
	if r.Summary != "" {
		s += ": " + Clipped(display.Escape(r.Summary), maxClaim)
	}
	return s + "."
}

func resultIcon(a approval.Approval) string {
	if a.Failed() {
		return "❌"
	}
	return "🏁"
}

func icon(a approval.Approval) string {
	switch {
	case a.Status == approval.Approved && a.RevokedAtMs == 0:
		return "✅"
	case a.Status == approval.Denied, a.RevokedAtMs != 0:
		return "⛔"
	default:
		return "⌛"
	}
}

// votesSoFar says for a card who has voted how: while it is pending, and after its
// end as far as the outcome does not say it.
func votesSoFar(a approval.Approval, d *people.Directory) string {
	t := people.TallyOf(a, d)
	switch {
	case !a.Final() || t.Outcome == approval.Pending:
		return t.Text()
	case t.Outcome == approval.Denied:
		allows := a.Clone()
		allows.Votes = nil
		for _, v := range a.Votes {
			if v.Verdict != approval.Reject {
				allows.Votes = append(allows.Votes, v)
			}
		}
		if yes := people.TallyOf(allows, d).By; len(yes) > 0 {
			return "allowed: " + people.People(yes) + " · denied: " + people.People(t.By)
		}
		return ""
	case t.Need <= 1:
		return ""
	}
	return t.Text()
}
