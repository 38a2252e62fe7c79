package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// authority is one outside; empty: none.
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

	timeLimit int64 // of the verifier's people; 0: none
}

// judgeLocally judges a call by what is known here: hard layers, static risk, denies,
// rules, and whose yes the verifier wants. Who else has a say is asked only about a
// call that nothing on record settles: see [consulted.next].
func (r *Rules) judgeLocally(ctx context.Context, call approval.Call) consulted {
	if call.Drill() {
		return r.drill()
	}
	c := consulted{base: r.Policy.Judge(ctx, call)}
	if c.base.Outcome == approval.OutcomeDeny {
		return c.tightened(call)
	}
	c.classifier = c.base.Unsure && r.Classifier != nil
	if r.Verifier != nil {
		c.verdict = r.Verifier.Wants(call)
		c.verifier = c.verdict.Asked
	}
	return c.tightened(call)
}

// next is who must be asked before the draft can be settled as it stands, if anybody. A
// grant and a cool-down come before the classifier; the verifier has the last word on
// whatever is not refused.
func (c consulted) next(draft approval.Approval) authority {
	switch {
	case c.classifier && !byRecord(draft):
		return AuthorityClassifier
	case c.verifier && draft.Status != approval.Denied:
		return AuthorityWebhook
	}
	return ""
}

// onMiss denies a draft that no grant covers where people are not to be asked.
func (c consulted) onMiss(draft approval.Approval) approval.Approval {
	if draft.Status == approval.Pending && c.OnMiss != "" && draft.Rule.AsksApprovers() {
		draft.Status, draft.Decision, draft.DecidedBy, draft.Reason = approval.Denied, approval.Deny, []string{"policy"}, c.OnMiss
	}
	return draft
}

// consult asks one authority.
func (g *Gate) consult(ctx context.Context, who authority, call approval.Call, c consulted, rules *Rules) (consulted, error) {
	if who == AuthorityClassifier {
		o := rules.Classifier.Classify(ctx, call, c.base)
		c.base = rules.Policy.JudgeWith(ctx, call, o)
		c.classifier, c.verifier = false, c.verifier && c.base.Outcome != approval.OutcomeDeny
		c.records = append(c.records, o.Consulted...)
	} else {
		c.verdict = rules.Verifier.Verify(ctx, call, c.base.Assessment.RiskClass)
		c.verifier = false
		c.records = append(c.records, c.verdict.Consulted...)
	}
	if ctx.Err() != nil {
		// The caller hung up while others were asked: whatever they said is no
		// verdict of theirs, so nothing is put on record.
		return c, approval.Refuse(approval.CodeUnavailable, "The request was broken off before everybody was asked.")
	}
	return c.tightened(call), nil
}

// surelyRefused reports whether no opinion of a classifier could make anything but a
// refusal of the call: neither the mildest one, nor none.
func (r *Rules) surelyRefused(ctx context.Context, who Caller, call approval.Call, fingerprint string) bool {
	mildest := approval.Opinion{Assessment: approval.Assessment{RiskClass: approval.R0, Confidence: 1, Source: "classifier"}}
	for _, o := range []approval.Opinion{mildest, {Failed: "unreachable"}} {
		c := consulted{base: r.Policy.JudgeWith(ctx, call, o)}.tightened(call)
		a := outline(who, call, fingerprint, c.Judgement, r)
		if a.Status != approval.Denied && (a.Status != approval.Pending || c.OnMiss == "") {
			return false
		}
	}
	return true
}

// tightened is the judgement with what the verifier and the asker add to policy's.
func (c consulted) tightened(call approval.Call) consulted {
	c.Judgement, c.timeLimit = c.base, 0
	if call.MustAsk && c.Outcome != approval.OutcomeDeny && !c.verdict.Denied {
		c.mustAsk()
	}
	c.applyVerifier()
	c.Judgement = signedYes(c.Judgement)
	return c
}

// mustAsk has a person decide: neither policy nor an automatic factor is enough, and
// nothing runs because nobody could be asked.
func (c *consulted) mustAsk() {
	if c.Outcome == approval.OutcomeAllow {
		c.addReason(approval.ReasonMustAsk, card.MustAskText)
		if !slices.Contains(c.Offers, approval.Deny) {
			c.Offers = []approval.Decision{approval.AllowOnce, approval.Deny}
		}
	}
	c.Outcome, c.Rule.RequiresHuman, c.Unreached, c.FailedOpen = approval.OutcomeAsk, true, approval.OutcomeAsk, ""
}

// applyVerifier adds the verifier's answer to the judgement; it can only tighten. Its people
// are asked beside whoever must say yes already, never in their place.
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
		c.Outcome, c.Unreached = approval.OutcomeAsk, approval.OutcomeAsk // nobody else's rules speak for them
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

// withConsultations gives the draft the verifier's time limit, and who was asked.
func (c consulted) withConsultations(a approval.Approval) approval.Approval {
	a.Consulted = c.records
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

// judge checks a call and judges it by what is known here. What is on record comes
// next, then whoever is asked outside: see [consulted.next] and [consulted.onMiss].
func (g *Gate) judge(
	ctx context.Context, who Caller, call approval.Call, rules *Rules,
) (_ approval.Call, sealed approval.Sealed, c consulted, err error) {
	if sealed, err = admit(who, call, rules); err == nil {
		call, err = g.withToolChange(ctx, call)
	}
	if err == nil {
		call.Exec = sealed.Exec
		c = rules.judgeLocally(ctx, call)
	}
	if c.base.CutShort {
		g.cutShort.Add(1)
		g.log.Warn("a call was not read to its end: it takes too many steps, or its asker went away",
			"owner", who.Token, "tool", call.ToolName, "fingerprint", sealed.Fingerprint)
	}
	return call, sealed, c, err
}

// withToolChange is the call with the word whether what is said of its tool has changed.
func (g *Gate) withToolChange(ctx context.Context, call approval.Call) (approval.Call, error) {
	call.Context.Tool.Changed = call.Context.Tool.Otherwise
	if call.Context.Tool == (approval.ToolFacts{}) {
		return call, nil
	}
	tool := call.Context.Stored().Tool
	hash := tool.Hash()
	if hash == "" {
		return call, nil
	}
	before, err := g.store.SeenTool(ctx, call.Owner, tool.Server, call.ToolName)
	call.Context.Tool.Changed = tool.Otherwise || before != "" && before != hash
	return call, err
}
