package core

import "slices"

// weight says toward what the voter's vote counts now. A deny is open to everybody who
// may decide; a yes counts toward each need that the voter is entitled to fill.
func (a Approval) weight(v Voter, d *Directory) (w Weight) {
	approver := d.MayDecide(v)
	w.Verifier = d.verifies(a.Rule.Verifier, a.AgentID, v)
	w.Deny = approver || w.Verifier
	if w.Verifier && a.Rule.Verifier.Optional { // a drill's: they answer as approvers do
		approver = true
	}
	counted := a.Rule.MinApprovals <= 1 || v.Person != ""
	asked := a.Rule.AsksApprovers() && a.Rule.Admits(UserRequest)
	w.Approvers = approver && counted && asked
	return w
}

// verifierOnly reports whether the voter's vote counts for the verifier alone.
func (a Approval) verifierOnly(v Voter, d *Directory) bool {
	w := a.weight(v, d)
	return w.Verifier && !w.Approvers
}

// MayBeDecidedBy reports whether the voter may vote on this approval: an approver on
// that channel, or one of the verifier's people whom it, or a round of it, asks.
func (a Approval) MayBeDecidedBy(v Voter, d *Directory) bool {
	who := d.Identify(v)
	return a.weight(who, d).Deny || a.Round != nil && a.again(*a.Round).weight(who, d).Deny
}

// Concerns reports whether the voter may know how the approval ended: whoever
// could decide it, and whoever asked.
func (a Approval) Concerns(v Voter, d *Directory) bool {
	return a.MayBeDecidedBy(v, d) || a.AskedBy(v, d)
}

// weightNow says toward what a vote counts, by the authority that stands now.
func (a Approval) weightNow(v Vote, d *Directory) Weight {
	switch {
	case v.Approver == LLMEvaluation && v.Verdict == Approve:
		return Weight{Approvers: a.Assessment.RiskClass < R3}
	case v.Approver != UserRequest:
		return Weight{Deny: true, Approvers: true}
	}
	// Identify again: the account may belong to somebody else by now.
	who := d.Identify(*v.Voter)
	if who.Person != v.Voter.Person || a.MayNotDecide(who, d) || a.unsigned(v) {
		return Weight{}
	}
	return a.weight(who, d)
}

// fillsBoth reports whether a vote is a yes that counts toward both needs now.
func (a Approval) fillsBoth(v Vote, d *Directory) bool {
	w := a.weightNow(v, d)
	return v.Verdict == Approve && w.Approvers && w.Verifier
}

// standing are the votes without those of people who have lost their authority, or
// who turned out to be askers. Each says toward what it counts now, and how.
func (a Approval) standing(d *Directory) []Vote {
	out := slices.DeleteFunc(slices.Clone(a.asOf(d)), func(v Vote) bool {
		return byPeople(v) && a.weightNow(v, d) == Weight{}
	})
	for i, v := range out {
		w := a.weightNow(v, d)
		out[i].VerifierOnly = w.Verifier && !w.Approvers
	}
	return out
}

// AsOfNow is a pending approval as it stands under these people: with the votes that
// count, and reached where a card stands in a chat. What has ended stays as it ended.
func (a Approval) AsOfNow(d *Directory) Approval {
	if a.Final() {
		return a
	}
	a.Votes = a.standing(d)
	return a.reachedAfterAll()
}

func byPeople(v Vote) bool { return v.Approver == UserRequest }

// Weight says toward what a vote counts now. The zero Weight counts for nothing.
type Weight struct {
	Deny      bool // a reject ends it
	Approvers bool // a yes counts toward the approvers' need
	Verifier  bool // a yes counts toward the verifier's need
}

// atVerifier reports whether a ballot was given in a chat of the verifier's own, which gets the card
// for its people alone. A chat where approvers are asked as well is none.
func (r *Rules) atVerifier(b Ballot, a Approval) bool {
	if b.Chat == nil || a.Rule.Verifier == nil || a.Rule.Verifier.Optional {
		return false
	}
	chat, routes := b.Chat.Normal().Chat(), r.Router.Route(a)
	here := func(t Target) bool { return t.Chat() == chat }
	return slices.ContainsFunc(routes.Verifier, here) && !slices.ContainsFunc(routes.Targets, here) &&
		!slices.ContainsFunc(routes.Fallback, here)
}
