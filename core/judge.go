package core

import (
	"context"

	"approvalbot/internal/approval"
)

// judgeLocally judges a call by what is known here: hard layers, static risk, denies,
// rules, and whose yes the verifier wants. Other authorities are asked only if no grant or
// cool-down settles the call: see [consulted.next].
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

// surelyRefused reports whether the call is refused with every opinion of a classifier:
// also with the mildest one, and without one.
func (r *Rules) surelyRefused(ctx context.Context, who Caller, call approval.Call, fingerprint string) bool {
	call.Points = false // no person sees what comes of it
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

// judgeStored asks policy anew about the call of an approval. The class that a classifier
// gave it still counts, and the Rule has the people whom the verifier wants today; no
// outside authority is asked. Policy does not settle a drill: a drill tries the ways to
// people and back, which no layer, class or mode may cut short.
func (r *Rules) judgeStored(ctx context.Context, a approval.Approval, call approval.Call) approval.Judgement {
	if call.Drill() {
		return r.drill().Judgement
	}
	if a.Confined == nil { // people were asked about it as it is, or it runs so
		call.Context.Confine = ""
	}
	j := r.Policy.Judge(ctx, call)
	if j.Outcome != approval.OutcomeDeny && a.Assessment.Source != "static" && j.Assessment.RiskClass < a.Assessment.RiskClass {
		j = r.Policy.JudgeWith(ctx, call, approval.Opinion{Assessment: a.Assessment, Earlier: true})
	}
	j = signedYes(j)
	if r.Verifier == nil || j.Outcome == approval.OutcomeDeny {
		return j
	}
	if people := r.Verifier.Wants(call).People; people != nil {
		j.Rule.Verifier, j.Unreached = need(people), approval.OutcomeAsk
	}
	return j
}
