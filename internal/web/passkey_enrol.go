package web

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/signin"
)

// enrolPages make passkeys.
type enrolPages struct {
	page
	signin *signin.Door // passkeys
}

func (p *enrolPages) routes() []route {
	return []route{
		{pattern: "POST /me/passkeys/begin", serve: p.script(p.beginEnrolment)},
		{pattern: "POST /me/passkeys/finish", serve: p.script(p.finishEnrolment)},
	}
}

// enrollee is a person as the library wants one.
type enrollee string

func (m enrollee) WebAuthnID() []byte                         { return signin.UserHandle(string(m)) }
func (m enrollee) WebAuthnName() string                       { return string(m) }
func (m enrollee) WebAuthnDisplayName() string                { return string(m) }
func (m enrollee) WebAuthnCredentials() []webauthn.Credential { return nil }

// enrolment is the library for a site.
func enrolment(site assertion.Site) (*webauthn.WebAuthn, error) {
	return webauthn.New(&webauthn.Config{
		RPID: site.ID, RPDisplayName: "approvalbot", RPOrigins: []string{site.Origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: protocol.ResidentKeyRequired(), ResidentKey: protocol.ResidentKeyRequirementRequired,
			UserVerification: protocol.VerificationRequired,
		},
	})
}

func (p *enrolPages) beginEnrolment(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	all, err := p.signin.PasskeysOf(r.Context(), s)
	if err != nil {
		return nil, err
	}
	if all.MayAdd != nil {
		return nil, all.MayAdd
	}
	lib, err := enrolment(p.gate.Rules().Site)
	if err != nil {
		return nil, err // of a site that the Gate has
	}
	var known []protocol.CredentialDescriptor
	for _, held := range all.Held {
		if id, err := base64.RawURLEncoding.DecodeString(held.ID); err == nil {
			known = append(known, protocol.CredentialDescriptor{Type: protocol.PublicKeyCredentialType, CredentialID: id})
		}
	}
	var algorithms []protocol.CredentialParameter
	for _, a := range assertion.Algorithms() {
		algorithms = append(algorithms, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType,
			Algorithm: webauthncose.COSEAlgorithmIdentifier(a)})
	}
	creation, session, err := lib.BeginRegistration(enrollee(s.Person), webauthn.WithExclusions(known),
		webauthn.WithCredentialParameters(algorithms))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(session)
	if err != nil {
		return nil, err
	}
	return creation.Response, p.signin.BeginEnrolment(r.Context(), s, session.Challenge, data)
}

// enrolAnswer is what the browser brings when a passkey was made.
type enrolAnswer struct {
	Challenge  string          `json:"challenge"`
	Name       string          `json:"name"` // as the person calls it
	Credential json.RawMessage `json:"credential"`
}

func (p *enrolPages) finishEnrolment(_ http.ResponseWriter, r *http.Request, s signin.Session) (any, error) {
	var in enrolAnswer
	if err := readScript(r, &in); err != nil {
		return nil, err
	}
	data, err := p.signin.EndEnrolment(r.Context(), s, in.Challenge)
	if err != nil {
		return nil, err
	}
	var session webauthn.SessionData
	if err := json.Unmarshal(data, &session); err != nil {
		return nil, err
	}
	lib, err := enrolment(p.gate.Rules().Site)
	if err != nil {
		return nil, err
	}
	said, err := protocol.ParseCredentialCreationResponseBytes(in.Credential)
	if err != nil {
		return nil, noPasskeyMade()
	}
	c, err := lib.CreateCredential(enrollee(s.Person), session, said)
	if err != nil {
		p.log.Info("could not make a passkey; the person was told to try again", "person", s.Person, "reason", err)
		return nil, noPasskeyMade()
	}
	made, err := passkeyOf(c)
	if err != nil {
		return nil, approval.Refuse(approval.CodeInvalidRequest, "%s", "That passkey cannot be used here: "+err.Error()+".")
	}
	made.Name = in.Name
	_, err = p.signin.Enrol(r.Context(), s, made)
	return scriptDone{Next: "/me/passkeys"}, err
}

func noPasskeyMade() error {
	return approval.Refuse(approval.CodeInvalidRequest, "The browser's answer does not fit, so no passkey was made: try again.")
}

// passkeyOf is what the library read, as the desk keeps it.
func passkeyOf(c *webauthn.Credential) (signin.Passkey, error) {
	read, err := webauthncose.ParsePublicKey(c.PublicKey)
	if err != nil {
		return signin.Passkey{}, err
	}
	algorithm, key := publicKey(read)
	der, err := assertion.MarshalKey(algorithm, key)
	return signin.Passkey{
		ID: base64.RawURLEncoding.EncodeToString(c.ID), PublicKey: base64.RawURLEncoding.EncodeToString(der),
		Algorithm: algorithm, SignCount: c.Authenticator.SignCount,
		BackupEligible: c.Flags.BackupEligible, BackedUp: c.Flags.BackupState,
	}, err
}

// publicKey is a COSE key as the standard library has it; nil if its kind is not
// supported.
func publicKey(read any) (algorithm int, key crypto.PublicKey) {
	switch k := read.(type) {
	case webauthncose.EC2PublicKeyData:
		if len(k.XCoord) != 32 || len(k.YCoord) != 32 {
			return int(k.Algorithm), nil
		}
		point := append(append([]byte{4}, k.XCoord...), k.YCoord...)
		if p, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point); err == nil {
			return int(k.Algorithm), p
		}
		return int(k.Algorithm), nil
	case webauthncose.OKPPublicKeyData:
		return int(k.Algorithm), ed25519.PublicKey(k.XCoord)
	case webauthncose.RSAPublicKeyData:
		e := new(big.Int).SetBytes(k.Exponent)
		if !e.IsInt64() || e.Int64() > 1<<31-1 {
			return int(k.Algorithm), nil
		}
		return int(k.Algorithm), &rsa.PublicKey{N: new(big.Int).SetBytes(k.Modulus), E: int(e.Int64())}
	}
	return 0, nil
}
