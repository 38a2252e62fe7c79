package core

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
)

// Ballot is one person's vote as it arrives from a chat, the API or a terminal.
type Ballot struct {
	Voter      approval.Voter
	Decision   approval.Decision
	Reason     string
	Note       string               // to the agent; see [approval.ReadNote]
	Chat       *approval.Target     // its chat; nil: by API or terminal, whose answers show the whole call, or a page
	Unseen     bool                 // of a page, that did not show the whole call
	ReceivedMs int64                // when the desk (or the platform) took it; 0: it waited on the platform, undated
	Code       string               // of the tapped card; another approval's is CodeNotFound. Empty: it was not on a card
	Card       string               // message id of the tapped card, when the desk did not know that copy yet: it is adopted
	Handled    *approval.InboundRef // the platform update it came in
	Signed     *SignedYes           // by the voter's passkey; nil: it was not
	Opens      bool                 // with Retry: it opens a round if no round is open
	// WithoutResult: with Opens, although no result says that the run before has ended.
	WithoutResult bool
	After         *int   // with Retry: how many retries the run that it follows had; nil: it is not said
	Unconfirmed   bool   // of a page, that did not ask a second time
	Proof         string // see [Chats.Confirmation]; empty: the person was not asked a second time

	named      string // the id that was taken for a key without a look-up; another approval's is CodeNotFound
	confirmed  bool   // Proof is right
	atVerifier bool   // Chat is the verifier's own: only its people are asked there

	evidence *evidence      // what the desk has of Signed
	site     assertion.Site // the address at which a yes can be signed
}

// SignedYes is a person's yes as their browser brings it.
type SignedYes struct {
	Nonce    string // of the ceremony: see [Pages.BeginYes]
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

// spent is what a ballot used up, with every outcome: the ceremony, and the count of the
// passkey if its signature was good.
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

// spending is the change with what the ballot used up. That is used up with every answer.
func (c Change) spending(b Ballot, now int64) Change {
	if c.Passkey == nil {
		c.Passkey = b.spent(nil, now)
	}
	return c
}

// deniesRound reports whether the ballot is a deny of the approval's open round. A tap on a button is
// not, and neither is a ballot from before the round was opened.
func (b Ballot) deniesRound(a approval.Approval, now int64) bool {
	round := a.OpenRound(now)
	since := round != nil && (b.Chat == nil || b.ReceivedMs == 0 || b.ReceivedMs >= round.OpenedAtMs-clocksApartMs)
	return b.Decision == approval.Deny && b.Card == "" && b.Code == "" && since
}

// namesNoRun reports whether it does not say which run it follows; a signature does.
func (b Ballot) namesNoRun() bool { return b.After == nil && b.Signed == nil }
