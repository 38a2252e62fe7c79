package core

import (
	"context"
	"errors"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
)

// Signers is what the steps need of sign-in if a yes must be signed.
type Signers interface {
	// Holders gives the people who have a passkey, by name.
	Holders(ctx context.Context) (map[string]bool, error)
	// KeepCeremony keeps a ceremony for five minutes, and gives its nonce and the ids of the
	// person's passkeys. It does not keep it if the person has no passkey.
	KeepCeremony(ctx context.Context, c Ceremony) (nonce string, passkeys []string, err error)
	// Evidence gives what the desk has of a yes, by its nonce and its passkey's id.
	Evidence(ctx context.Context, nonce, passkey string) (Evidence, error)
}

// Ceremony is a person's beginning to sign a yes: good for one answer, in one session.
type Ceremony struct {
	Nonce     string
	Session   string // its id
	Person    string
	Approval  string // its key
	Run       int    // how many retries the approval had
	ExpiresMs int64
}

// Evidence is what the desk has of a yes that was signed.
type Evidence struct {
	// Began is zero if there is no such ceremony any more. One that was begun for anything but
	// a yes has its Nonce alone.
	Began   Ceremony
	Passkey Signer // zero: there is no such passkey
}

// Signer is a person's passkey.
type Signer struct {
	ID     string
	Person string
	Key    assertion.Key
	Used   func(now int64) approval.Event // says in the log that it signed
}

// PasskeyUse is what a signature used up: its ceremony, and the passkey's count. It is
// committed with the step that counts on it, or neither is.
type PasskeyUse struct {
	Challenge string
	// RememberMs is until when the challenge is remembered as spent, if it was kept nowhere before;
	// 0: it was.
	RememberMs    int64
	Passkey       string // credential id; empty: the signature was not good
	Before, After uint32
	BackedUp      bool
	AtMs          int64
}

// ErrSpent is the error of a commit whose signature was used by another one meanwhile.
var ErrSpent = errors.New("the signature was already used")

// NoSite refuses what needs passkeys at a desk that can have none.
func NoSite() *approval.Error {
	return approval.Refuse(approval.CodeUnavailable,
		"This desk has no passkeys: for passkeys, server.publicUrl must be https with a DNS name, or localhost.")
}

// noSigners are those of a Gate that was given no others: no person has a passkey, and no
// signature counts.
type noSigners struct{}

func (noSigners) Holders(context.Context) (map[string]bool, error) { return map[string]bool{}, nil }

func (noSigners) KeepCeremony(context.Context, Ceremony) (string, []string, error) {
	return "", nil, nil
}

func (noSigners) Evidence(context.Context, string, string) (Evidence, error) { return Evidence{}, nil }
