package assertion

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Response is what a browser hands over when a passkey has signed, each part in
// base64url without padding, as WebAuthn's JSON has it.
type Response struct {
	CredentialID      string `json:"credentialId"`
	AuthenticatorData string `json:"authenticatorData"`
	ClientDataJSON    string `json:"clientDataJSON"`
	Signature         string `json:"signature"`
}

// Key is a passkey as far as a check needs it.
type Key struct {
	PublicKey string `json:"publicKey"` // PKIX, DER, in base64url
	Algorithm int    `json:"algorithm"` // COSE's number
	SignCount uint32 `json:"signCount"` // before this signature; 0: it does not count
}

// Signature is a yes that was signed, with all that is needed to check it again.
type Signature struct {
	Person     string `json:"person"`
	PolicyHash string `json:"policyHash"` // that was in force
	Nonce      string `json:"nonce"`      // of the ceremony
	SiteID     string `json:"rpId"`
	Origin     string `json:"origin"`
	Key
	Response
}

// Signed says whether the signature is over exactly that yes, whose person, policy and
// nonce must be its own.
func (s Signature) Signed(y Yes) error {
	if y.Person != s.Person || y.PolicyHash != s.PolicyHash || y.Nonce != s.Nonce {
		return errors.New("the signature is for another person's vote, or for a vote under different rules")
	}
	site, err := SiteOf(s.Origin)
	if err != nil || site.ID != s.SiteID {
		return errors.New("the signature was made on a page whose address does not belong to the desk's site")
	}
	_, err = s.Response.Verify(s.Key, site, y.Challenge())
	return err
}

// Seen is what the authenticator said of itself. It is meaningful only if
// [Signature.Signed] found no fault.
func (s Signature) Seen() Seen {
	data, err := decode("authenticator data", s.AuthenticatorData)
	if err != nil || len(data) < dataLen {
		return Seen{}
	}
	return seenIn(data)
}

// Seen is what an authenticator said of itself with a signature.
type Seen struct {
	SignCount uint32
	BackedUp  bool // the key is kept elsewhere too, as by a vendor's account
}

// Verify checks that the key signed that challenge for that site, with the person present
// and verified. The error says what is wrong, without any value from the signature.
func (r Response) Verify(k Key, site Site, challenge []byte) (Seen, error) {
	client, err := decode("client data", r.ClientDataJSON)
	if err != nil {
		return Seen{}, err
	}
	data, err := decode("authenticator data", r.AuthenticatorData)
	if err != nil {
		return Seen{}, err
	}
	signature, err := decode("signature", r.Signature)
	if err != nil {
		return Seen{}, err
	}
	public, err := decode("public key", k.PublicKey)
	if err != nil {
		return Seen{}, err
	}
	if err := clientSaid(client, site, challenge); err != nil {
		return Seen{}, err
	}
	seen, err := authenticatorSaid(data, site, k.SignCount)
	if err != nil {
		return Seen{}, err
	}
	sum := sha256.Sum256(client)
	return seen, signed(k.Algorithm, public, append(data, sum[:]...), signature)
}

func decode(what, text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) == 0 {
		return nil, errors.New("the " + what + " is not in base64url")
	}
	return b, nil
}

// clientSaid checks the client's data: what was asked for, and by which page (WebAuthn
// §7.2).
func clientSaid(raw []byte, site Site, challenge []byte) error {
	var c struct {
		Type        string `json:"type"`
		Challenge   string `json:"challenge"`
		Origin      string `json:"origin"`
		CrossOrigin bool   `json:"crossOrigin"`
	}
	got := []byte(nil)
	err := json.Unmarshal(raw, &c, jsontext.AllowInvalidUTF8(false))
	if err == nil {
		got, err = decode("challenge", c.Challenge)
	}
	switch {
	case err != nil:
		return errors.New("the data that the browser sent with the signature cannot be read")
	case c.Type != "webauthn.get":
		return errors.New("the browser sent no signature")
	case !bytes.Equal(got, challenge):
		return errors.New("the signature answers another question than the one the desk asked")
	case site.Origin == "" || c.Origin != site.Origin || c.CrossOrigin:
		return errors.New("the signature was made on a page that is not the desk's, or that another site shows in a frame")
	}
	return nil
}

// What the bits of an authenticator's data say (WebAuthn §6.1).
const (
	userPresent   = 1 << 0
	userVerified  = 1 << 2
	backupMayBe   = 1 << 3
	backedUp      = 1 << 4
	attested      = 1 << 6
	hasExtensions = 1 << 7

	dataLen = 32 + 1 + 4 // hash of the site, flags, count
)

// authenticatorSaid checks the authenticator's data. A count that has not risen is a sign
// that the key was copied; an authenticator that does not count always gives 0.
func authenticatorSaid(data []byte, site Site, before uint32) (Seen, error) {
	if len(data) < dataLen {
		return Seen{}, errors.New("the device sent an incomplete signature")
	}
	hash, flags, count := sha256.Sum256([]byte(site.ID)), data[32], binary.BigEndian.Uint32(data[33:])
	longer := flags&hasExtensions != 0
	switch {
	case site.ID == "" || !bytes.Equal(data[:32], hash[:]):
		return Seen{}, errors.New("the signature is for another site")
	case flags&userPresent == 0 || flags&userVerified == 0:
		return Seen{}, errors.New("the device did not confirm that its owner was there (by a fingerprint, a face " +
			"or a PIN)")
	case flags&attested != 0 || (len(data) > dataLen) != longer:
		return Seen{}, errors.New("the device sent no signature")
	case flags&backedUp != 0 && flags&backupMayBe == 0:
		return Seen{}, errors.New("the device contradicts itself about whether the passkey is backed up")
	case (count != 0 || before != 0) && count <= before:
		return Seen{}, errors.New("the key's signature counter did not increase, so there may be a copy of the key")
	}
	return seenIn(data), nil
}

func seenIn(data []byte) Seen {
	return Seen{SignCount: binary.BigEndian.Uint32(data[33:]), BackedUp: data[32]&backedUp != 0}
}
