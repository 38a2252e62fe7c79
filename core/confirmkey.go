package core

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"approvalbot/internal/approval"
)

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

// proof names one decision of one account on one version of an approval. Every change of the approval
// (a vote, another rule, a further asker, a reminder) makes earlier proofs void. So does another
// note.
func (k *confirmKey) proof(a approval.Approval, v approval.Voter, d approval.Decision, note string) string {
	h := hmac.New(sha256.New, k[:])
	parts := []string{a.Key, v.Channel, v.UserID, string(d)}
	if note != "" {
		parts = append(parts, note)
	}
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(a.Version)))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:proofLength])
}

// confirm is the ballot, confirmed if it carries the proof for the approval as it is now, and then with the note that
// the person was asked with: a button has no room for one.
func (k *confirmKey) confirm(b Ballot, a approval.Approval) Ballot {
	for _, note := range []string{b.Note, a.DraftOf(b.Voter, b.Decision)} {
		if hmac.Equal([]byte(b.Proof), []byte(k.proof(a, b.Voter, b.Decision, note))) {
			b.Note, b.confirmed = note, true
			break
		}
	}
	return b
}
