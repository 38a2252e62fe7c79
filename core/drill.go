package core

import "context"

// DrillTool is the tool name of a drill: a call that goes to people by every way
// that a card can take, whatever policy says of calls, and is never handed out to
// run, whatever they decide.
const DrillTool = "approvalbot.drill"

// ReasonDrill is the reason code of a drill, WasDrill the sentence for whoever
// would run one.
const (
	ReasonDrill = "drill"
	WasDrill    = "This was a drill: nothing of it may run."
)

// drill reports whether the call is one. A dialect that shows no more than a
// fingerprint has none: people could not see that it is one.
func (c Call) drill() bool { return c.ToolName == DrillTool && c.Dialect == "" }

// Drill reports whether the approval is of a drill.
func (a Approval) Drill() bool { return a.ToolName == DrillTool && a.Dialect == "" }

// drilling is an operator who asks for a drill. Nothing of it can run, so they may answer it too.
func (c Caller) drilling() Caller {
	c.MayRequest, c.Person, c.RequireRequester = true, "", false
	return c
}

// judgeStored asks policy anew about the call of an approval. The class that a classifier
// gave it counts still, and the Rule has the people whom the verifier wants today; nobody
// outside is asked. A drill is not policy's to settle: it tries the ways to people and
// back, which no layer, class or mode may cut short.
func (r *Rules) judgeStored(ctx context.Context, a Approval, call Call) Judgement {
	if call.drill() {
		return r.drill().Judgement
	}
	j := r.Policy.Judge(ctx, call)
	if j.Outcome != OutcomeDeny && a.Assessment.Source != "static" && j.Assessment.RiskClass < a.Assessment.RiskClass {
		j = r.Policy.JudgeWith(ctx, call, Opinion{Assessment: a.Assessment, Earlier: true})
	}
	j = j.signedYes()
	if r.Verifier == nil || j.Outcome == OutcomeDeny {
		return j
	}
	if people := r.Verifier.Wants(call).People; people != nil {
		j.Rule.Verifier, j.Unreached = people.need(), OutcomeAsk
	}
	return j
}

// drill asks anybody who could decide any call, once: the approvers of all
// channels, and the verifier's own people, who get a card in their chats. Nobody
// outside is asked, and no grant is offered or spent.
func (r *Rules) drill() consulted {
	c := consulted{Judgement: Judgement{
		Outcome:    OutcomeAsk,
		Assessment: Assessment{RiskClass: R0, SideEffects: []SideEffect{NoSideEffect}, Confidence: 1, Source: "static"},
		Rule: Rule{Allowed: []Factor{UserRequest}, Disabled: []Factor{}, Effective: []Factor{UserRequest},
			MinApprovals: 1, RequiresHuman: true},
		Offers: []Decision{AllowOnce, Deny},
		Trace: []Step{{Stage: "policy", Rule: ReasonDrill, Outcome: OutcomeAsk.String(),
			Text: "A drill goes to people, whatever policy says of calls, and never runs."}},
	}}
	c.addReason(ReasonDrill, drillText)
	if r.Verifier == nil {
		return c
	}
	need := &VerifierNeed{Optional: true}
	for _, p := range r.Verifier.Chats() {
		need.Chats, need.Accounts = append(need.Chats, p.Place.Normal()), append(need.Accounts, p.Accounts...)
	}
	if len(need.Chats) > 0 {
		c.Rule.Verifier = need
	}
	return c
}
