package policy

import (
	"fmt"
	"slices"

	"approvalbot/internal/approval"
)

// newTerms makes the terms of a normal Config, with an agent's own where they
// are stricter.
func newTerms(c *Config, a AgentLayer) *terms {
	t := &terms{mode: c.Mode, confine: c.Confine.Mode, ask: *c.RequireApprovalAtOrAbove, human: *c.RequireHumanApproverAtOrAbove, deny: approval.R4 + 1,
		stepUp: approval.R4 + 1}
	if slices.Index(modes, a.Mode) > slices.Index(modes, t.mode) {
		t.mode = a.Mode
	}
	lower(&t.ask, a.RequireApprovalAtOrAbove)
	lower(&t.human, a.RequireHumanApproverAtOrAbove)
	lower(&t.deny, c.DenyAtOrAbove)
	lower(&t.deny, a.DenyAtOrAbove)
	lower(&t.stepUp, c.StepUpAtOrAbove)
	lower(&t.stepUp, a.StepUpAtOrAbove)
	lower(&t.ask, &t.stepUp) // a yes to sign is one that must be given
	need := max(c.MinApprovals, a.MinApprovals)
	for class := range approval.R4 + 1 { // a class needs at least what any class below it needs
		need = max(need, c.MinApprovalsByRisk[class], a.MinApprovalsByRisk[class])
		t.quorum[class] = need
		t.refusal[class] = fmt.Sprintf("Policy denies risk class %v and above (%s), and this call is %v (%s); "+
			"find a safer way or ask the operator to do it.", t.deny, denyKey(c, a), class, class.Text())
	}
	return t
}

// denyKey names the key of the configuration by which a class is denied.
func denyKey(c *Config, a AgentLayer) string {
	own := a.DenyAtOrAbove != nil && (c.DenyAtOrAbove == nil || *a.DenyAtOrAbove < *c.DenyAtOrAbove)
	if own {
		return "the agent's tools.policy.denyAtOrAbove"
	}
	return "approvals.tools.policy.denyAtOrAbove"
}

func lower(t *approval.RiskClass, own *approval.RiskClass) {
	if own != nil {
		*t = min(*t, *own)
	}
}

// Rule says whose yes a call of the class needs when that agent asks; an agent
// that nothing is said about gets the rule for all. The operator's rules can ask
// for more.
func (e *Engine) Rule(class approval.RiskClass, agentID string) approval.Rule {
	return e.rule([]approval.Factor{}, class, e.agent(agentID).terms)
}

// rule is Rule with its lists in all, as far as they fit.
func (e *Engine) rule(all []approval.Factor, class approval.RiskClass, t *terms) approval.Rule {
	part := func(list []approval.Factor) []approval.Factor {
		from := len(all)
		all = append(all, list...)
		return all[from:len(all):len(all)]
	}
	return approval.Rule{
		Allowed: part(e.cfg.AllowedApprovers), Disabled: part(e.cfg.DisabledApprovers), Effective: part(e.effective),
		MinApprovals: t.quorum[class], RequiresHuman: class >= t.human || class >= t.stepUp,
		StepUp: class >= t.stepUp,
	}
}

// OutcomeFor says what happens to a call of the class for its class alone: what
// layers, rules, side effects and the words for commands add is not in it.
func (e *Engine) OutcomeFor(class approval.RiskClass) approval.Outcome {
	switch t := e.others.terms; {
	case !e.cfg.Enabled:
		return approval.OutcomeDeny
	case t.mode == "off":
		return approval.OutcomeAllow
	case class >= t.deny:
		return approval.OutcomeDeny
	case t.mode == "always", class >= t.ask:
		return approval.OutcomeAsk
	}
	return approval.OutcomeAllow
}
