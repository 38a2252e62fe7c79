package core

import (
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/card"
)

// signedYes is the judgement with the conditions of a signed yes, if one is needed: it is
// good for this call alone, a person gives it, and the call does not run if no
// approver can be asked.
func signedYes(j approval.Judgement) approval.Judgement {
	if !j.Rule.StepUp || j.Outcome != approval.OutcomeAsk {
		return j
	}
	j.Rule.RequiresHuman, j.Unreached = true, approval.OutcomeAsk
	j.Offers = onceOnly(j.Offers)
	return j
}

// onceOnly leaves no scope that reaches further than the call.
func onceOnly(offers []approval.Decision) []approval.Decision {
	return slices.DeleteFunc(slices.Clone(offers), func(d approval.Decision) bool { return d != approval.AllowOnce && d != approval.Deny })
}

// sign checks the signature of a ballot against the approval as it is now: the very call,
// decision, person and policy.
func sign(a approval.Approval, v approval.Voter, b Ballot, now int64) (*assertion.Signature, *approval.Error) {
	if b.evidence == nil {
		return nil, card.StepUp(a, b.site, "A yes to this counts only when your passkey signs it: ")
	}
	e := *b.evidence
	fail := func(why string) (*assertion.Signature, *approval.Error) {
		return nil, card.StepUp(a, b.site, "That signature does not count: "+why+". Sign again: ")
	}
	p, c := e.Passkey, e.Began
	switch {
	case c.ExpiresMs <= now:
		return fail("the signature was already used, or came more than five minutes after the page asked for it")
	case c.Session != e.Session || c.Person != v.Person || c.Approval != a.Key:
		return fail("the signature was made for another request, or in another browser")
	case c.Run != len(a.RetriedBy):
		return fail("the signature was made for an earlier run of the call")
	case p.ID == "" || p.ID != e.Response.CredentialID || p.Person != v.Person:
		return fail("the passkey is not registered as yours")
	}
	s := assertion.Signature{Person: v.Person, PolicyHash: a.PolicyHash, Nonce: c.Nonce, SiteID: b.site.ID,
		Origin: b.site.Origin, Key: p.Key, Response: e.Response}
	if err := s.Signed(yesToSign(a, b.Decision, v.Person, c.Nonce)); err != nil {
		return fail(err.Error())
	}
	return &s, nil
}

// yes is what a person signs to decide so.
func yesToSign(a approval.Approval, d approval.Decision, person, nonce string) assertion.Yes {
	return assertion.Yes{ApprovalID: a.ID, Decision: string(d), Fingerprint: a.Fingerprint, Nonce: nonce,
		Person: person, PolicyHash: a.PolicyHash}
}

// signedNote refuses a note with a signed yes: what a passkey signs is the call, so another note could be put in
// its place unseen.
func signedNote() *approval.Error {
	return approval.Refuse(approval.CodeInvalidRequest, "Your yes was not counted, because a yes that is signed with "+
		"a passkey cannot have a note: the signature would not cover the note. Sign without a note.")
}

// signedEvent says in the log which passkey signed a yes.
func signedEvent(a approval.Approval, p Signer, now int64) approval.Event {
	e := p.Used(now)
	e.Key, e.Owner = a.Key, a.Owner
	return e
}
