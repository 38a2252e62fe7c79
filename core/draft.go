package core

import (
	"slices"

	"approvalbot/internal/display"
)

// draft makes the approval that a call would become.
func draft(who Caller, call Call, sealed Sealed, j Judgement, rules *Rules) (Approval, error) {
	a := outline(who, call, sealed.Fingerprint, j, rules).named(call.ID)
	if a.hidden() {
		return a, nil // its dialect tells the fingerprint only
	}
	call.Params = sealed.params
	facts, err := payloadFacts(call)
	if err != nil {
		return Approval{}, err
	}
	a.Summary = about(call.ToolName, facts, call.Bind, maxSummary)
	return a, nil
}

// outline is draft without a key, and without what people read of the call.
func outline(who Caller, call Call, fingerprint string, j Judgement, rules *Rules) Approval {
	now := nowMs()
	timeout := rules.TimeoutMs
	if call.TimeoutMs > 0 {
		timeout = min(call.TimeoutMs, rules.MaxTimeoutMs)
	}
	a := Approval{
		ID: call.ID, Owner: who.Token, Status: Pending,
		ToolName: call.ToolName, Fingerprint: fingerprint, Form: j.Form, Bind: call.Bind,
		AgentID: call.AgentID, TokensAgent: call.TokensAgent, SessionKey: call.SessionKey,
		Context: call.Context.stored(), Dialect: call.Dialect,
		Requester: call.Requester, CallbackURL: call.CallbackURL,
		Justification: display.Redact(call.Justification), ActionSummary: display.Redact(call.ActionSummary),
		Assessment: j.Assessment, Why: j.Why, PolicyHash: rules.Policy.Hash(), Rule: j.Rule,
		Subject: j.subject(call), Unreached: j.Unreached == OutcomeAllow, Solo: rules.Solo,
		Votes: withVoteTimes(j.Votes, now), Reached: true, CreatedAtMs: now, ExpiresAtMs: now + timeout,
	}
	if a.Subject != "" {
		a.Session = j.GrantScope.Session
	}
	a.Always, a.Offers = j.GrantScope.Always, grantableOffers(j, call, a.Subject)
	if a.hidden() {
		a.Summary = "arguments not shown; fingerprint " + a.Fingerprint
	}
	if call.Origin != nil {
		origin := call.Origin.Normal()
		a.Origin = &origin
	}
	a.Askers = askers(who, call, rules.People)
	return a.settledByPolicy(j, rules)
}

// grantableOffers drops what the asker does not want decided, and the scopes that would cover nothing:
// no session scope without a session or a subject, and none for always if policy has no words for it.
func grantableOffers(j Judgement, call Call, subject string) []Decision {
	return slices.DeleteFunc(slices.Clone(j.Offers), func(d Decision) bool {
		if d != Deny && len(call.Offers) > 0 && !slices.Contains(call.Offers, d) {
			return true
		}
		switch d {
		case AllowSession:
			return call.SessionKey == "" || subject == ""
		case AllowAlways:
			return j.GrantScope.Always == ""
		}
		return false
	})
}

// settledByPolicy settles what policy settles at once. Anything that is neither a clear
// allow nor a clear ask is denied.
func (a Approval) settledByPolicy(j Judgement, rules *Rules) Approval {
	switch j.Outcome {
	case OutcomeAllow:
		a.Status, a.Decision, a.DecidedBy = Approved, AllowOnce, []string{"policy"}
	case OutcomeAsk:
		if why := a.quorumImpossible(rules.People); why != "" && !(rules.Clamp && a.clamp(rules.People)) {
			return a.insufficient(why)
		}
	default:
		a.Status, a.Decision, a.DecidedBy, a.Reason = Denied, Deny, []string{"policy"}, j.Reason
	}
	return a
}

// withVoteTimes gives the votes of automatic factors their time.
func withVoteTimes(votes []Vote, now int64) []Vote {
	for i := range votes {
		votes[i].DecidedAtMs = now
	}
	return votes
}
