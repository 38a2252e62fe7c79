package assertion

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// The algorithms that a passkey may sign with, as COSE numbers them (RFC 9053, RFC 8812).
const (
	ES256 = -7
	EdDSA = -8
	RS256 = -257
)

// minRSA is how long an RSA key must be, in bits.
const minRSA = 2048

// Algorithms are those that count, the preferred first.
func Algorithms() []int { return []int{ES256, EdDSA, RS256} }

// MarshalKey writes a passkey's public key in the form in which the desk keeps it: PKIX,
// DER. It refuses a key that does not fit the algorithm.
func MarshalKey(algorithm int, key crypto.PublicKey) ([]byte, error) {
	if err := fits(algorithm, key); err != nil {
		return nil, err
	}
	return x509.MarshalPKIXPublicKey(key)
}

// Thumbprint names a public key: SHA-256 of its DER, in hex.
func (k Key) Thumbprint() string {
	der, err := base64.RawURLEncoding.DecodeString(k.PublicKey)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// fits says why a key cannot sign by that algorithm; nil if it can.
func fits(algorithm int, key crypto.PublicKey) error {
	ok := false
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		ok = algorithm == ES256 && k.Curve == elliptic.P256()
	case ed25519.PublicKey:
		ok = algorithm == EdDSA && len(k) == ed25519.PublicKeySize
	case *rsa.PublicKey:
		ok = algorithm == RS256 && k.N.BitLen() >= minRSA
	}
	if !ok {
		return errors.New("the key must be ES256 on P-256, EdDSA on Ed25519, or RS256 with at least 2,048 bits")
	}
	return nil
}

// signed reports whether the key, as [MarshalKey] wrote it, made the signature.
func signed(algorithm int, der, message, signature []byte) error {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return errors.New("the public key cannot be read")
	}
	if err := fits(algorithm, key); err != nil {
		return err
	}
	sum, ok := sha256.Sum256(message), false
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		ok = ecdsa.VerifyASN1(k, sum[:], signature)
	case ed25519.PublicKey:
		ok = ed25519.Verify(k, message, signature)
	case *rsa.PublicKey:
		ok = rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature) == nil
	}
	if !ok {
		return errors.New("the signature was made with another passkey, or for other data")
	}
	return nil
}
