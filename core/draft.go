package core

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// draft makes the approval that a call would become.
func draft(who Caller, call approval.Call, sealed approval.Sealed, j approval.Judgement, rules *Rules) (approval.Approval, error) {
	a := named(outline(who, call, sealed.Fingerprint, j, rules), call.ID)
	if a.Hidden() {
		return a, nil // its dialect tells the fingerprint only
	}
	call.Params = sealed.Params
	facts, err := card.PayloadFacts(call)
	if err != nil {
		return approval.Approval{}, err
	}
	a.Points = shown(j, facts, a.Context.Untracked.All())
	a.Summary = card.About(call.ToolName, facts, call.Bind, card.MaxSummary)
	return a, nil
}

// outline is draft without a key, and without what people read of the call.
func outline(who Caller, call approval.Call, fingerprint string, j approval.Judgement, rules *Rules) approval.Approval {
	now := nowMs()
	timeout := rules.TimeoutMs
	if call.TimeoutMs > 0 {
		timeout = min(call.TimeoutMs, rules.MaxTimeoutMs)
	}
	a := approval.Approval{
		Names:   approval.Names{ID: call.ID, Owner: who.Token},
		Ended:   approval.Ended{Status: approval.Pending},
		Asked:   approval.Asked{ToolName: call.ToolName, Fingerprint: fingerprint, Form: j.Form, Bind: call.Bind, AgentID: call.AgentID, TokensAgent: call.TokensAgent, SessionKey: call.SessionKey, Context: redactedFrom(call.Context.Stored()), Dialect: call.Dialect, Requester: call.Requester, CallbackURL: call.CallbackURL, Justification: display.Redact(call.Justification), ActionSummary: display.Redact(call.ActionSummary), CreatedAtMs: now, ExpiresAtMs: now + timeout},
		Judged:  approval.Judged{Assessment: j.Assessment, Why: j.Why, PolicyHash: rules.Policy.Hash(), Rule: j.Rule, Subject: subject(j, call), Unreached: j.Unreached == approval.OutcomeAllow, Solo: rules.Solo, Confined: j.Confined},
		Voted:   approval.Voted{Votes: withVoteTimes(j.Votes, now)},
		Contact: approval.Contact{Reached: true},
	}
	if a.Subject != "" {
		a.Session = j.GrantScope.Session
	}
	a.Always, a.Offers = j.GrantScope.Always, grantableOffers(j, call, a.Subject)
	if a.Hidden() {
		a.Summary = "arguments not shown; fingerprint " + a.Fingerprint
	}
	if call.Origin != nil {
		origin := call.Origin.Normal()
		a.Origin = &origin
	}
	a.Askers = askers(who, call, rules.People)
	return settledByPolicy(a, j, rules)
}

// maxPointText is how many characters of a point's text people see.
const maxPointText = 200

// shown gives what a call's reasons come from as people may see it: no more than the facts of the call show. It is
// empty for a call that is not asked about. What the asker says beside the call may be named, too.
func shown(j approval.Judgement, facts []card.Fact, beside []string) (all []approval.Point) {
	if j.Outcome != approval.OutcomeAsk {
		return nil
	}
	var secret []string // codes of which a sentence would name a secret: all their sentences are left out
	for _, p := range j.Points {
		redacted := display.Redact(p.Text)
		if p.Param != "" && !card.Holds(facts, display.EscapeText(redacted)) {
			continue // the name of its member makes a secret of it
		}
		hidden := func(w string) bool {
			told := slices.Contains(beside, w) && display.Redact(w) == w
			return !told && w != p.Param && !strings.Contains(redacted, w) && !card.Holds(facts, display.EscapeText(w))
		}
		if slices.ContainsFunc(p.Of, hidden) {
			secret = append(secret, p.Code)
		}
		p.Param = display.Safe(p.Param)
		p.Text, _ = display.Clip(display.Safe(p.Text), maxPointText)
		p.Of = slices.Clone(p.Of)
		for i := range p.Of {
			p.Of[i] = display.Safe(p.Of[i])
		}
		all = append(all, p)
	}
	for i := range all {
		if slices.Contains(secret, all[i].Code) {
			all[i].Does, all[i].Of = "", nil
		}
	}
	return all
}

// grantableOffers drops what the asker does not want decided, and the scopes that would cover no call:
// the session scope without a session or a subject, and always if policy has no words for it.
func grantableOffers(j approval.Judgement, call approval.Call, subject string) []approval.Decision {
	return slices.DeleteFunc(slices.Clone(j.Offers), func(d approval.Decision) bool {
		if d != approval.Deny && len(call.Offers) > 0 && !slices.Contains(call.Offers, d) {
			return true
		}
		switch d {
		case approval.AllowSession:
			return call.SessionKey == "" || subject == ""
		case approval.AllowAlways:
			return j.GrantScope.Always == ""
		}
		return false
	})
}

// settledByPolicy settles what policy settles at once. Anything that is neither a clear
// allow nor a clear ask is denied.
func settledByPolicy(a approval.Approval, j approval.Judgement, rules *Rules) approval.Approval {
	switch j.Outcome {
	case approval.OutcomeAllow:
		a.Status, a.Decision, a.DecidedBy = approval.Approved, approval.AllowOnce, []string{"policy"}
	case approval.OutcomeAsk:
		if why := people.QuorumImpossible(a, rules.People); why != "" && !(rules.Clamp && people.Clamp(&a, rules.People)) {
			return people.Insufficient(a, why)
		}
	default:
		a.Confined = nil
		a.Status, a.Decision, a.DecidedBy, a.Reason = approval.Denied, approval.Deny, []string{"policy"}, j.Reason
	}
	return a
}

// withVoteTimes gives the votes of automatic factors their time.
func withVoteTimes(votes []approval.Vote, now int64) []approval.Vote {
	for i := range votes {
		votes[i].DecidedAtMs = now
	}
	return votes
}

// redactedFrom hides what looks like a secret in claims about the origin of a call.
func redactedFrom(c approval.CallContext) approval.CallContext {
	f := &c.From
	for _, s := range []*string{&f.Runtime, &f.SubagentType, &f.SubagentID, &f.Branch, &f.Worktree} {
		*s = display.Redact(*s)
	}
	return c
}
