package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// signedYes is the judgement where a person's yes must be signed: it is good for this
// call alone, a person gives it, and nothing runs because nobody could be asked.
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

// SignedYes is a person's yes as their browser brings it.
type SignedYes struct {
	Nonce    string // of the ceremony: see [Gate.BeginYes]
	Session  string // the session's id in which it is brought
	Response assertion.Response
	// Retry: what was signed is that it runs once more; WithoutResult is as in a Ballot.
	Retry, WithoutResult bool
}

// evidence is a signed yes with what the desk has of it.
type evidence struct {
	SignedYes
	Evidence
}

// sign checks the signature of a ballot against the approval as it stands: the very
// call, decision, person and policy.
func sign(a approval.Approval, v approval.Voter, b Ballot, now int64) (*assertion.Signature, *approval.Error) {
	if b.evidence == nil {
		return nil, card.StepUp(a, b.site, "A yes to this counts only when your passkey signs it: ")
	}
	e := *b.evidence
	fail := func(why string) (*assertion.Signature, *approval.Error) {
		return nil, card.StepUp(a, b.site, "That signature does not count, since "+why+". Sign again: ")
	}
	p, c := e.Passkey, e.Began
	switch {
	case c.ExpiresMs <= now:
		return fail("it was used before, or came after more than five minutes")
	case c.Session != e.Session || c.Person != v.Person || c.Approval != a.Key:
		return fail("it was asked for another request, or in another browser")
	case c.Run != len(a.RetriedBy):
		return fail("it was asked for an earlier run")
	case p.ID == "" || p.ID != e.Response.CredentialID || p.Person != v.Person:
		return fail("the desk does not know that passkey as yours")
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

// spent is what a ballot used up, whatever became of it: the ceremony, and the count of
// the passkey where its signature was good.
func (b Ballot) spent(s *assertion.Signature, now int64) *PasskeyUse {
	if b.evidence == nil || b.evidence.Began.Nonce == "" {
		return nil
	}
	use := &PasskeyUse{Challenge: b.evidence.Began.Nonce, AtMs: now}
	if s != nil {
		seen := s.Seen()
		use.Passkey, use.Before, use.After, use.BackedUp = s.CredentialID, s.SignCount, seen.SignCount, seen.BackedUp
	}
	return use
}

// spending is the change with what the ballot used up, which it does whatever the answer is.
func (c Change) spending(b Ballot, now int64) Change {
	if c.Passkey == nil {
		c.Passkey = b.spent(nil, now)
	}
	return c
}

// evidenceOf reads what the desk has of a signed yes.
func (g *Gate) evidenceOf(ctx context.Context, s *SignedYes) (*evidence, error) {
	if s == nil {
		return nil, nil
	}
	has, err := g.signers.Evidence(ctx, s.Nonce, s.Response.CredentialID)
	if err != nil {
		return nil, err
	}
	return &evidence{*s, has}, nil
}

// YesToSign is what a person's passkey is asked to sign.
type YesToSign struct {
	Nonce     string
	Challenge []byte
	Site      assertion.Site
	Passkeys  []string // their ids; one of them must sign
}

// ShownCall is what a page has shown, so that nothing else is signed than what was read.
type ShownCall struct {
	Fingerprint, PolicyHash string
	Retry                   bool // what is signed is that it runs once more
	After                   int  // with Retry: how many retries it had
}

// signedDecision is the one that a person signs.
func signedDecision(retry bool) approval.Decision {
	if retry {
		return approval.Retry
	}
	return approval.AllowOnce
}

// BeginYes begins a ceremony in which the session's person signs that this call may run
// once or once more. It is good for five minutes, for that session, once. What was shown must be what
// stands: CodeUnseenPayload where the page is of another call or policy, or the call
// itself cannot be shown.
func (g *Gate) BeginYes(ctx context.Context, u WebUser, code string, shown ShownCall) (YesToSign, error) {
	rules, err := g.inForce()
	if err != nil {
		return YesToSign{}, err
	}
	a, err := g.ByCode(ctx, code)
	who := rules.People.Identify(approval.Voter{Channel: approval.WebChannel, UserID: u.Person})
	switch {
	case err != nil:
		return YesToSign{}, err
	case !people.Concerns(a, who, rules.People): // nobody learns by asking what there is
		return YesToSign{}, approval.NotFound()
	case a.Final() && !shown.Retry:
		return YesToSign{}, card.Ended(a)
	case shown.Retry && a.Status == approval.Pending:
		return YesToSign{}, approval.NotClaimable(approval.WhyPending, "The approval is still pending.")
	case shown.Retry && a.Status != approval.Approved:
		return YesToSign{}, card.Ended(a)
	case shown.Retry && shown.After != len(a.RetriedBy):
		return YesToSign{}, approval.Refuse(approval.CodeUnseenPayload, "It was retried since this page was made: load the page again.")
	}
	facts, err := g.Payload(ctx, a)
	if err != nil {
		return YesToSign{}, err
	}
	switch {
	case rules.Site.ID == "":
		return YesToSign{}, NoSite()
	case len(facts) == 0:
		return YesToSign{}, approval.Refuse(approval.CodeUnseenPayload, "The call itself cannot be shown, so it can only be denied.")
	case shown.Fingerprint != a.Fingerprint || shown.PolicyHash != rules.Policy.Hash():
		return YesToSign{}, approval.Refuse(approval.CodeUnseenPayload,
			"What stands there is another call, or the rules have changed: load the page again.")
	}
	nonce, passkeys, err := g.signers.KeepCeremony(ctx, Ceremony{Session: u.Session, Person: u.Person, Approval: a.Key,
		Run: len(a.RetriedBy)})
	if err != nil {
		return YesToSign{}, err
	}
	if len(passkeys) == 0 {
		return YesToSign{}, approval.Refuse(approval.CodeStepUpRequired,
			"You have no passkey. An operator lets you make one: approvalbot login --enrol %s", u.Person)
	}
	a.PolicyHash = rules.Policy.Hash()
	y := yesToSign(a, signedDecision(shown.Retry), u.Person, nonce)
	return YesToSign{Nonce: nonce, Challenge: y.Challenge(), Site: rules.Site, Passkeys: passkeys}, nil
}

// VoteSigned is Vote with a yes, good for this call alone, that the session's person has
// signed: see [Gate.BeginYes].
func (g *Gate) VoteSigned(ctx context.Context, u WebUser, code string, yes SignedYes, reason string) (approval.Approval, error) {
	a, err := g.ByCode(ctx, code)
	if err != nil {
		return approval.Approval{}, err
	}
	yes.Session = u.Session
	return g.Vote(ctx, a.Key, Ballot{Voter: u.Voter(), Decision: signedDecision(yes.Retry), Reason: reason,
		Opens: yes.Retry, WithoutResult: yes.WithoutResult, ReceivedMs: nowMs(), Signed: &yes})
}

// withHolders has the people say who has a passkey, where a yes must be signed.
func (g *Gate) withHolders(ctx context.Context, r approval.Rule, rules *Rules) error {
	if !r.StepUp {
		return nil
	}
	holders, err := g.signers.Holders(ctx)
	if err != nil {
		return err
	}
	if holders == nil { // else it would not be known who has one
		holders = map[string]bool{}
	}
	rules.People = rules.People.WithHolders(holders)
	return nil
}

// signedEvent says in the log which passkey signed a yes.
func signedEvent(a approval.Approval, p Signer, now int64) approval.Event {
	e := p.Used(now)
	e.Key, e.Owner = a.Key, a.Owner
	return e
}
