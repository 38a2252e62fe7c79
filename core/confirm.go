package core

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// CodeUnconfirmed refuses an allow of an R4 call from a chat that the person has not confirmed. The
// approval comes with it: [Gate.Confirmation] makes what confirms it. The API never sends it.
const CodeUnconfirmed approval.Code = "unconfirmed"

const (
	confirmPurpose = "approvalbot confirmation of an R4 call"
	proofLength    = 12 // bytes: a button's data has little room, and a guess is a tap that is on record
	maxConfirmed   = 44 // characters of the call on the button
)

// confirmKey makes confirmations. They are kept nowhere: every instance with the store's key knows
// those of every other, also after a restart.
type confirmKey [32]byte

func randomConfirmKey() (k confirmKey) {
	_, _ = rand.Read(k[:]) // never fails (crypto/rand)
	return k
}

// ShareSeed derives from the store's seed what instances must have in common. It is for
// before anything is served.
func (g *Gate) ShareSeed(seed [32]byte) error {
	key, err := hkdf.Key(sha256.New, seed[:], nil, confirmPurpose, len(g.confirms))
	if err == nil {
		copy(g.confirms[:], key)
	}
	return err
}

// proof names one decision of one account on one version of an approval: whatever changes it (a vote,
// another rule, a further asker, a reminder) makes earlier proofs void.
func (k *confirmKey) proof(a approval.Approval, v approval.Voter, d approval.Decision) string {
	h := hmac.New(sha256.New, k[:])
	for _, part := range []string{a.Key, v.Channel, v.UserID, string(d)} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(a.Version)))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:proofLength])
}

// confirms reports whether the ballot carries the proof for the approval as it is now.
func (k *confirmKey) confirms(b Ballot, a approval.Approval) bool {
	return hmac.Equal([]byte(b.Proof), []byte(k.proof(a, b.Voter, b.Decision)))
}

// Confirmation is the second button to an allow or a retry of an R4 call: its label, and the proof
// that a [Ballot] of that voter then carries. It holds until the approval changes.
func (g *Gate) Confirmation(a approval.Approval, v approval.Voter, d approval.Decision) (label, proof string) {
	label = "Yes, run: "
	if d == approval.Retry {
		label = "Yes, run again: "
	}
	what, _ := display.Clip(card.Headline(a), maxConfirmed)
	return label + what, g.confirms.proof(a, v, d)
}

// ConfirmsTwice reports whether a yes in a chat or on a page takes a second step that repeats what
// would run.
func ConfirmsTwice(a approval.Approval) bool {
	return a.Assessment.RiskClass >= approval.R4 && !a.Rule.StepUp
}

// unconfirmed refuses an R4 call's yes that was given with one tap, one line or one click.
func unconfirmed(a approval.Approval, b Ballot) *approval.Error {
	inChat := b.Chat != nil && !b.confirmed
	if !inChat && !b.Unconfirmed || !ConfirmsTwice(a) {
		return nil
	}
	return approval.Refuse(CodeUnconfirmed, "Not counted yet. %s", display.UpperFirst(card.RiskText(a)))
}

// toConfirm answers an unconfirmed yes. Nothing but that somebody looked is on record: a second step
// follows, or none.
func toConfirm(a approval.Approval, no *approval.Error, now int64) Change {
	return Change{Approval: looked(a, now), Unchanged: a.LookedAtMs != 0, Refusal: no}
}
