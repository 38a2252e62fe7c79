package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"

	"approvalbot/proof"
	"approvalbot/store"
)

// Signing is what a desk signs with, and what is public of the keys before.
type Signing struct {
	Receipts    proof.Signer
	Checkpoints proof.Signer
	Verifiers   []string            // of checkpoints, the present one first
	Public      []ed25519.PublicKey // of receipts, the present one first
}

// RetiredKey is what stays of a key that was replaced. A key that others may have
// leaves no receipt key: what it signs counts no longer.
type RetiredKey struct {
	Receipt    ed25519.PublicKey `json:"receipt,omitempty"`
	Checkpoint string            `json:"checkpoint"`
}

// SigningOf is what signs for that seed, with no key before it.
func SigningOf(seed [32]byte) (s Signing, err error) {
	if s.Receipts, err = proof.NewSigner(seed, proof.Receipts); err != nil {
		return s, err
	}
	if s.Checkpoints, err = proof.NewSigner(seed, proof.Checkpoints); err != nil {
		return s, err
	}
	verifier, err := s.Checkpoints.VerifierKey()
	s.Verifiers, s.Public = []string{verifier}, []ed25519.PublicKey{s.Receipts.Public()}
	return s, err
}

// SigningIn is a store's signing, with the keys that it had before.
func SigningIn(ctx context.Context, st *store.Store) (Signing, error) {
	s, err := SigningOf(st.Seed())
	if err != nil {
		return s, err
	}
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
	}
	return s, err
}
