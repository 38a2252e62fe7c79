package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// authority is one outside; empty if there is no one to ask.
type authority = string

// The authorities outside.
const (
	AuthorityWebhook    authority = "webhook"
	AuthorityClassifier authority = "classifier"
)

// consulted is policy's judgement with the opinions from outside, as far as they
// were asked for.
type consulted struct {
	approval.Judgement                       // base, with what the verifier and the asker add
	base               approval.Judgement    // policy's own, with the classifier's opinion once there is one
	verdict            approval.Verification // what the verifier said, or wants
	records            []approval.Consultation

	classifier bool // the classifier is to be asked, unless the call is settled without
	verifier   bool // the verifier is to be asked, unless the call is refused without

	tried     *approval.TriedConfined // what came of the same call lately; nil: it was not tried
	timeLimit int64                   // of the verifier's people; 0: no limit
}

// next is the authority that must be asked before the draft can be settled as it is; empty
// if no authority must be. A grant and a cool-down come before the classifier. The verifier
// is asked last, about all drafts that are not refused.
func (c consulted) next(draft approval.Approval) authority {
	switch {
	case c.classifier && !byRecord(draft):
		return AuthorityClassifier
	case c.verifier && draft.Status != approval.Denied:
		return AuthorityWebhook
	}
	return ""
}

// onMiss denies a draft that no grant covers if people are not to be asked.
func (c consulted) onMiss(draft approval.Approval) approval.Approval {
	if draft.Status == approval.Pending && c.OnMiss != "" && draft.Rule.AsksApprovers() {
		draft.Status, draft.Decision, draft.DecidedBy, draft.Reason = approval.Denied, approval.Deny, []string{"policy"}, c.OnMiss
	}
	return draft
}

// tightened is the judgement with what the verifier and the asker add to policy's.
func (c consulted) tightened(call approval.Call) consulted {
	c.Judgement, c.timeLimit = c.base, 0
	switch {
	case c.Outcome == approval.OutcomeDeny || c.verdict.Denied:
	case c.tried != nil:
		c.addReason(approval.ReasonTriedConfined, card.TriedConfinedText)
		c.mustAsk()
	case call.MustAsk:
		if c.Outcome == approval.OutcomeAllow {
			c.addReason(approval.ReasonMustAsk, card.MustAskText)
		}
		c.mustAsk()
	}
	c.applyVerifier()
	c.Judgement = signedYes(c.Judgement)
	return c
}

// mustAsk has a person decide: neither policy nor an automatic factor is enough, and the call
// does not run if no approver can be asked.
func (c *consulted) mustAsk() {
	if c.Outcome == approval.OutcomeAllow {
		if !slices.Contains(c.Offers, approval.Deny) {
			c.Offers = []approval.Decision{approval.AllowOnce, approval.Deny}
		}
	}
	c.Outcome, c.Rule.RequiresHuman, c.Unreached, c.FailedOpen = approval.OutcomeAsk, true, approval.OutcomeAsk, ""
}

// applyVerifier adds the verifier's answer to the judgement; it can only tighten. Its people
// are asked beside those who must say yes already, never in their place.
func (c *consulted) applyVerifier() {
	v := c.verdict
	c.Trace = append(slices.Clip(c.Trace), v.Steps...)
	switch {
	case v.Denied:
		c.Outcome, c.Reason = approval.OutcomeDeny, v.Reason
		if c.Reason == "" {
			c.Reason = card.VerifierDeniedText
		}
		c.addReason(approval.ReasonVerifierDenied, card.VerifierDeniedText)
	case v.People != nil && c.Outcome != approval.OutcomeDeny:
		c.timeLimit = v.People.TimeoutMs
		c.Rule.Verifier = need(v.People)
		if c.Outcome == approval.OutcomeAllow {
			c.Offers = []approval.Decision{approval.AllowOnce, approval.Deny}
			c.Rule.Verifier.Instead = "policy"
		}
		c.Outcome, c.Unreached = approval.OutcomeAsk, approval.OutcomeAsk // no other rule speaks for them
		c.addReason(approval.ReasonVerifierPeople, card.VerifierPeopleText)
	}
}

// need is the yes of one of them, beside the approvers'.
func need(p *approval.VerifierPeople) *approval.VerifierNeed {
	return &approval.VerifierNeed{Accounts: p.Accounts, Chats: []approval.Target{p.Place.Normal()}, FailOpen: p.FailOpen}
}

func (c *consulted) addReason(code, why string) {
	c.Assessment.ReasonCodes = append(slices.Clip(c.Assessment.ReasonCodes), code)
	c.Why = append(slices.Clip(c.Why), why)
}

// withConsultations gives the draft the verifier's time limit, and the authorities that
// were asked.
func (c consulted) withConsultations(a approval.Approval) approval.Approval {
	a.Consulted, a.TriedConfined = c.records, c.tried
	if c.timeLimit > 0 {
		a.ExpiresAtMs = min(a.ExpiresAtMs, a.CreatedAtMs+c.timeLimit)
	}
	return a
}

// events puts on record that a verifier's failure did not stop the call, because
// the operator wrote failMode allow, and each automatic opinion that failed open.
func (c consulted) events(a approval.Approval, now int64) (out []approval.Event) {
	if c.verdict.Open && a.Status != approval.Denied {
		out = append(out, a.Event(approval.EventFailOpen, now, approval.EventData{Why: "tools.verifier.failMode"}))
	}
	if c.FailedOpen != "" && a.Status != approval.Denied {
		out = append(out, a.Event(approval.EventFailOpen, now, approval.EventData{Why: c.FailedOpen}))
	}
	return out
}

// suggestion says what would let policy's question about the call go away; it is empty if
// others than policy ask.
func (c consulted) suggestion(ctx context.Context, call approval.Call, rules *Rules) approval.Suggestion {
	s, can := rules.Policy.(Suggester)
	others := call.MustAsk || c.verifier || c.verdict.People != nil || call.Drill()
	if !can || others || c.base.Outcome != approval.OutcomeAsk || c.Outcome != approval.OutcomeAsk {
		return approval.Suggestion{}
	}
	return s.Suggest(ctx, call)
}
