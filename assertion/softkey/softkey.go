// Package softkey is a passkey in software, for tests: it signs what it is given, also
// what no honest authenticator would.
package softkey

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/assertion"
)

// Passkey is one key on one device. Its exported fields are what it says of itself.
type Passkey struct {
	ID        string // the credential's
	Algorithm int
	Count     uint32 // of its signatures so far
	Counts    bool   // else Count stays 0
	Flags     byte   // user present and verified

	signer crypto.Signer
}

// Present and Verified are the flags of an honest signature.
const (
	Present  = 1 << 0
	Verified = 1 << 2
)

// New makes a passkey.
func New(t testing.TB, algorithm int) *Passkey {
	t.Helper()
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	p := &Passkey{ID: base64.RawURLEncoding.EncodeToString(id), Algorithm: algorithm, Counts: true, Flags: Present | Verified}
	var err error
	switch algorithm {
	case assertion.ES256:
		p.signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case assertion.EdDSA:
		_, p.signer, err = ed25519.GenerateKey(rand.Reader)
	case assertion.RS256:
		p.signer, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		t.Fatalf("no passkey signs by algorithm %d", algorithm)
	}
	require.NoError(t, err)
	return p
}

// Key is its public half, as a desk keeps it, with the count so far.
func (p *Passkey) Key(t testing.TB) assertion.Key {
	t.Helper()
	der, err := assertion.MarshalKey(p.Algorithm, p.signer.Public())
	require.NoError(t, err)
	return assertion.Key{PublicKey: encode(der), Algorithm: p.Algorithm, SignCount: p.Count}
}

// Client is what a browser says of a ceremony.
type Client struct {
	Type        string `json:"type"`
	Challenge   string `json:"challenge"`
	Origin      string `json:"origin"`
	CrossOrigin bool   `json:"crossOrigin"`
}

// Sign answers a challenge, as a browser on a page of that site would have it.
func (p *Passkey) Sign(t testing.TB, site assertion.Site, challenge []byte) assertion.Response {
	t.Helper()
	return p.SignAs(t, site.ID, Client{Type: "webauthn.get", Challenge: encode(challenge), Origin: site.Origin})
}

// SignAs signs for a site what a browser says.
func (p *Passkey) SignAs(t testing.TB, siteID string, c Client) assertion.Response {
	t.Helper()
	client, err := json.Marshal(c)
	require.NoError(t, err)
	if p.Counts {
		p.Count++
	}
	data := p.Data(siteID, p.Flags)
	sum := sha256.Sum256(client)
	message, by := append(data[:len(data):len(data)], sum[:]...), crypto.Hash(0)
	if p.Algorithm != assertion.EdDSA {
		digest := sha256.Sum256(message)
		message, by = digest[:], crypto.SHA256
	}
	signature, err := p.signer.Sign(rand.Reader, message, by)
	require.NoError(t, err)
	return assertion.Response{CredentialID: p.ID, AuthenticatorData: encode(data), ClientDataJSON: encode(client),
		Signature: encode(signature)}
}

// Data is an authenticator's data with those flags.
func (p *Passkey) Data(siteID string, flags byte) []byte {
	hash := sha256.Sum256([]byte(siteID))
	return binary.BigEndian.AppendUint32(append(hash[:], flags), p.Count)
}

// Public is its public key.
func (p *Passkey) Public() crypto.PublicKey { return p.signer.Public() }

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
