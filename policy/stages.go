package policy

import (
	"fmt"

	"approvalbot/core"
)

// say records what a stage thought, for explain.
func (j *judging) say(stage, rule string, o core.Outcome, text string) core.Outcome {
	j.trace = append(j.trace, core.Step{Stage: stage, Rule: rule, Outcome: o.String(), Text: text})
	return o
}

// because is say for a rule that asks or refuses and has a reason code.
func (j *judging) because(stage string, c code, o core.Outcome) core.Outcome {
	j.policy.add(c)
	return j.say(stage, reasons[c].name, o, reasons[c].text)
}

// refuse is because for a deny: why is the sentence for the asker.
func (j *judging) refuse(stage string, c code, why string) core.Outcome {
	if j.reason == "" {
		j.reason = why
	}
	return j.because(stage, c, core.OutcomeDeny)
}

// layersStage takes tools away. Nothing later gives them back.
func layersStage(e *Engine, j *judging) core.Outcome {
	j.tool = toolOf(j.call.ToolName)
	if !e.cfg.Enabled {
		return j.refuse("layers", approvalsDisabled, "Approvals are disabled (approvals.tools.enabled); ask the operator to enable them.")
	}
	if e.deny["*"] || e.deny[j.tool.name] || j.tool.kind == execTool && e.deny["exec"] {
		return j.refuse("layers", toolDenied, fmt.Sprintf("The tool %q is denied (tools.deny); use another tool or ask the operator.", j.call.ToolName))
	}
	if e.allow != nil && !e.allow["*"] && !e.allow[j.tool.name] {
		return j.refuse("layers", toolNotAllowed, fmt.Sprintf("The tool %q is not allowed (tools.allow); use an allowed tool or ask the operator.", j.call.ToolName))
	}
	return j.say("layers", "tools", core.OutcomeAllow, "The tool may be used.")
}

// riskStage reads the call. It has no opinion: what its findings mean is said
// by the stages after it.
func riskStage(e *Engine, j *judging) core.Outcome {
	e.assess(j)
	if j.found == (findings{}) {
		j.found.add(malformedCall)
	}
	var buf [16]code
	for _, c := range j.found.list(buf[:0]) {
		r := &reasons[c]
		j.trace = append(j.trace, core.Step{Stage: "risk", Rule: r.name, Outcome: classNames[r.class], Text: r.text})
	}
	return core.OutcomeAllow
}

var classNames = [...]string{core.R0.String(), core.R1.String(), core.R2.String(), core.R3.String(), core.R4.String()}

// execStage applies the words security and ask to tools that run commands. The
// call's own words count beside the configured ones, and the stricter answer of
// the two wins, so that a caller can only tighten.
func execStage(e *Engine, j *judging) core.Outcome {
	if j.tool.kind != execTool {
		return core.OutcomeAllow
	}
	configured := execWords{e.cfg.ExecSecurity, e.cfg.ExecAsk}
	own := execWords{either(j.exec.security, configured.security), either(j.exec.ask, configured.ask)}
	class := j.found.class()
	c, outcome := configured.judge(class)
	if c2, o2 := own.judge(class); o2 > outcome {
		c, outcome = c2, o2
	}
	switch {
	case outcome == core.OutcomeAllow || e.cfg.Mode == "off" && outcome == core.OutcomeAsk && c == execNotAllowed:
		return j.say("exec", "exec", core.OutcomeAllow, "The words security and ask have no objection.")
	case c == execDenied:
		return j.refuse("exec", c, "Commands are denied (exec security deny); use another tool or ask the operator.")
	case outcome == core.OutcomeDeny:
		return j.refuse("exec", c, "The command is not on the allowlist and nobody is to be asked (exec ask off); use a reading command or ask the operator.")
	}
	if c == execNotAllowed && class >= *e.cfg.RequireApprovalAtOrAbove {
		return j.say("exec", reasons[c].name, outcome, reasons[c].text) // its class asks anyway and says more
	}
	return j.because("exec", c, outcome)
}

// execWords are the words security and ask of the configuration or of a call.
type execWords struct{ security, ask string }

// judge says what the words mean for a command of the class. On the allowlist
// are commands that only read or change the workspace, R0 and R1.
func (w execWords) judge(class core.RiskClass) (code, core.Outcome) {
	switch {
	case w.security == "deny":
		return execDenied, core.OutcomeDeny
	case w.ask == "always":
		return execAlwaysAsks, core.OutcomeAsk
	case w.security != "allowlist" || class <= core.R1:
		return execNotAllowed, core.OutcomeAllow
	case w.ask == "off":
		return execNotAllowed, core.OutcomeDeny
	}
	return execNotAllowed, core.OutcomeAsk
}

// policyStage turns class and side effects into an outcome.
func policyStage(e *Engine, j *judging) core.Outcome {
	class, touched := j.found.class(), j.sideEffects()
	switch {
	case e.cfg.Mode == "off":
		return j.say("policy", "mode", core.OutcomeAllow, "The mode is off: only the hard layers count.")
	case e.cfg.DenyAtOrAbove != nil && class >= *e.cfg.DenyAtOrAbove:
		return j.refuse("policy", riskDenied, e.denied[class])
	case e.cfg.Mode == "always":
		return j.because("policy", alwaysAsks, core.OutcomeAsk)
	case class >= *e.cfg.RequireApprovalAtOrAbove:
		return j.say("policy", "requireApprovalAtOrAbove", core.OutcomeAsk, "Calls of this risk class need approval.")
	case *e.cfg.RequireApprovalForExternalWrite && touched&externalWrite != 0:
		return j.because("policy", externalWriteAsks, core.OutcomeAsk)
	case *e.cfg.RequireApprovalForMessagingSend && touched&sendsMessage != 0:
		return j.because("policy", messageSendAsks, core.OutcomeAsk)
	}
	return j.say("policy", "allow", core.OutcomeAllow, "Calls of this risk class are allowed.")
}

func either(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
