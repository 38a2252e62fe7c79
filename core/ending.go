package core

import (
	"time"

	"approvalbot/internal/display"
)

// ended is the refusal that says how the approval ended.
func (a Approval) ended() *Error {
	return Refuse(CodeAlreadyResolved, "Already decided: %s", a.Ending())
}

// Ending says how the approval ended, for people, in a few words: "allowed once
// by alice". Empty while it is pending. What approvers and operators gave as a reason stands
// behind them; what an asker says is a claim and stands elsewhere, see withdrawalText.
func (a Approval) Ending() string {
	by := ""
	if who := a.allowedBy(); len(who) > 0 && !a.coolingDown() {
		by = " by " + People(who)
	}
	because := func(reason string) string {
		if reason == "" {
			return ""
		}
		return ": " + display.Escape(reason)
	}
	switch {
	case a.Status == Pending:
		return ""
	case a.RevokedAtMs != 0:
		revoked := ", then revoked by " + People([]string{a.RevokedBy}) + because(a.RevokeReason)
		return decisionTexts[a.Decision] + by + revoked
	case a.Status == Approved:
		return decisionTexts[a.Decision] + by + because(a.Reason)
	case a.Status == Denied:
		return "denied" + by + because(a.Reason)
	case a.SupersededBy != "":
		return "withdrawn: superseded by " + a.SupersededBy
	case a.Status == Withdrawn:
		return "withdrawn" + by
	default:
		return "expired" + because(a.Reason)
	}
}

var decisionTexts = map[Decision]string{
	AllowOnce: "allowed once", AllowSession: "allowed for the session", AllowAlways: "allowed always", Deny: "denied",
}

// timeText writes a time for people, with its zone named.
func timeText(ms int64, zone *time.Location) string {
	return time.UnixMilli(ms).In(zone).Format("2 Jan 15:04:05 MST")
}

// Times are the times that a text names: each as it is written there, and in Unix
// milliseconds. A platform may write them anew, in the zone of whoever reads.
type Times map[string]int64

// times are those that a message about the approval may name.
func (a Approval) times() Times {
	out := Times{}
	for _, ms := range []int64{a.ExpiresAtMs, a.ResolvedAtMs, a.RevokedAtMs, a.ClaimUntilMs} {
		if ms != 0 {
			out[timeText(ms, time.Local)] = ms
		}
	}
	return out
}
