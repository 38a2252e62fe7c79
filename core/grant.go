package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// leaveGrant gives what the settled approval leaves behind: a grant for a wider allow, of
// the approvers who gave it, and a cool-down for a person's deny.
func (c Change) leaveGrant(by []string, now int64) Change {
	a := &c.Approval
	var g approval.Grant
	switch {
	case a.Status == approval.Approved && a.Decision == approval.AllowSession:
		g = grant(*a, approval.SessionGrant, now)
		g.SessionKey, g.Subject, g.ExpiresAtMs = a.SessionKey, a.Subject, now+approval.SessionGrantMs
		g.ReasonCodes = a.Assessment.ReasonCodes
	case a.Status == approval.Approved && a.Decision == approval.AllowAlways:
		g = grant(*a, approval.AlwaysGrant, now)
		g.Fingerprint = a.Fingerprint
	case a.Status == approval.Denied && slices.ContainsFunc(a.Votes, approval.Vote.PersonsDeny):
		return c.coolDown(a.Reason, now)
	default:
		return c
	}
	g.By, g.Behind = by, people.LentTo(a.Votes)
	if len(g.Behind) > 0 { // a yes in another's place is not for good
		g.ExpiresAtMs = now + approval.SessionGrantMs
	}
	return c.addGrant(g, now)
}

// coolDown refuses the same call for a while, because a person said no. reason is the approver's,
// and empty if the asker said no.
func (c Change) coolDown(reason string, now int64) Change {
	g := grant(c.Approval, approval.CoolDown, now)
	g.Reason = reason
	g.Fingerprint, g.ExpiresAtMs = c.Approval.Fingerprint, now+approval.CoolDownMs
	c.Approval.CoolsUntilMs, c.Approval.AskAgainBy = g.ExpiresAtMs, ""
	if by := strings.Join(c.Approval.DecidedBy, ", "); c.Approval.Subject != "" && c.Approval.SessionKey != "" {
		c.Ends = func(old approval.Grant) (approval.Event, bool) { // a no is the newer word on all that a session's yes covered
			return old.Event(approval.EventUngranted, by, now), old.Kind == approval.SessionGrant
		}
	}
	return c.addGrant(g, now)
}

func (c Change) addGrant(g approval.Grant, now int64) Change {
	c.Grants = append(c.Grants, g)
	c.Events = append(c.Events, g.Event(approval.EventGranted, "", now))
	return c
}

func grant(a approval.Approval, kind approval.GrantKind, now int64) approval.Grant {
	a.Rule.Verifier = nil // a grant counts only for the approvers' yes
	return approval.Grant{
		ID: uuid.NewString(), Kind: kind, Owner: a.Owner, AgentID: a.AgentID, ToolName: a.ToolName, Summary: a.Summary,
		MaxClass: a.Assessment.RiskClass, Rule: a.Rule, By: a.DecidedBy, Approval: a.Key, CreatedAtMs: now,
		Server: a.Context.Tool.Server, Sandboxed: a.Context.Sandboxed,
	}
}

// deniedText says who denied the cool-down's call, how long ago and why. The asking agent reads
// it: how an operator ends the cool-down is not in it.
func deniedText(g approval.Grant, now int64) string {
	text := fmt.Sprintf("%s denied this very call %s ago", people.People(g.By), card.SpanText(now-g.CreatedAtMs))
	if g.Reason != "" {
		text += ": " + g.Reason
	}
	return text
}

// byGrant settles the draft by what was granted or refused before, if anything
// speaks about it.
func byGrant(a approval.Approval, f Existing, r approval.GrantScope, d *people.Directory, now int64) approval.Approval {
	for _, g := range f.Grants {
		if a.Status != approval.Denied && people.Refuses(g, a, now) {
			a.Status, a.Decision, a.DecidedBy = approval.Denied, approval.Deny, []string{"grant:" + g.ID}
			a.Reason = deniedText(g, now) + "; it is refused without asking again until " + approval.TimeText(g.ExpiresAtMs, time.Local)
			a.Assessment.ReasonCodes = append(slices.Clone(a.Assessment.ReasonCodes), approval.ReasonRecentlyDenied)
			return a
		}
	}
	if a.Status != approval.Pending || !a.Rule.AsksApprovers() || a.Context.Tool.Changed {
		return a // a grant was given for the tool as it was
	}
	for _, g := range f.Grants {
		switch {
		case !people.Covers(g, a, r, d, now):
		case a.Rule.AsksVerifier():
			return people.OnlyVerifier(a, "grant:"+g.ID)
		default:
			a.Status, a.Decision, a.DecidedBy = approval.Approved, approval.AllowOnce, []string{"grant:" + g.ID}
			return a
		}
	}
	return a
}

// byRecord reports whether a grant or a cool-down settled the approval, or a grant counts
// in place of its approvers.
func byRecord(a approval.Approval) bool {
	stands := a.Rule.Verifier != nil && strings.HasPrefix(a.Rule.Verifier.Instead, "grant:")
	return stands || len(a.DecidedBy) > 0 && strings.HasPrefix(a.DecidedBy[0], "grant:")
}
