package server

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/jsonout"
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
	o := object{jsonout.Begin(b)}
	o.Text("outcome", e.Outcome.String())
	o.Some("reason", e.Reason)
	o.Some("by", e.By)
	o.Name("assessment")
	a := &e.Assessment
	o.B = append(o.B, '{')
	o.Text("toolName", toolName)
	o.Text("riskClass", a.RiskClass.String())
	jsonout.Texts(&o.Object, "sideEffects", a.SideEffects)
	o.float("confidence", a.Confidence)
	o.Text("source", a.Source)
	jsonout.Texts(&o.Object, "reasonCodes", a.ReasonCodes)
	o.B = append(o.B, '}')
	o.Name("approvers")
	o.approvers(approversOf(e.Rule))
	jsonout.Texts(&o.Object, "offers", e.Offers)
	jsonout.Texts(&o.Object, "why", e.Why)
	o.Text("policyHash", policyHash)
	if traced && len(e.Trace) > 0 {
		o.Name("trace")
		o.B = append(o.B, '[')
		for i, s := range e.Trace {
			if i > 0 {
				o.B = append(o.B, ',')
			}
			o.B = append(o.B, '{')
			o.Text("stage", s.Stage)
			o.Text("rule", s.Rule)
			o.Text("outcome", s.Outcome)
			o.Text("text", s.Text)
			o.B = append(o.B, '}')
		}
		o.B = append(o.B, ']')
	}
	return append(o.B, '}')
}

func appendApproval(b []byte, a *api.Approval) []byte {
	o := object{jsonout.Begin(b)}
	o.Text("id", a.ID)
	o.Text("code", a.Code)
	o.Text("owner", a.Owner)
	o.Text("status", string(a.Status))
	o.decision("decision", a.Decision)
	o.Text("reason", a.Reason)
	jsonout.Texts(&o.Object, "decidedBy", a.DecidedBy)
	o.Text("toolName", a.ToolName)
	o.Text("paramsSummary", a.ParamsSummary)
	o.Text("argsFingerprint", a.ArgsFingerprint)
	if a.Bind != nil {
		o.Name("bind")
		o.B = append(o.B, '{')
		o.sent("workdir", a.Bind.Workdir)
		o.sent("host", a.Bind.Host)
		o.sent("envHash", a.Bind.EnvHash)
		o.B = append(o.B, '}')
	}
	o.Text("agentId", a.AgentID)
	o.Text("sessionKey", a.SessionKey)
	o.Text("channel", a.Channel)
	o.Name("requester")
	if r := a.Requester; r == nil {
		o.B = append(o.B, "null"...)
	} else {
		o.B = append(o.B, '{')
		o.Some("channel", r.Channel)
		o.Some("userId", r.UserID)
		o.Some("person", r.Person)
		o.B = append(o.B, '}')
	}
	o.Text("justification", a.Justification)
	o.Text("actionSummary", a.ActionSummary)
	o.Text("riskClass", a.RiskClass)
	jsonout.Texts(&o.Object, "sideEffects", a.SideEffects)
	o.float("confidence", a.Confidence)
	o.Text("source", a.Source)
	jsonout.Texts(&o.Object, "reasonCodes", a.ReasonCodes)
	jsonout.Texts(&o.Object, "why", a.Why)
	o.Text("policyHash", a.PolicyHash)
	o.Name("approvers")
	o.approvers(a.Approvers)
	jsonout.Texts(&o.Object, "offers", a.Offers)
	o.Some("sessionCovers", a.SessionCovers)
	o.Some("alwaysCovers", a.AlwaysCovers)
	list(&o, "votes", a.Votes, (*object).vote)
	list(&o, "consulted", a.Consulted, func(o *object, c *api.Consultation) {
		o.Text("authority", c.Authority)
		o.Some("endpoint", c.Endpoint)
		o.Some("requestId", c.RequestID)
		o.Text("verdict", c.Verdict)
		o.Text("cause", c.Cause)
		o.Number("latencyMs", c.LatencyMs)
		o.Number("atMs", c.AtMs)
	})
	list(&o, "deliveries", a.Deliveries, func(o *object, d *api.Delivery) {
		o.Text("target", d.Target)
		o.Text("state", d.State)
		o.Some("messageId", d.MessageID)
		o.Some("error", d.Error)
	})
	o.Flag("reached", a.Reached)
	o.Number("createdAtMs", a.CreatedAtMs)
	o.Number("expiresAtMs", a.ExpiresAtMs)
	o.Nonzero("resolvedAtMs", a.ResolvedAtMs)
	o.Nonzero("claimUntilMs", a.ClaimUntilMs)
	o.Nonzero("claimedAtMs", a.ClaimedAtMs)
	o.Nonzero("revokedAtMs", a.RevokedAtMs)
	o.Some("revokedBy", a.RevokedBy)
	o.Some("revokeReason", a.RevokeReason)
	o.Some("supersededBy", a.SupersededBy)
	if r := a.Result; r != nil {
		o.Name("result")
		o.B = append(o.B, '{')
		o.Text("status", r.Status)
		o.Some("summary", r.Summary)
		if r.ExitCode != nil {
			o.Number("exitCode", int64(*r.ExitCode))
		}
		o.Number("atMs", r.AtMs)
		o.B = append(o.B, '}')
	}
	o.Some("receipt", a.Receipt)
	return append(o.B, '}')
}

// object is a JSON object of an answer that is being written.
type object struct{ jsonout.Object }

// sent is text, left out when there is none.
func (o *object) sent(name string, s *string) {
	if s != nil {
		o.Text(name, *s)
	}
}

func (o *object) float(name string, f float64) {
	o.Name(name)
	if f == 0.5 || f == float64(int8(f)) { // as most are; the library knows what others look like
		o.B = strconv.AppendFloat(o.B, f, 'f', -1, 64)
		return
	}
	o.B = append(o.B, jsontext.Float(f).String()...)
}

func (o *object) decision(name string, d api.Decision) {
	if d == "" {
		o.Name(name)
		o.B = append(o.B, "null"...)
		return
	}
	o.Text(name, string(d))
}

func (o *object) approvers(a api.Approvers) {
	o.B = append(o.B, '{')
	jsonout.Texts(&o.Object, "allowed", a.Allowed)
	jsonout.Texts(&o.Object, "disabled", a.Disabled)
	jsonout.Texts(&o.Object, "effective", a.Effective)
	o.Number("minApprovals", int64(a.MinApprovals))
	o.Flag("requiresHuman", a.RequiresHuman)
	if a.Verifier {
		o.Flag("verifier", true)
	}
	o.B = append(o.B, '}')
}

func (o *object) vote(v *api.Vote) {
	o.Text("approverId", v.ApproverID)
	o.Text("verdict", v.Verdict)
	o.Some("decision", string(v.Decision))
	if v.Voter != nil {
		o.Name("voter")
		o.B = append(o.B, '{')
		o.Some("person", v.Voter.Person)
		o.Text("channel", v.Voter.Channel)
		o.Text("userId", v.Voter.UserID)
		o.B = append(o.B, '}')
	}
	o.Some("reason", v.Reason)
	jsonout.Texts(&o.Object, "reasonCodes", v.ReasonCodes)
	if v.Confidence != 0 {
		o.float("confidence", v.Confidence)
	}
	o.Number("decidedAtMs", v.DecidedAtMs)
	if v.VerifierOnly {
		o.Flag("verifierOnly", true)
	}
}

// list writes a list of objects; nil is the empty list.
func list[T any](o *object, name string, all []T, members func(*object, *T)) {
	o.Name(name)
	o.B = append(o.B, '[')
	for i := range all {
		if i > 0 {
			o.B = append(o.B, ',')
		}
		o.B = append(o.B, '{')
		members(o, &all[i])
		o.B = append(o.B, '}')
	}
	o.B = append(o.B, ']')
}
