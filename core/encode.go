package core

import (
	"encoding/json"

	"approvalbot/internal/jsonout"
)

// AppendBody appends what of an approval the store keeps beside columns. It is
// written without reflection, since every call has one; TestEncoding holds it equal
// to what [json.Marshal] writes, for every field there is.
func (a *Approval) AppendBody(b []byte) []byte {
	o := object{jsonout.Begin(b)}
	o.Some("decision", string(a.Decision))
	o.Some("reason", a.Reason)
	someTexts(&o, "decidedBy", a.DecidedBy)
	o.Text("summary", a.Summary)
	if a.Bind != nil {
		o.any("bind", a.Bind)
	}
	if a.Origin != nil {
		o.any("origin", a.Origin)
	}
	if a.Context != (CallContext{}) {
		o.any("context", a.Context)
	}
	o.set("tokensAgent", a.TokensAgent)
	o.Some("dialect", a.Dialect)
	if len(a.Askers) > 0 {
		o.any("askers", a.Askers)
	}
	o.Some("callbackUrl", a.CallbackURL)
	if a.Requester != nil {
		o.any("requester", a.Requester)
	}
	o.Some("justification", a.Justification)
	o.Some("actionSummary", a.ActionSummary)
	o.assessment(&a.Assessment)
	someTexts(&o, "why", a.Why)
	o.Text("policyHash", a.PolicyHash)
	o.rule("rule", &a.Rule)
	someTexts(&o, "offers", a.Offers)
	o.Some("subject", a.Subject)
	o.Some("session", a.Session)
	o.Some("always", a.Always)
	o.set("unreached", a.Unreached)
	o.set("solo", a.Solo)
	if len(a.Votes) > 0 {
		o.any("votes", a.Votes)
	}
	if len(a.Consulted) > 0 {
		o.any("consulted", a.Consulted)
	}
	o.set("reached", a.Reached)
	o.Nonzero("fallbackAtMs", a.FallbackAtMs)
	o.set("fallbackDone", a.FallbackDone)
	o.Nonzero("claimUntilMs", a.ClaimUntilMs)
	o.Nonzero("claimedAtMs", a.ClaimedAtMs)
	o.Nonzero("revokedAtMs", a.RevokedAtMs)
	o.Nonzero("retries", int64(a.Retries))
	o.Some("claimId", a.ClaimID)
	if a.Result != nil {
		o.any("result", a.Result)
	}
	o.Some("revokedBy", a.RevokedBy)
	o.Some("revokeReason", a.RevokeReason)
	o.Some("supersededBy", a.SupersededBy)
	return append(o.B, '}')
}

// eventData is what an event says beside the approval's own facts.
type eventData struct {
	Vote  *Vote
	Solo  bool
	By    string
	Why   string
	Until int64
	// Joined are those who stand behind an identical call that was joined.
	Joined []Requester
}

// event makes a log entry with the facts an auditor asks for.
func (a Approval) event(t EventType, now int64, more eventData) Event {
	o := object{jsonout.Begin(make([]byte, 0, 1024))}
	o.Text("id", a.ID)
	o.Text("code", a.Code)
	o.Text("status", string(a.Status))
	o.Some("decision", string(a.Decision))
	someTexts(&o, "decidedBy", a.DecidedBy)
	o.Some("reason", a.Reason)
	o.Text("toolName", a.ToolName)
	o.Text("argsFingerprint", a.Fingerprint)
	o.Some("agentId", a.AgentID)
	o.Some("sessionKey", a.SessionKey)
	if a.Origin != nil {
		o.Some("channel", a.Origin.Channel)
	}
	if a.Requester != nil {
		o.any("requester", a.Requester)
	}
	if len(a.Askers) > 0 {
		o.any("askers", a.Askers)
	}
	if len(more.Joined) > 0 {
		o.any("joined", more.Joined)
	}
	o.assessment(&a.Assessment)
	o.Text("policyHash", a.PolicyHash)
	o.rule("approvers", &a.Rule)
	if len(a.Votes) > 0 {
		o.any("votes", a.Votes)
	}
	if len(a.Consulted) > 0 {
		o.any("consulted", a.Consulted)
	}
	if a.Result != nil {
		o.any("result", a.Result)
	}
	o.Some("dialect", a.Dialect)
	o.Number("createdAtMs", a.CreatedAtMs)
	o.Number("expiresAtMs", a.ExpiresAtMs)
	o.Nonzero("revokedAtMs", a.RevokedAtMs)
	o.Some("revokedBy", a.RevokedBy)
	o.Some("revokeReason", a.RevokeReason)
	if more.Vote != nil {
		o.any("vote", more.Vote)
	}
	o.set("soloSelfApproval", more.Solo)
	o.Some("by", more.By)
	o.Some("why", more.Why)
	o.Nonzero("claimUntilMs", more.Until)
	return Event{AtMs: now, Type: t, Key: a.Key, Owner: a.Owner, Data: append(o.B, '}')}
}

// object is a JSON object of the log or the store that is being written.
type object struct{ jsonout.Object }

// set is true, or left out.
func (o *object) set(name string, is bool) {
	if is {
		o.Name(name)
		o.B = append(o.B, "true"...)
	}
}

// any is a member that calls seldom have.
func (o *object) any(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil { // plain values always marshal
		panic(err)
	}
	o.Name(name)
	o.B = append(o.B, b...)
}

func (o *object) assessment(a *Assessment) {
	o.Name("assessment")
	o.B = append(o.B, '{')
	o.Text("riskClass", a.RiskClass.String())
	texts(o, "sideEffects", a.SideEffects)
	if a.Confidence == 1 {
		o.Number("confidence", 1)
	} else {
		o.any("confidence", a.Confidence)
	}
	o.Text("source", a.Source)
	texts(o, "reasonCodes", a.ReasonCodes)
	o.Some("static", a.Static)
	o.Some("classifier", a.Classifier)
	o.B = append(o.B, '}')
}

func (o *object) rule(name string, r *Rule) {
	o.Name(name)
	o.B = append(o.B, '{')
	texts(o, "allowed", r.Allowed)
	texts(o, "disabled", r.Disabled)
	texts(o, "effective", r.Effective)
	o.Number("minApprovals", int64(r.MinApprovals))
	o.Flag("requiresHuman", r.RequiresHuman)
	if len(r.Needs) > 0 {
		o.any("needs", r.Needs)
	}
	if r.Verifier != nil {
		o.any("verifier", r.Verifier)
	}
	o.B = append(o.B, '}')
}

// texts writes a list of texts, or null.
func texts[S ~string](o *object, name string, all []S) {
	if all == nil {
		o.Name(name)
		o.B = append(o.B, "null"...)
		return
	}
	jsonout.Texts(&o.Object, name, all)
}

// someTexts is texts, left out when empty.
func someTexts[S ~string](o *object, name string, all []S) {
	if len(all) > 0 {
		texts(o, name, all)
	}
}
