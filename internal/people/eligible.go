package people

import (
	"fmt"
	"slices"

	"approvalbot/internal/approval"
)

// Insufficient denies an approval that can never be met.
func Insufficient(a approval.Approval, why string) approval.Approval {
	a.Status, a.Decision, a.DecidedBy, a.Reason = approval.Denied, approval.Deny, []string{"policy"}, why
	a.Assessment.ReasonCodes = append(slices.Clone(a.Assessment.ReasonCodes), approval.ReasonInsufficient)
	return a
}

const nameAnother = "Name another approver, or set approvals.tools.selfApproval: solo " +
	"to let people approve their own requests."

// QuorumImpossible says why the configured people could never meet the quorum;
// empty if they could.
func QuorumImpossible(a approval.Approval, d *Directory) string {
	auto := 0
	for _, v := range a.Votes {
		yes := v.Approver != approval.UserRequest && v.Verdict == approval.Approve && a.Rule.Admits(v.Approver)
		if tooRisky := v.Approver == approval.LLMEvaluation && a.Assessment.RiskClass >= approval.R3; yes && !tooRisky {
			auto++
		}
	}
	barred, signing := barred(a, d), ""
	if a.Rule.StepUp {
		barred, signing = cannotSign(a, d), ", and with a passkey to sign it"
	}
	if a.Rule.AsksVerifier() && len(d.distinct(barred, d.listed(a.Rule.Verifier, a.AgentID))) == 0 {
		return "There are too few approvers for this: it needs one of the verifier's people beside the askers" +
			signing + "."
	}
	if !a.Rule.AsksApprovers() {
		return ""
	}
	for _, n := range a.Rule.Needs {
		if d.Having(n.Role, barred) < n.Min {
			return "There are too few approvers for this: it needs " + Text(n, n.Min) + " beside the askers" + signing + "."
		}
	}
	var named []string
	if n := a.Rule.Verifier; n != nil && n.Optional {
		named = n.Accounts
	}
	need := max(1, a.Rule.MinApprovals) - auto
	if a.Rule.RequiresHuman {
		need = max(need, 1)
	}
	if need <= 0 && len(a.Rule.Needs) == 0 {
		return ""
	}
	if !a.Rule.Admits(approval.UserRequest) {
		return "Policy lets no approver allow this: all allowed approvers are disabled."
	}
	mapped, unmapped, open := d.Eligible(barred, named...)
	have := mapped
	if a.Rule.MinApprovals <= 1 {
		have += unmapped
	}
	switch unsigned := a; {
	case have >= need || open && !a.Rule.StepUp:
		return ""
	case a.Rule.StepUp:
		if unsigned.Rule.StepUp = false; QuorumImpossible(unsigned, d) == "" {
			return fmt.Sprintf("A yes to this must be signed with a passkey: it needs %d who can, beside the askers, "+
				"and there %s %d. An operator lets people make one: approvalbot login --enrol PERSON.", need, isOrAre(have), have)
		}
	}
	everyone, others, _ := d.Eligible(nil, named...)
	if a.Rule.MinApprovals > 1 {
		others = 0
	}
	switch all := everyone + others; {
	case all < need:
	case have > 0:
		return fmt.Sprintf("Too few people beside the askers could approve this: "+
			"it needs %d, and there %s %d. "+nameAnother,
			need, isOrAre(have), have)
	default:
		return "Only the askers themselves could approve this. " + nameAnother
	}
	return "There are too few approvers for this: name more people in the configuration, " +
		"or lower the number of approvals it needs."
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// cannotSign names those who may not decide, and those whose yes could not be signed.
func cannotSign(a approval.Approval, d *Directory) func(approval.Voter) bool {
	barred := barred(a, d)
	return func(v approval.Voter) bool { return !d.maySign(v) || barred != nil && barred(v) }
}

// Clamp lowers the quorum to the number of people who can vote, if the operator
// allows that. It never goes below one.
func Clamp(a *approval.Approval, d *Directory) bool {
	for a.Rule.MinApprovals > 1 && QuorumImpossible(*a, d) != "" {
		a.Rule.Unclamped = max(a.Rule.Unclamped, a.Rule.MinApprovals)
		a.Rule.MinApprovals--
	}
	return QuorumImpossible(*a, d) == ""
}
