package core

import (
	"encoding/json"
	"strconv"
)

// AppendBody appends what of an approval the store keeps beside columns. It is
// written without reflection, since every call has one; TestEncoding holds it equal
// to what [json.Marshal] writes, for every field there is.
func (a *Approval) AppendBody(b []byte) []byte {
	o := object{append(b, '{')}
	o.some("decision", string(a.Decision))
	o.some("reason", a.Reason)
	someTexts(&o, "decidedBy", a.DecidedBy)
	o.text("summary", a.Summary)
	if a.Bind != nil {
		o.any("bind", a.Bind)
	}
	if a.Origin != nil {
		o.any("origin", a.Origin)
	}
	if a.Context != (CallContext{}) {
		o.any("context", a.Context)
	}
	o.some("dialect", a.Dialect)
	if len(a.Askers) > 0 {
		o.any("askers", a.Askers)
	}
	o.some("callbackUrl", a.CallbackURL)
	if a.Requester != nil {
		o.any("requester", a.Requester)
	}
	o.some("justification", a.Justification)
	o.some("actionSummary", a.ActionSummary)
	o.assessment(&a.Assessment)
	someTexts(&o, "why", a.Why)
	o.text("policyHash", a.PolicyHash)
	o.rule("rule", &a.Rule)
	someTexts(&o, "offers", a.Offers)
	o.some("subject", a.Subject)
	o.set("unreached", a.Unreached)
	o.set("solo", a.Solo)
	if len(a.Votes) > 0 {
		o.any("votes", a.Votes)
	}
	o.set("reached", a.Reached)
	o.nonzero("fallbackAtMs", a.FallbackAtMs)
	o.set("fallbackDone", a.FallbackDone)
	o.nonzero("claimUntilMs", a.ClaimUntilMs)
	o.nonzero("claimedAtMs", a.ClaimedAtMs)
	o.nonzero("revokedAtMs", a.RevokedAtMs)
	o.nonzero("retries", int64(a.Retries))
	o.some("claimId", a.ClaimID)
	if a.Result != nil {
		o.any("result", a.Result)
	}
	o.some("revokedBy", a.RevokedBy)
	o.some("supersededBy", a.SupersededBy)
	return append(o.b, '}')
}

// eventData is what an event says beside the approval's own facts.
type eventData struct {
	Vote  *Vote
	Solo  bool
	By    string
	Why   string
	Until int64
}

// event makes a log entry with the facts an auditor asks for.
func (a Approval) event(t EventType, now int64, more eventData) Event {
	o := object{append(make([]byte, 0, 1024), '{')}
	o.text("id", a.ID)
	o.text("code", a.Code)
	o.text("status", string(a.Status))
	o.some("decision", string(a.Decision))
	someTexts(&o, "decidedBy", a.DecidedBy)
	o.some("reason", a.Reason)
	o.text("toolName", a.ToolName)
	o.text("argsFingerprint", a.Fingerprint)
	o.some("agentId", a.AgentID)
	o.some("sessionKey", a.SessionKey)
	if a.Origin != nil {
		o.some("channel", a.Origin.Channel)
	}
	o.assessment(&a.Assessment)
	o.text("policyHash", a.PolicyHash)
	o.rule("approvers", &a.Rule)
	if len(a.Votes) > 0 {
		o.any("votes", a.Votes)
	}
	if a.Result != nil {
		o.any("result", a.Result)
	}
	o.some("dialect", a.Dialect)
	o.number("createdAtMs", a.CreatedAtMs)
	o.number("expiresAtMs", a.ExpiresAtMs)
	o.nonzero("revokedAtMs", a.RevokedAtMs)
	if more.Vote != nil {
		o.any("vote", more.Vote)
	}
	o.set("soloSelfApproval", more.Solo)
	o.some("by", more.By)
	o.some("why", more.Why)
	o.nonzero("claimUntilMs", more.Until)
	return Event{AtMs: now, Type: t, Key: a.Key, Owner: a.Owner, Data: append(o.b, '}')}
}

// object writes the members of JSON objects.
type object struct{ b []byte }

// name begins a member.
func (o *object) name(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *object) text(name, s string) {
	o.name(name)
	o.b = appendText(o.b, s)
}

// some is text, left out when empty.
func (o *object) some(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o *object) number(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

// nonzero is number, left out when 0.
func (o *object) nonzero(name string, n int64) {
	if n != 0 {
		o.number(name, n)
	}
}

// set is true, or left out.
func (o *object) set(name string, is bool) {
	if is {
		o.name(name)
		o.b = append(o.b, "true"...)
	}
}

// any is a member that calls seldom have.
func (o *object) any(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil { // plain values always marshal
		panic(err)
	}
	o.name(name)
	o.b = append(o.b, b...)
}

func (o *object) assessment(a *Assessment) {
	o.name("assessment")
	o.b = append(o.b, '{')
	o.text("riskClass", a.RiskClass.String())
	texts(o, "sideEffects", a.SideEffects)
	if a.Confidence == 1 {
		o.number("confidence", 1)
	} else {
		o.any("confidence", a.Confidence)
	}
	o.text("source", a.Source)
	texts(o, "reasonCodes", a.ReasonCodes)
	o.b = append(o.b, '}')
}

func (o *object) rule(name string, r *Rule) {
	o.name(name)
	o.b = append(o.b, '{')
	texts(o, "allowed", r.Allowed)
	texts(o, "disabled", r.Disabled)
	texts(o, "effective", r.Effective)
	o.number("minApprovals", int64(r.MinApprovals))
	o.name("requiresHuman")
	o.b = strconv.AppendBool(o.b, r.RequiresHuman)
	if len(r.Needs) > 0 {
		o.any("needs", r.Needs)
	}
	o.b = append(o.b, '}')
}

// texts writes a list of texts.
func texts[S ~string](o *object, name string, all []S) {
	o.name(name)
	if all == nil {
		o.b = append(o.b, "null"...)
		return
	}
	o.b = append(o.b, '[')
	for i, s := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendText(o.b, string(s))
	}
	o.b = append(o.b, ']')
}

// someTexts is texts, left out when empty.
func someTexts[S ~string](o *object, name string, all []S) {
	if len(all) > 0 {
		texts(o, name, all)
	}
}
