package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
)

// Preview is what policy says of a call without anything being created, sent or
// asked outside.
type Preview struct {
	approval.Judgement
	By string // "grant:<id>" if a grant or a cool-down decides, else empty
}

// Evaluate judges a call by what is known here: policy, and the grants on
// record. Classifier and verifier are not asked; the trace, which only those who
// may decide get, says that they would be.
func (g *Gate) Evaluate(ctx context.Context, who Caller, call approval.Call) (p Preview, err error) {
	rules, err := g.inForce()
	if err != nil {
		return Preview{}, err
	}
	if !rules.Enabled {
		return Preview{}, approval.Refuse(approval.CodeApprovalsDisabled, "approvals disabled")
	}
	who.MayConfine = who.MayConfine || who.MayDecide
	call = askedBy(call, who)
	if who.MayDecide {
		call.TokensAgent = true
		who.Person = "" // an operator looks at what others would ask, in any chat
		if call.Origin != nil {
			who.SessionChats = []approval.Target{*call.Origin}
		}
	}
	call.Explain = who.MayDecide // other callers are not told which rule spoke
	call.Scope = who.MayDecide
	var sealed approval.Sealed
	var c consulted
	call, sealed, c, err = g.judge(ctx, who, call, rules)
	if err != nil {
		return Preview{}, err
	}
	if err := g.withHolders(ctx, c.Rule, rules); err != nil {
		return Preview{}, err
	}
	p = Preview{Judgement: c.Judgement}
	if c.Outcome != approval.OutcomeAsk && c.Confined == nil {
		return p, nil
	}
	defer func() {
		if who.MayDecide && err == nil && p.By == "" && p.Outcome != approval.OutcomeAllow {
			p.suggest(c.suggestion(ctx, call, rules))
		}
	}()
	d := outline(who, call, sealed.Fingerprint, c.Judgement, rules)
	p.Offers = d.Offers
	found, err := g.store.Covering(ctx, Lookup{Owner: d.Owner, AgentID: d.AgentID, SessionKey: d.SessionKey,
		Fingerprint: d.Fingerprint, Subject: d.Subject, Program: c.GrantScope.Program, Grants: true})
	if err != nil {
		return p, err
	}
	if d.Status == approval.Approved {
		d = unconfined(d)
	}
	settled := c.onMiss(byGrant(d, Existing{Grants: found}, c.GrantScope, rules.People, nowMs()))
	switch by := settled.DecidedBy; {
	case d.Status == approval.Denied:
		p.deny(d)
		p.addStep("people", approval.ReasonInsufficient, "deny", d.Reason)
	case settled.Status == approval.Approved:
		p.Outcome, p.By, p.Confined = approval.OutcomeAllow, by[0], settled.Confined
		p.addStep("grants", p.By, "allow", "A standing grant covers this call.")
	case settled.Status == approval.Denied && byRecord(settled):
		p.deny(settled)
		p.By = by[0]
		p.addStep("grants", p.By, "deny", settled.Reason)
	case settled.Status == approval.Denied:
		p.deny(settled)
	case !settled.Rule.AsksApprovers() && d.Rule.AsksApprovers():
		p.By, p.Rule, p.Offers = settled.Rule.Verifier.Instead, settled.Rule, settled.Offers
		p.addStep("grants", p.By, "ask",
			"A standing grant covers this call; the verifier's people are asked all the same.")
	}
	return p, nil
}

// suggest ends the trace with what would let the call run unasked.
func (p *Preview) suggest(s approval.Suggestion) {
	if text := text(s); text != "" {
		p.addStep("suggestion", s.Key, p.Outcome.String(), text)
	}
}

func (p *Preview) deny(a approval.Approval) {
	p.Confined = nil
	p.Outcome, p.Reason, p.Assessment = approval.OutcomeDeny, a.Reason, a.Assessment
}

// addStep adds a step to the trace.
func (p *Preview) addStep(stage, rule, outcome, text string) {
	p.Trace = append(slices.Clip(p.Trace), approval.Step{Stage: stage, Rule: rule, Outcome: outcome, Text: text})
}
