package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"

	"approvalbot/proof"
	"approvalbot/store"
)

// signing is what a desk signs with, and what is public of the keys before.
type signing struct {
	receipts    proof.Signer
	checkpoints proof.Signer
	verifiers   []string            // of checkpoints, the present one first
	public      []ed25519.PublicKey // of receipts, the present one first
}

// retiredKey is what stays of a key that was replaced. A key that others may have
// leaves no receipt key: what it signs counts no longer.
type retiredKey struct {
	Receipt    ed25519.PublicKey `json:"receipt,omitempty"`
	Checkpoint string            `json:"checkpoint"`
}

func signingOf(seed [32]byte) (s signing, err error) {
	if s.receipts, err = proof.NewSigner(seed, proof.Receipts); err != nil {
		return s, err
	}
	if s.checkpoints, err = proof.NewSigner(seed, proof.Checkpoints); err != nil {
		return s, err
	}
	verifier, err := s.checkpoints.VerifierKey()
	s.verifiers, s.public = []string{verifier}, []ed25519.PublicKey{s.receipts.Public()}
	return s, err
}

// signingIn is a store's signing, with the keys that it had before.
func signingIn(ctx context.Context, st *store.Store) (signing, error) {
	s, err := signingOf(st.Seed())
	if err != nil {
		return s, err
	}
	retired, err := st.Retired(ctx)
	for i := len(retired) - 1; i >= 0 && err == nil; i-- {
		var k retiredKey
		if err = json.Unmarshal(retired[i], &k); err != nil {
			return s, fmt.Errorf("a retired key of the store cannot be read: %w", err)
		}
		s.verifiers = append(s.verifiers, k.Checkpoint)
		if len(k.Receipt) > 0 {
			s.public = append(s.public, k.Receipt)
		}
	}
	return s, err
}
