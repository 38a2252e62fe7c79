package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"time"

	"approvalbot/internal/store"
	"approvalbot/proof"
)

// Signing has the keys that a desk signs with, and the public parts of the keys before.
type Signing struct {
	Receipts    proof.Signer
	Checkpoints proof.Signer
	Verifiers   []string            // of checkpoints, the present one first
	Public      []ed25519.PublicKey // of receipts, the present one first
	TLS         proof.Signer
	// Successions lead from keys before to the present ones, oldest first. A key that others may have is in no
	// succession.
	Successions []string
}

// RetiredKey is what stays of a key that was replaced. A key that others may have
// leaves no receipt key and no succession: what it signs counts no longer.
type RetiredKey struct {
	Receipt    ed25519.PublicKey `json:"receipt,omitempty"`
	Checkpoint string            `json:"checkpoint"`
	Succession string            `json:"succession,omitempty"` // to the key that replaced it
}

// SigningOf is what signs for that seed, with no key before it.
func SigningOf(seed [32]byte) (s Signing, err error) {
	if s.Receipts, err = proof.NewSigner(seed, proof.Receipts); err != nil {
		return s, err
	}
	if s.Checkpoints, err = proof.NewSigner(seed, proof.Checkpoints); err != nil {
		return s, err
	}
	if s.TLS, err = proof.NewSigner(seed, proof.TLS); err != nil {
		return s, err
	}
	verifier, err := s.Checkpoints.VerifierKey()
	s.Verifiers, s.Public = []string{verifier}, []ed25519.PublicKey{s.Receipts.Public()}
	return s, err
}

// DeskKeys are what clients of this desk pin.
func (s Signing) DeskKeys() []proof.DeskKey {
	return []proof.DeskKey{proof.DeskKeyOf(s.Receipts.Public()), proof.DeskKeyOf(s.TLS.Public())}
}

// Retire is what stays of s when next replaces it. exposed: others may have its key.
func (s Signing) Retire(next Signing, issuer string, exposed bool, now time.Time) (k RetiredKey, err error) {
	k.Checkpoint = s.Verifiers[0]
	if !exposed {
		k.Receipt = s.Receipts.Public()
		k.Succession, err = s.Receipts.Succeed(issuer, next.DeskKeys(), now)
	}
	return k, err
}

// SigningIn is a store's signing, with the keys that it had before.
func SigningIn(ctx context.Context, st *store.Store) (Signing, error) {
	s, err := SigningOf(st.Seed())
	if err != nil {
		return s, err
	}
	exposed := false // this key, or one after it
	retired, err := st.Retired(ctx)
	for i := len(retired) - 1; i >= 0 && err == nil; i-- {
		var k RetiredKey
		if err = json.Unmarshal(retired[i], &k); err != nil {
			return s, fmt.Errorf("a retired key of the store cannot be read: %w", err)
		}
		s.Verifiers = append(s.Verifiers, k.Checkpoint)
		if len(k.Receipt) > 0 {
			s.Public = append(s.Public, k.Receipt)
		}
		exposed = exposed || len(k.Receipt) == 0
		if !exposed && k.Succession != "" {
			s.Successions = append([]string{k.Succession}, s.Successions...)
		}
	}
	return s, err
}
