package proof

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// Keys are the public keys that receipts may be signed with, by their key id.
type Keys map[string]ed25519.PublicKey

// KeysOf makes Keys of public keys: the present one and those before it.
func KeysOf(public ...ed25519.PublicKey) Keys {
	keys := Keys{}
	for _, p := range public {
		keys[thumbprint(p)] = p
	}
	return keys
}

// JWKS writes the JSON Web Key Set that a desk publishes at
// /.well-known/jwks.json: each key as OKP Ed25519 (RFC 8037) with its RFC 7638
// thumbprint as kid. Put the key that signs now first and older ones, whose
// receipts are still to be accepted, after it.
func JWKS(public ...ed25519.PublicKey) ([]byte, error) {
	set := struct {
		Keys []jwk `json:"keys"`
	}{[]jwk{}}
	for _, p := range public {
		if len(p) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("a public key has %d bytes, but an Ed25519 key has %d", len(p),
				ed25519.PublicKeySize)
		}
		set.Keys = append(set.Keys, jwk{"EdDSA", "Ed25519", thumbprint(p), "OKP", "sig",
			base64.RawURLEncoding.EncodeToString(p)})
	}
	return json.Marshal(set)
}

// ParseJWKS reads a JSON Web Key Set. Keys of other kinds are left out; an
// Ed25519 key must be for signatures and carry its thumbprint as kid, and no
// secret part. A set without any usable key is an error.
func ParseJWKS(b []byte) (Keys, error) {
	var set struct {
		Keys []struct {
			jwk
			D any `json:"d"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, errors.New("the key set is not a JSON Web Key Set")
	}
	keys := Keys{}
	for i, k := range set.Keys {
		if k.Kty != "OKP" || k.Crv != "Ed25519" {
			continue
		}
		x, ok := decode64(k.X)
		otherAlg, otherUse := k.Alg != "" && k.Alg != "EdDSA", k.Use != "" && k.Use != "sig"
		switch {
		case k.D != nil:
			return nil, fmt.Errorf("key %d of the key set contains its secret part: publish the public key "+
				"alone, and make a new one", i+1)
		case !ok || len(x) != ed25519.PublicKeySize:
			return nil, fmt.Errorf("key %d of the key set is not an Ed25519 key of %d bytes in base64url", i+1,
				ed25519.PublicKeySize)
		case k.Kid != thumbprint(x):
			return nil, fmt.Errorf("the kid of key %d of the key set is not that key's thumbprint", i+1)
		case otherAlg || otherUse:
			return nil, fmt.Errorf("key %d of the key set is not for EdDSA signatures", i+1)
		}
		keys[k.Kid] = x
	}
	if len(keys) == 0 {
		return nil, errors.New("the key set has no Ed25519 key")
	}
	return keys, nil
}

// decode64 reads unpadded base64url in its one canonical spelling.
func decode64(s string) ([]byte, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return b, err == nil && base64.RawURLEncoding.EncodeToString(b) == s
}
