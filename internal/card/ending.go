package card

import (
	"sync"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// Ended is the refusal that says how the approval ended.
func Ended(a approval.Approval) *approval.Error {
	return approval.Refuse(approval.CodeAlreadyResolved, "Already decided: %s", Ending(a))
}

// Ending says how the approval ended, for people, in a few words: "allowed once by alice".
// Empty while it is pending. The reasons that approvers and operators gave follow it. What
// an asker gave is only a claim, and is shown elsewhere: see withdrawalText.
func Ending(a approval.Approval) string {
	by := ""
	if who := a.AllowedBy(); len(who) > 0 && !a.CoolingDown() {
		by = " by " + people.People(who)
	}
	because := func(reason string) string {
		if reason == "" {
			return ""
		}
		return ": " + display.Escape(reason)
	}
	switch {
	case a.Status == approval.Pending:
		return ""
	case a.RevokedAtMs != 0 && a.GoneAtMs != 0:
		return decisionTexts()[a.Decision] + by + because(a.Reason) + ", but the agent that asked is gone: it will not run"
	case a.RevokedAtMs != 0:
		revoked := ", then revoked by " + people.People([]string{a.RevokedBy}) + because(a.RevokeReason)
		return decisionTexts()[a.Decision] + by + revoked
	case a.Status == approval.Approved:
		return decisionTexts()[a.Decision] + by + because(a.Reason)
	case a.Status == approval.Denied:
		return "denied" + by + because(a.Reason)
	case a.SupersededBy != "":
		return "withdrawn: superseded by " + a.SupersededBy
	case a.Status == approval.Withdrawn:
		return "withdrawn" + by
	default:
		return "expired" + because(a.Reason)
	}
}

var decisionTexts = sync.OnceValue(func() map[approval.Decision]string {
	return map[approval.Decision]string{
		approval.AllowOnce: "allowed once", approval.AllowSession: "allowed for the session", approval.AllowAlways: "allowed always", approval.Deny: "denied",
	}
})

// Times are the times that a text names: each as it is written there, and in Unix
// milliseconds. A platform may write them anew, in the reader's zone.
type Times map[string]int64

// times are those that a message about the approval may name.
func times(a approval.Approval) Times {
	out := Times{}
	for _, ms := range []int64{a.ExpiresAtMs, a.ResolvedAtMs, a.RevokedAtMs, a.ClaimUntilMs} {
		if ms != 0 {
			out[approval.TimeText(ms, time.Local)] = ms
		}
	}
	return out
}
