package core

import (
	"time"

	"approvalbot/display"
)

// ended is the refusal that says how the approval ended.
func (a Approval) ended() *Error {
	return refuse(CodeAlreadyResolved, "Already decided: %s", a.Ending())
}

// Ending says how the approval ended, for people, in a few words: "allowed once
// by alice". Empty while it is pending.
func (a Approval) Ending() string { return a.ending(func(int64) string { return "" }) }

// endingAt is Ending with the times: "allowed once by alice at 21 Nov 15:00:00 CET".
// What people gave as a reason stands behind them.
func (a Approval) endingAt() string {
	return a.ending(func(ms int64) string { return " at " + timeText(ms, time.Local) })
}

// ending says how the approval ended; at says when that was. What approvers and
// operators gave as a reason stands behind them; what an asker says is a claim and
// stands elsewhere, see withdrawalText.
func (a Approval) ending(at func(ms int64) string) string {
	by := ""
	if len(a.DecidedBy) > 0 {
		by = " by " + People(a.DecidedBy)
	}
	because := func(reason string) string {
		if reason == "" {
			return ""
		}
		return ": " + display.Escape(reason)
	}
	if a.Status == Pending {
		return ""
	}
	when := at(a.ResolvedAtMs)
	switch {
	case a.RevokedAtMs != 0:
		revoked := ", then revoked by " + People([]string{a.RevokedBy}) + at(a.RevokedAtMs) + because(a.RevokeReason)
		return decisionTexts[a.Decision] + by + when + revoked
	case a.Status == Approved:
		return decisionTexts[a.Decision] + by + when + because(a.Reason)
	case a.Status == Denied:
		return "denied" + by + when + because(a.Reason)
	case a.SupersededBy != "":
		return "withdrawn" + when + ": superseded by " + a.SupersededBy
	case a.Status == Withdrawn:
		return "withdrawn" + by + when
	default:
		return "expired" + when + because(a.Reason)
	}
}

var decisionTexts = map[Decision]string{
	AllowOnce: "allowed once", AllowSession: "allowed for the session", AllowAlways: "allowed always", Deny: "denied",
}

// timeText writes a time for people, with its zone named.
func timeText(ms int64, zone *time.Location) string {
	return time.UnixMilli(ms).In(zone).Format("2 Jan 15:04:05 MST")
}
