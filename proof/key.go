package proof

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Purpose is the kind of text that a key may sign. A key of one purpose never signs
// for another.
type Purpose string

// The purposes.
const (
	Receipts    Purpose = "receipt"
	Checkpoints Purpose = "checkpoint"
	TLS         Purpose = "tls" // the desk's certificate for its own programs
)

// Signer is an Ed25519 signing key for one purpose. Printing one never shows its
// secret. The zero Signer cannot sign.
type Signer struct {
	purpose Purpose
	public  ed25519.PublicKey
	sign    func(message []byte) []byte // holds the secret, so that printing a Signer cannot show it
}

// NewSigner derives the signing key of that purpose from secret key material of
// the desk, by HKDF-SHA-256: the same seed gives X
func NewSigner(seed [32]byte, p Purpose) (Signer, error) {
	if p != Receipts && p != Checkpoints && p != TLS {
		return Signer{}, fmt.Errorf("signing purpose %q is not one of %s, %s and %s", p, Receipts, Checkpoints, TLS)
	}
	own, err := hkdf.Key(sha256.New, seed[:], nil, "approvalbot signing "+string(p), ed25519.SeedSize)
	if err != nil {
		return Signer{}, err
	}
	key := ed25519.NewKeyFromSeed(own)
	return Signer{p, key.Public().(ed25519.PublicKey), func(m []byte) []byte { return ed25519.Sign(key, m) }}, nil
}

// Public gives the public key.
func (s Signer) Public() ed25519.PublicKey { return s.public }

// KeyID names the public key: its RFC 7638 thumbprint.
func (s Signer) KeyID() string { return thumbprint(s.public) }

// may reports an error when the key is not there for p.
func (s Signer) may(p Purpose) error {
	if s.purpose != p || s.sign == nil {
		return fmt.Errorf("a key for purpose %q cannot sign a %s: derive one for that purpose", s.purpose, p)
	}
	return nil
}

// jwk is a public key as RFC 8037 writes it.
type jwk struct {
	Alg string `json:"alg,omitempty"`
	Crv string `json:"crv"`
	Kid string `json:"kid,omitempty"`
	Kty string `json:"kty"`
	Use string `json:"use,omitempty"`
	X   string `json:"x"`
}

// thumbprint is RFC 7638's: SHA-256 over the required members in their order.
func thumbprint(key ed25519.PublicKey) string {
	b, err := json.Marshal(jwk{Crv: "Ed25519", Kty: "OKP", X: base64.RawURLEncoding.EncodeToString(key)})
	if err != nil { // strings always marshal
		panic(err)
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
