package core

import (
	"context"

	"approvalbot/internal/approval"
)

// consult asks one authority.
func (g *Gate) consult(ctx context.Context, who authority, call approval.Call, c consulted, rules *Rules) (consulted, error) {
	if c.tried != nil {
		call.Context.Confine = ""
	}
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
		// The caller hung up while the authorities were asked, so their answers are no
		// verdicts, and are not put on record.
		return c, approval.Refuse(approval.CodeUnavailable, "The caller hung up before the classifier and the "+
			"verifier had answered, so the call was not judged. Send the request again.")
	}
	return c.tightened(call), nil
}

// judge checks a call and judges it by what is known here. Grants and cool-downs come next,
// then the authorities outside: see [consulted.next] and [consulted.onMiss].
func (g *Gate) judge(
	ctx context.Context, who Caller, call approval.Call, rules *Rules,
) (_ approval.Call, sealed approval.Sealed, c consulted, err error) {
	if sealed, err = admit(who, call, rules); err == nil {
		call, err = g.withToolChange(ctx, call)
	}
	if err == nil {
		call.Exec = sealed.Exec
		c, err = g.tried(ctx, call, sealed.Fingerprint, rules.judgeLocally(ctx, call), rules)
	}
	if c.base.CutShort {
		g.cutShort.Add(1)
		g.log.Warn("stopped judging a call before all of it was read, because it takes too many steps or its caller "+
			"disconnected; policy treats it as a call that it cannot read",
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
