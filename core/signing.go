package core

import (
	"context"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

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

// withHolders has the people say who has a passkey, if a yes must be signed.
func (g *Gate) withHolders(ctx context.Context, r approval.Rule, rules *Rules) error {
	if !r.StepUp {
		return nil
	}
	holders, err := g.signers.Holders(ctx)
	if err != nil {
		return err
	}
	if holders == nil { // nil would mean that it is not known who has one
		holders = map[string]bool{}
	}
	rules.People = rules.People.WithHolders(holders)
	return nil
}

// YesToSign is what a person's passkey is asked to sign.
type YesToSign struct {
	Nonce     string
	Challenge []byte
	Site      assertion.Site
	Passkeys  []string // their ids; one of them must sign
}

// ShownCall is what a page has shown, so that a person signs only what they could read.
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

// BeginYes begins a ceremony in which the session's person signs that this call may run once or once
// more. It is good for five minutes, for that session, once. What was shown must be the approval as
// it is now: CodeUnseenPayload if the page is of another call or policy, or if the call itself cannot
// be shown.
func (p Pages) BeginYes(ctx context.Context, u WebUser, code string, shown ShownCall) (YesToSign, error) {
	rules, err := p.gate.inForce()
	if err != nil {
		return YesToSign{}, err
	}
	a, err := p.gate.ByCode(ctx, code)
	who := rules.People.Identify(approval.Voter{Channel: approval.WebChannel, UserID: u.Person})
	switch {
	case err != nil:
		return YesToSign{}, err
	case !people.Concerns(a, who, rules.People): // a person cannot learn by asking what there is
		return YesToSign{}, approval.NotFound()
	case a.Final() && !shown.Retry:
		return YesToSign{}, card.Ended(a)
	case shown.Retry && a.Status == approval.Pending:
		return YesToSign{}, approval.NotClaimable(approval.WhyPending, "The approval is still pending.")
	case shown.Retry && a.Status != approval.Approved:
		return YesToSign{}, card.Ended(a)
	case shown.Retry && shown.After != len(a.RetriedBy):
		return YesToSign{}, approval.Refuse(approval.CodeUnseenPayload, "The call was retried after this page was "+
			"made. Load the page again.")
	}
	facts, err := p.gate.Cards().Payload(ctx, a)
	if err != nil {
		return YesToSign{}, err
	}
	switch {
	case rules.Site.ID == "":
		return YesToSign{}, NoSite()
	case len(facts) == 0:
		return YesToSign{}, approval.Refuse(approval.CodeUnseenPayload, "The desk cannot show this call, so you can "+
			"only deny it.")
	case shown.Fingerprint != a.Fingerprint || shown.PolicyHash != rules.Policy.Hash():
		return YesToSign{}, approval.Refuse(approval.CodeUnseenPayload,
			"The page shows another call, or the rules have changed since you opened the page. Load the page again.")
	}
	nonce, passkeys, err := p.gate.signers.KeepCeremony(ctx, Ceremony{Session: u.Session, Person: u.Person, Approval: a.Key,
		Run: len(a.RetriedBy)})
	if err != nil {
		return YesToSign{}, err
	}
	if len(passkeys) == 0 {
		return YesToSign{}, approval.Refuse(approval.CodeStepUpRequired,
			"You have no passkey. To let you register one, an operator runs: approvalbot login --enrol %s", u.Person)
	}
	a.PolicyHash = rules.Policy.Hash()
	y := yesToSign(a, signedDecision(shown.Retry), u.Person, nonce)
	return YesToSign{Nonce: nonce, Challenge: y.Challenge(), Site: rules.Site, Passkeys: passkeys}, nil
}
