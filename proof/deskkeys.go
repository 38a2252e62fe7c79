package proof

import (
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// DeskKey is a public key of a desk as its clients keep it.
type DeskKey struct {
	ID        string `json:"id"`        // RFC 7638 thumbprint
	PublicKey string `json:"publicKey"` // Ed25519, base64url without padding
}

// PinnedKey is a DeskKey in a client's file.
type PinnedKey = DeskKey

// maxDeskKeys bounds how many keys one list has.
const maxDeskKeys = 16

// DeskKeyOf writes a public key.
func DeskKeyOf(key ed25519.PublicKey) DeskKey {
	return DeskKey{thumbprint(key), base64.RawURLEncoding.EncodeToString(key)}
}

// Public reads the key. An ID that is not its thumbprint is an error.
func (k DeskKey) Public() (ed25519.PublicKey, error) {
	key, ok := decode64(k.PublicKey)
	switch {
	case !ok || len(key) != ed25519.PublicKeySize:
		return nil, fmt.Errorf("the desk key %q is not an Ed25519 key of %d bytes in base64url without padding", k.ID,
			ed25519.PublicKeySize)
	case k.ID != thumbprint(key):
		return nil, fmt.Errorf("the id of the desk key %q is not that key's thumbprint", k.ID)
	}
	return key, nil
}

// Pins reads a list of desk keys: at least one, each once.
func Pins(keys []DeskKey) ([]ed25519.PublicKey, error) {
	if len(keys) == 0 || len(keys) > maxDeskKeys {
		return nil, fmt.Errorf("a list of desk keys has 1 to %d keys, but this list has %d", maxDeskKeys, len(keys))
	}
	var pins []ed25519.PublicKey
	for i, k := range keys {
		pin, err := k.Public()
		if err != nil {
			return nil, err
		}
		if slices.Contains(keys[:i], k) {
			return nil, fmt.Errorf("the desk key %q is in its list twice", k.ID)
		}
		pins = append(pins, pin)
	}
	return pins, nil
}

// successionType is the JOSE typ of a succession.
const successionType = "approvalbot-succession+jwt"

// succession is the receipt key's signed statement about its successors.
type succession struct {
	Issuer   string    `json:"iss"`
	IssuedAt int64     `json:"iat"`
	DeskKeys []DeskKey `json:"deskKeys"`
}

// Succeed signs that the desk's keys are now next: a compact JWS (EdDSA, typ
// approvalbot-succession+jwt). The key's purpose must be [Receipts].
func (s Signer) Succeed(issuer string, next []DeskKey, now time.Time) (string, error) {
	if err := s.may(Receipts); err != nil {
		return "", err
	}
	if _, err := Pins(next); err != nil {
		return "", err
	}
	return s.jws(successionType, succession{issuer, now.Unix(), next})
}

// Follow leads from the keys that a client has pinned to the desk's newest ones: each
// succession, in order, that a key of the present list has signed replaces that list.
// Successions by other keys are skipped. If none fits, the result is pins. On an error,
// which is one sentence, the client keeps its pins.
func Follow(pins []PinnedKey, successions []string) ([]PinnedKey, error) {
	for i, jws := range successions {
		keys, err := Pins(pins)
		if err != nil {
			return nil, err
		}
		var next succession
		err = openJWS(jws, successionType, "a succession", KeysOf(keys...), &next)
		if errors.Is(err, errUnknownKey) {
			continue
		}
		if err == nil {
			_, err = Pins(next.DeskKeys)
		}
		if err != nil {
			return nil, fmt.Errorf("the desk's change of keys number %d is not proven: %w", i+1, err)
		}
		pins = next.DeskKeys
	}
	return pins, nil
}

// ForTLS gives the key to a TLS stack; its purpose must be [TLS].
func (s Signer) ForTLS() (crypto.Signer, error) {
	return tlsKey{s}, s.may(TLS)
}

// tlsKey signs handshakes and the certificate of a [TLS] key.
type tlsKey struct{ s Signer }

// Public implements crypto.Signer.
func (k tlsKey) Public() crypto.PublicKey { return k.s.Public() }

// Sign implements crypto.Signer. Ed25519 signs messages, never hashes of them.
func (k tlsKey) Sign(_ io.Reader, message []byte, o crypto.SignerOpts) ([]byte, error) {
	if o.HashFunc() != 0 {
		return nil, errors.New("an Ed25519 key signs no hash")
	}
	return k.s.sign(message), nil
}
