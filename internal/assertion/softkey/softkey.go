// Package softkey is a passkey in software, for tests: it signs what it is given, also
// what no honest authenticator would.
package softkey

import (
	"bytes"
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

	"approvalbot/internal/assertion"
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
	p := &Passkey{ID: encode(id), Algorithm: algorithm, Counts: true, Flags: Present | Verified}
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
	ok(t, err)
	return p
}

// Key is its public half, as a desk keeps it, with the count so far.
func (p *Passkey) Key(t testing.TB) assertion.Key {
	t.Helper()
	der, err := assertion.MarshalKey(p.Algorithm, p.signer.Public())
	ok(t, err)
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
	ok(t, err)
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
	ok(t, err)
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

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// Make is what a browser brings when the passkey was made, as JSON.
func (p *Passkey) Make(t testing.TB, site assertion.Site, challenge string) json.RawMessage {
	t.Helper()
	client, err := json.Marshal(Client{Type: "webauthn.create", Challenge: challenge, Origin: site.Origin})
	ok(t, err)
	id, err := base64.RawURLEncoding.DecodeString(p.ID)
	ok(t, err)
	const attested = 1 << 6
	data := append(p.Data(site.ID, p.Flags|attested), make([]byte, 16)...) // of no known make
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(id))), id...)
	data = append(data, p.cose(t)...)
	object := append([]byte{0xa3}, cborText("fmt")...)
	object = append(append(object, cborText("none")...), cborText("attStmt")...)
	object = append(append(object, 0xa0), cborText("authData")...)
	response := map[string]string{"attestationObject": encode(append(object, cborBytes(data)...)),
		"clientDataJSON": encode(client)}
	out, err := json.Marshal(map[string]any{"id": p.ID, "rawId": p.ID, "type": "public-key", "response": response})
	ok(t, err)
	return out
}

// cose is the public key as COSE writes it (RFC 9052).
func (p *Passkey) cose(t testing.TB) []byte {
	t.Helper()
	switch k := p.signer.Public().(type) {
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		ok(t, err)
		return join([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21}, cborBytes(point[1:33]), []byte{0x22}, cborBytes(point[33:]))
	case ed25519.PublicKey:
		return join([]byte{0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21}, cborBytes(k))
	case *rsa.PublicKey:
		return join([]byte{0xa4, 1, 3, 3, 0x39, 1, 0, 0x20}, cborBytes(k.N.Bytes()), []byte{0x21}, cborBytes([]byte{1, 0, 1}))
	}
	t.Fatal("no such key")
	return nil
}

func cborText(s string) []byte { return append([]byte{0x60 | byte(len(s))}, s...) }

func cborBytes(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0x59}, uint16(len(b))), b...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
