package policy

import (
	"fmt"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// layersStage takes tools away. No later stage gives them back.
func layersStage(e *Engine, j *judging) approval.Outcome {
	j.Tool = tool.Named(j.Call.ToolName)
	if !e.cfg.Enabled {
		return j.refuse("layers", finding.ApprovalsDisabled,
			"Approvals are disabled (approvals.tools.enabled); ask the operator to enable them.")
	}
	key, why, any := tool.Objection(e.layers, j.Tool, &j.Call)
	if !any {
		return j.say("layers", "tools", approval.OutcomeAllow, "The tool may be used.")
	}
	j.policy.Add(why)
	j.reason = taken(j.Call.ToolName, key, why)
	return j.say("layers", key, approval.OutcomeDeny, finding.Reasons[why].Text)
}

// taken is the sentence for the asker of a tool that the hard layers take away.
func taken(name, key string, why finding.Code) string {
	if why == finding.ToolDenied {
		return fmt.Sprintf("The tool %q is denied (%s); use another tool or ask the operator.", name, key)
	}
	return fmt.Sprintf("The tool %q is not allowed (%s); use an allowed tool or ask the operator.", name, key)
}

// Permits implements core.Policy.
func (e *Engine) Permits(call approval.Call) (reason string, ok bool) {
	key, why, any := tool.Objection(e.layers, tool.Named(call.ToolName), &call)
	if !any {
		return "", true
	}
	return taken(call.ToolName, key, why), false
}

// riskStage reads the call. It has no opinion: what its findings mean is said
// by the stages after it.
func riskStage(e *Engine, j *judging) approval.Outcome {
	e.assess(j)
	if j.Call.Context.Tool.Changed {
		j.Found.Add(finding.ToolChanged)
	}
	if j.Tool.Kind != tool.Exec && j.BesideArguments() {
		j.Found.Add(finding.BesideArguments)
	}
	if j.Found == (finding.Set{}) {
		j.Found.Add(finding.MalformedCall)
	}
	if j.Call.Explain {
		var buf [16]finding.Code
		for _, c := range j.Found.List(buf[:0]) {
			r := &finding.Reasons[c]
			text := r.Text
			if c == finding.UnusualShell && j.unsure != "" {
				text += " It is " + j.unsure + "."
			}
			j.step("risk", r.Name, classNames[r.Class], text)
		}
	}
	j.static = j.Found.Class()
	j.sandbox()
	j.base, j.class = j.static, j.static
	return approval.OutcomeAllow
}

// policyStage turns class and side effects into an outcome. What is denied for
// its class is denied for the static class too: no rule and no opinion gets
// around that.
func policyStage(e *Engine, j *judging) approval.Outcome {
	class, worst, touched := j.class, max(j.class, j.static), j.sideEffects()
	switch t := j.agent.terms; {
	case t.mode == "off":
		return j.say("policy", "mode", approval.OutcomeAllow, "The mode is off: only the hard layers count.")
	case j.malformed:
		return j.refuse("policy", finding.MalformedDenied, "The call's parameters are missing or of the wrong type, "+
			"so an approver could not tell what it would do; send them as the tool takes them.")
	case worst >= t.deny:
		return j.refuse("policy", finding.RiskDenied, t.refusal[worst])
	case t.mode == "always":
		return j.because("policy", finding.AlwaysAsks, approval.OutcomeAsk)
	case j.Call.Context.Tool.Changed:
		return j.say("policy", "tool-changed", approval.OutcomeAsk, "A permission for this tool covers only the tool as it was before it changed.")
	case j.Found.Has(finding.BesideArguments):
		return j.say("policy", "beside-arguments", approval.OutcomeAsk, "A permission for this tool covers only its arguments.")
	case j.excused && class < approval.R4:
		return j.say("policy", "permitted", approval.OutcomeAllow, "The operator permits this call regardless of its class.")
	case j.Found.Any(eachAsks):
		return j.say("policy", "each-asks", approval.OutcomeAsk, "Every single call of this kind needs approval.")
	case class >= t.ask:
		return j.say("policy", "requireApprovalAtOrAbove", approval.OutcomeAsk, "Calls of this risk class need approval.")
	case e.cfg.ProjectCode != "allow" && j.Found.Any(finding.ProjectCode) && !j.bound:
		return j.because("policy", finding.ProjectCodeAsks, approval.OutcomeAsk)
	case *e.cfg.RequireApprovalForExternalWrite && touched&finding.ExternalWrite != 0:
		return j.because("policy", finding.ExternalWriteAsks, approval.OutcomeAsk)
	case *e.cfg.RequireApprovalForMessagingSend && touched&finding.SendsMessage != 0:
		return j.because("policy", finding.MessageSendAsks, approval.OutcomeAsk)
	}
	return j.say("policy", "allow", approval.OutcomeAllow, "Calls of this risk class are allowed.")
}
