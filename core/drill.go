package core

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// drilling is an operator who asks for a drill. No part of a drill can run, so they may answer it
// too.
func (c Caller) drilling() Caller {
	c.MayRequest, c.Person, c.RequireRequester = true, "", false
	return c
}

// drill asks everyone who could decide any call, once: the approvers of all channels, and
// the verifier's own people, who get a card in their chats. No outside authority is asked,
// and no grant is offered or spent.
func (r *Rules) drill() consulted {
	c := consulted{Judgement: approval.Judgement{
		Outcome:    approval.OutcomeAsk,
		Assessment: approval.Assessment{RiskClass: approval.R0, SideEffects: []approval.SideEffect{approval.NoSideEffect}, Confidence: 1, Source: "static"},
		Rule: approval.Rule{Allowed: []approval.Factor{approval.UserRequest}, Disabled: []approval.Factor{}, Effective: []approval.Factor{approval.UserRequest},
			MinApprovals: 1, RequiresHuman: true},
		Offers: []approval.Decision{approval.AllowOnce, approval.Deny},
		Trace: []approval.Step{{Stage: "policy", Rule: approval.ReasonDrill, Outcome: approval.OutcomeAsk.String(),
			Text: "A drill always goes to people, even if policy would allow or deny it, and never runs."}},
	}}
	c.addReason(approval.ReasonDrill, card.DrillText)
	if r.Verifier == nil {
		return c
	}
	need := &approval.VerifierNeed{Optional: true}
	for _, p := range r.Verifier.Chats() {
		need.Chats, need.Accounts = append(need.Chats, p.Place.Normal()), append(need.Accounts, p.Accounts...)
	}
	if len(need.Chats) > 0 {
		c.Rule.Verifier = need
	}
	return c
}
