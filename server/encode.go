package server

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/api"
	"approvalbot/core"
)

// appendJSON writes the answer that is one approval without reflection, exactly
// as [encoding] would; false: it is another answer. TestAppendJSON holds both
// equal, for every field there is.
func appendJSON(b []byte, body any) ([]byte, bool) {
	if a, ok := body.(api.Approval); ok && a.Claim == nil {
		return appendApproval(b, &a), true
	}
	return b, false
}

// appendEvaluation writes an [api.Evaluation] in the same way, from what policy
// says of a call of that tool. The trace is left out if it is not for the caller.
func appendEvaluation(b []byte, e *core.Preview, toolName, policyHash string, traced bool) []byte {
	o := object{append(b, '{')}
	o.text("outcome", e.Outcome.String())
	o.some("reason", e.Reason)
	o.some("by", e.By)
	o.name("assessment")
	a := &e.Assessment
	o.b = append(o.b, '{')
	o.text("toolName", toolName)
	o.text("riskClass", a.RiskClass.String())
	texts(&o, "sideEffects", a.SideEffects)
	o.float("confidence", a.Confidence)
	o.text("source", a.Source)
	texts(&o, "reasonCodes", a.ReasonCodes)
	o.b = append(o.b, '}')
	o.name("approvers")
	approvers(&o, e.Rule.Allowed, e.Rule.Disabled, e.Rule.Effective, e.Rule.MinApprovals, e.Rule.RequiresHuman)
	texts(&o, "offers", e.Offers)
	texts(&o, "why", e.Why)
	o.text("policyHash", policyHash)
	if traced && len(e.Trace) > 0 {
		o.name("trace")
		o.b = append(o.b, '[')
		for i, s := range e.Trace {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = append(o.b, '{')
			o.text("stage", s.Stage)
			o.text("rule", s.Rule)
			o.text("outcome", s.Outcome)
			o.text("text", s.Text)
			o.b = append(o.b, '}')
		}
		o.b = append(o.b, ']')
	}
	return append(o.b, '}')
}

func appendApproval(b []byte, a *api.Approval) []byte {
	o := object{append(b, '{')}
	o.text("id", a.ID)
	o.text("code", a.Code)
	o.text("owner", a.Owner)
	o.text("status", string(a.Status))
	o.decision("decision", a.Decision)
	o.text("reason", a.Reason)
	texts(&o, "decidedBy", a.DecidedBy)
	o.text("toolName", a.ToolName)
	o.text("paramsSummary", a.ParamsSummary)
	o.text("argsFingerprint", a.ArgsFingerprint)
	if a.Bind != nil {
		o.name("bind")
		o.b = append(o.b, '{')
		o.sent("workdir", a.Bind.Workdir)
		o.sent("host", a.Bind.Host)
		o.sent("envHash", a.Bind.EnvHash)
		o.b = append(o.b, '}')
	}
	o.text("agentId", a.AgentID)
	o.text("sessionKey", a.SessionKey)
	o.text("channel", a.Channel)
	o.name("requester")
	if r := a.Requester; r == nil {
		o.b = append(o.b, "null"...)
	} else {
		o.b = append(o.b, '{')
		o.some("channel", r.Channel)
		o.some("userId", r.UserID)
		o.some("person", r.Person)
		o.b = append(o.b, '}')
	}
	o.text("justification", a.Justification)
	o.text("actionSummary", a.ActionSummary)
	o.text("riskClass", a.RiskClass)
	texts(&o, "sideEffects", a.SideEffects)
	o.float("confidence", a.Confidence)
	o.text("source", a.Source)
	texts(&o, "reasonCodes", a.ReasonCodes)
	texts(&o, "why", a.Why)
	o.text("policyHash", a.PolicyHash)
	o.name("approvers")
	approvers(&o, a.Approvers.Allowed, a.Approvers.Disabled, a.Approvers.Effective, a.Approvers.MinApprovals, a.Approvers.RequiresHuman)
	texts(&o, "offers", a.Offers)
	list(&o, "votes", a.Votes, (*object).vote)
	list(&o, "deliveries", a.Deliveries, func(o *object, d *api.Delivery) {
		o.text("target", d.Target)
		o.text("state", d.State)
		o.some("messageId", d.MessageID)
		o.some("error", d.Error)
	})
	o.flag("reached", a.Reached)
	o.number("createdAtMs", a.CreatedAtMs)
	o.number("expiresAtMs", a.ExpiresAtMs)
	o.nonzero("resolvedAtMs", a.ResolvedAtMs)
	o.nonzero("claimUntilMs", a.ClaimUntilMs)
	o.nonzero("claimedAtMs", a.ClaimedAtMs)
	o.nonzero("revokedAtMs", a.RevokedAtMs)
	o.some("supersededBy", a.SupersededBy)
	if r := a.Result; r != nil {
		o.name("result")
		o.b = append(o.b, '{')
		o.text("status", r.Status)
		o.some("summary", r.Summary)
		if r.ExitCode != nil {
			o.number("exitCode", int64(*r.ExitCode))
		}
		o.number("atMs", r.AtMs)
		o.b = append(o.b, '}')
	}
	o.some("receipt", a.Receipt)
	return append(o.b, '}')
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
	o.b = appendQuoted(o.b, s)
}

// sent is text, left out when there is none.
func (o *object) sent(name string, s *string) {
	if s != nil {
		o.text(name, *s)
	}
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

func (o *object) float(name string, f float64) {
	o.name(name)
	if f == 0.5 || f == float64(int8(f)) { // as most are; the library knows what others look like
		o.b = strconv.AppendFloat(o.b, f, 'f', -1, 64)
		return
	}
	o.b = append(o.b, jsontext.Float(f).String()...)
}

func (o *object) flag(name string, is bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, is)
}

func (o *object) decision(name string, d api.Decision) {
	if d == "" {
		o.name(name)
		o.b = append(o.b, "null"...)
		return
	}
	o.text(name, string(d))
}

// approvers writes [api.Approvers].
func approvers[S ~string](o *object, allowed, disabled, effective []S, minApprovals int, requiresHuman bool) {
	o.b = append(o.b, '{')
	texts(o, "allowed", allowed)
	texts(o, "disabled", disabled)
	texts(o, "effective", effective)
	o.number("minApprovals", int64(minApprovals))
	o.flag("requiresHuman", requiresHuman)
	o.b = append(o.b, '}')
}

func (o *object) vote(v *api.Vote) {
	o.text("approverId", v.ApproverID)
	o.text("verdict", v.Verdict)
	o.some("decision", string(v.Decision))
	if v.Voter != nil {
		o.name("voter")
		o.b = append(o.b, '{')
		o.some("person", v.Voter.Person)
		o.text("channel", v.Voter.Channel)
		o.text("userId", v.Voter.UserID)
		o.b = append(o.b, '}')
	}
	o.some("reason", v.Reason)
	texts(o, "reasonCodes", v.ReasonCodes)
	if v.Confidence != 0 {
		o.float("confidence", v.Confidence)
	}
	o.number("decidedAtMs", v.DecidedAtMs)
}

// texts writes a list of texts; nil is the empty list.
func texts[S ~string](o *object, name string, all []S) {
	o.name(name)
	o.b = append(o.b, '[')
	for i, s := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendQuoted(o.b, string(s))
	}
	o.b = append(o.b, ']')
}

// list writes a list of objects; nil is the empty list.
func list[T any](o *object, name string, all []T, members func(*object, *T)) {
	o.name(name)
	o.b = append(o.b, '[')
	for i := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, '{')
		members(o, &all[i])
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}

// appendQuoted writes text as JSON; what is not plain ASCII, the library writes.
func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if odd[s[i]] {
			b, _ = jsontext.AppendQuote(b, s) // broken UTF-8 becomes U+FFFD
			return b
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// odd are the bytes that do not stand for themselves in JSON, or are not ASCII.
var odd = func() (is [256]bool) {
	for c := range is {
		is[c] = c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf
	}
	return is
}()
