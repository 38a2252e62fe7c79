package policy

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
)

// maxRemarks bounds how many of a classifier's reason codes are kept.
const maxRemarks = 8

// JudgeWith is Judge with a classifier's opinion.
//
// A confident opinion replaces what static rules merely did not recognise
// (finding.Unrecognised): the class is the higher one of the opinion's and of all other
// findings. So it can spare people the question. If the call is still asked, the votes that
// it needs stay as for the static class, or become more. If there is no opinion, or it is
// not confident, the static judgement counts, tightened by onLowConfidence.
func (e *Engine) JudgeWith(ctx context.Context, call approval.Call, o approval.Opinion) approval.Judgement {
	if o.Earlier {
		return e.atLeast(ctx, call, o.Assessment.RiskClass)
	}
	first := call
	first.Points = false
	if j := e.Judge(ctx, first); !j.Unsure {
		return e.Judge(ctx, call)
	}
	defer e.turned(e.turn(ctx))
	j := e.read(ctx, call)
	a := &o.Assessment
	share := a.Confidence >= 0 && a.Confidence <= 1 // which NaN is not
	switch {
	case o.Failed != "" || !known(a.RiskClass) || !share:
		j.without(e, finding.ClassifierFailed, approval.Errored)
	case a.Confidence < e.cfg.Classifier.MinConfidence:
		j.confidence = a.Confidence
		j.without(e, finding.ClassifierUnsure, approval.Abstain)
	default:
		j.convinced(e, a)
	}
	return e.conclude(j)
}

// atLeast is Judge of a call that is at least of that class.
func (e *Engine) atLeast(ctx context.Context, call approval.Call, class approval.RiskClass) approval.Judgement {
	defer e.turned(e.turn(ctx))
	j := e.read(ctx, call)
	class = min(class, approval.R4)
	j.base, j.class = max(j.base, class), max(j.class, class)
	return e.conclude(j)
}

// convinced takes over a confident opinion.
func (j *judging) convinced(e *Engine, a *approval.Assessment) {
	j.heard, j.confidence = true, a.Confidence
	e.recognise(j)
	j.said = a.RiskClass
	j.class = max(j.certain(finding.Unrecognised).Class(), a.RiskClass)
	for _, s := range a.SideEffects {
		bit, _ := effectOf(s)
		j.extra |= bit
	}
	j.step("classifier", "opinion", classNames[j.class], "The classifier is confident; what static rules recognised stays.")
	for _, code := range a.ReasonCodes {
		if ruleName(code) && len(j.remarks) < maxRemarks {
			j.remarks = append(j.remarks, "classifier:"+code)
		}
	}
	verdict := approval.Abstain
	switch {
	case j.class == approval.R4 || j.class >= j.agent.terms.deny:
		verdict = approval.Reject
	case j.class <= approval.R2 && j.base < j.agent.terms.human:
		verdict = approval.Approve
	}
	j.vote(e, verdict, finding.Reasons[finding.ClassifierSpoke].Name)
}

// without goes on with no opinion that counts.
func (j *judging) without(e *Engine, why finding.Code, verdict approval.Verdict) {
	j.vote(e, verdict, finding.Reasons[why].Name)
	switch e.cfg.Classifier.OnLowConfidence {
	case "deny":
		j.outcome = max(j.outcome, j.refuse("classifier", why,
			"The classifier gave no opinion that counts, and the operator refuses such calls; find a safer way or ask the operator."))
	case "allow":
		if j.base >= j.agent.terms.human || j.base == approval.R4 {
			j.because("classifier", why, approval.OutcomeAsk)
			return
		}
		j.opened, j.excused = true, true
		j.policy.Add(why)
		j.because("classifier", finding.ClassifierFailOpen, approval.OutcomeAllow)
	default:
		j.outcome = max(j.outcome, j.because("classifier", why, approval.OutcomeAsk))
	}
}

// vote adds the classifier's verdict if the classifier may vote.
func (j *judging) vote(e *Engine, v approval.Verdict, codes ...string) {
	if slices.Contains(e.effective, approval.LLMEvaluation) {
		j.votes = append(j.votes, approval.Vote{Approver: approval.LLMEvaluation, Verdict: v, ReasonCodes: codes, Confidence: j.confidence})
	}
}
