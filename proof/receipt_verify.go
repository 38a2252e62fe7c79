package proof

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxReceipt bounds what Verify looks at, in bytes.
const maxReceipt = 64 << 10

// clockSkew is how far an executor's clock may be behind the desk's. The end of
// a receipt is not extended.
const clockSkew = time.Minute

// Verify checks a receipt before its call runs. wantFingerprint is what the
// executor itself computed from the call that it is about to run, with
// [Fingerprint] or [FingerprintCall]; a fingerprint that came from another party
// is no proof.
//
// It accepts exactly the text that a desk whose key is among keys wrote: one
// EdDSA signature by a known key, this typ and no other header, every claim once
// and no unknown one, canonical base64url, not expired at now, that fingerprint.
// The error is one sentence without any value of the receipt. A receipt may be
// shown again until it expires: see [Receipt].ID.
func Verify(jws string, keys Keys, now time.Time, wantFingerprint string) (Receipt, error) {
	r, err := open(jws, keys)
	if err == nil {
		err = r.check()
	}
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("no valid receipt: %w", err)
	case now.Unix() >= r.Expires:
		return Receipt{}, fmt.Errorf("no valid receipt: it expired at %s; have the call approved anew",
			time.Unix(r.Expires, 0).UTC().Format(time.RFC3339))
	case now.Add(clockSkew).Unix() < r.NotBefore:
		return Receipt{}, errors.New("no valid receipt: it is not valid yet; is this machine's clock right?")
	case wantFingerprint != "" && !isHash(wantFingerprint):
		return Receipt{}, errors.New("no valid receipt: the fingerprint that was given is not 64 lower-case hex " +
			"digits, so it cannot be compared; compute it of the call that is about to run")
	case wantFingerprint == "":
		return Receipt{}, errors.New("no valid receipt: without the fingerprint of the call that is about to run " +
			"it cannot be compared")
	case r.Fingerprint != wantFingerprint:
		return Receipt{}, errors.New("no valid receipt: it is for another call; its fingerprint is not the one " +
			"of the call that is about to run")
	}
	return r, nil
}

// open checks form and signature of a receipt.
func open(jws string, keys Keys) (r Receipt, err error) {
	err = openJWS(jws, receiptType, "a receipt", keys, &r)
	return r, err
}

// openJWS checks form and signature of a text that a desk signed, and reads its claims.
// Both JSON parts are decoded, encoded again and compared with the original: so they
// cannot contain a member twice, an unknown one, another spelling or trailing text.
func openJWS(jws, typ, what string, keys Keys, claims any) error {
	parts := strings.Split(jws, ".")
	if len(jws) > maxReceipt || len(parts) != 3 {
		return errors.New("it is not a compact JWS of three parts")
	}
	head, err := openHeader(parts[0], typ)
	if err != nil {
		return err
	}
	key := keys[head.Kid]
	if len(key) != ed25519.PublicKeySize {
		return errUnknownKey
	}
	signature, ok := decode64(parts[2])
	if !ok || len(signature) != ed25519.SignatureSize {
		return errors.New("its signature is not 64 bytes in canonical base64url")
	}
	if !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature) {
		return errors.New("its signature does not fit")
	}
	body, ok := decode64(parts[1])
	if !ok || json.Unmarshal(body, claims) != nil {
		return errors.New("its claims are not those of " + what + " in canonical base64url")
	}
	if again, err := encode(claims); err != nil || again != parts[1] {
		return errors.New("its claims are not written as a desk writes them: one is there twice, unknown, missing " +
			"or misspelt")
	}
	return nil
}

var errUnknownKey = errors.New("it is signed with a key that is not in the key set; fetch the desk's key set again")

func openHeader(part, typ string) (h joseHeader, err error) {
	b, ok := decode64(part)
	if !ok || json.Unmarshal(b, &h) != nil {
		return h, errors.New("its header is not JSON in canonical base64url")
	}
	switch again, err := encode(h); {
	case h.Alg != "EdDSA":
		return h, errors.New("its algorithm is not EdDSA")
	case h.Typ != typ:
		return h, errors.New("its typ is not " + typ)
	case err != nil || again != part:
		return h, errors.New("its header has more in it than alg, kid and typ, or is not written as a desk writes it")
	}
	return h, nil
}
