package people

import (
	"slices"

	"approvalbot/internal/approval"
)

// weight says which needs the voter's vote counts toward now. Everyone who may decide
// may deny; a yes counts toward each need that the voter is entitled to fill.
func WeightOf(a approval.Approval, v approval.Voter, d *Directory) (w Weight) {
	approver := d.MayDecide(v)
	w.Verifier = d.Verifies(a.Rule.Verifier, a.AgentID, v)
	w.Deny = approver || w.Verifier
	if w.Verifier && a.Rule.Verifier.Optional { // a drill's: they answer as approvers do
		approver = true
	}
	counted := a.Rule.MinApprovals <= 1 || v.Person != ""
	asked := a.Rule.AsksApprovers() && a.Rule.Admits(approval.UserRequest)
	w.Approvers = approver && counted && asked
	return w
}

// VerifierOnly reports whether the voter's vote counts for the verifier alone.
func VerifierOnly(a approval.Approval, v approval.Voter, d *Directory) bool {
	w := WeightOf(a, v, d)
	return w.Verifier && !w.Approvers
}

// MayBeDecidedBy reports whether the voter may vote on this approval: an approver on
// that channel, or one of the verifier's people that it, or a round of it, asks.
func MayBeDecidedBy(a approval.Approval, v approval.Voter, d *Directory) bool {
	who := d.Identify(v)
	return WeightOf(a, who, d).Deny || a.Round != nil && WeightOf(a.Again(*a.Round), who, d).Deny
}

// Concerns reports whether the voter may know how the approval ended: they
// could decide it, or they asked.
func Concerns(a approval.Approval, v approval.Voter, d *Directory) bool {
	return MayBeDecidedBy(a, v, d) || AskedBy(a, v, d)
}

// WeightNow says toward which need a vote counts, by the voter's present authority.
func WeightNow(a approval.Approval, v approval.Vote, d *Directory) Weight {
	switch {
	case v.Approver == approval.LLMEvaluation && v.Verdict == approval.Approve:
		return Weight{Approvers: a.Assessment.RiskClass < approval.R3}
	case v.Approver != approval.UserRequest:
		return Weight{Deny: true, Approvers: true}
	}
	// Identify again: the account may belong to another person by now.
	who := d.Identify(*v.Voter)
	if who.Person != v.Voter.Person || MayNotDecide(a, who, d) || a.Unsigned(v) {
		return Weight{}
	}
	return WeightOf(a, who, d)
}

// FillsBoth reports whether a vote is a yes that counts toward both needs now.
func FillsBoth(a approval.Approval, v approval.Vote, d *Directory) bool {
	w := WeightNow(a, v, d)
	return v.Verdict == approval.Approve && w.Approvers && w.Verifier
}

// Standing are the votes without those of people who have lost their authority, or
// who turned out to be askers. Each says toward what it counts now, and how.
func Standing(a approval.Approval, d *Directory) []approval.Vote {
	out := slices.DeleteFunc(slices.Clone(AsOf(a, d)), func(v approval.Vote) bool {
		return approval.ByPeople(v) && WeightNow(a, v, d) == Weight{}
	})
	for i, v := range out {
		w := WeightNow(a, v, d)
		out[i].VerifierOnly = w.Verifier && !w.Approvers
	}
	return out
}

// AsOfNow gives a pending approval as these people make it: with the votes that
// count, and with reached set if a chat shows a card. An ended approval is not
// changed.
func AsOfNow(a approval.Approval, d *Directory) approval.Approval {
	if a.Final() {
		return a
	}
	a.Votes = Standing(a, d)
	return a.ReachedAfterAll()
}

// Weight says which needs a vote counts toward now. The zero Weight counts toward
// no need.
type Weight struct {
	Deny      bool // a reject ends it
	Approvers bool // a yes counts toward the approvers' need
	Verifier  bool // a yes counts toward the verifier's need
}
