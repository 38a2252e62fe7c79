package signin

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

const (
	signInPurpose = "approvalbot challenge to sign in"
	nonceLength   = 16
	expiryLength  = 8
)

// signInKey makes and reads challenges to sign in. Anybody may ask for one, so they are
// kept nowhere: each has a nonce, when it is over, and an HMAC-SHA-256 over both and the
// browser that it is for. Every instance with the store's key reads those of every other.
type signInKey [32]byte

// randomSignInKey is the key of a Door that has got no other.
func randomSignInKey() (k signInKey) {
	_, _ = rand.Read(k[:]) // never fails (crypto/rand)
	return k
}

// ShareSeed derives from the store's seed what instances must have in common. It is for
// before anything is served.
func (d *Door) ShareSeed(seed [32]byte) error {
	key, err := hkdf.Key(sha256.New, seed[:], nil, signInPurpose, len(seed))
	if err == nil {
		copy(d.signIns[:], key)
	}
	return err
}

// challenge makes one for that browser.
func (k *signInKey) challenge(browser string, now int64) Challenge {
	c := Challenge{Kind: SignInChallenge, Browser: browser, ExpiresMs: now + CeremonyLife.Milliseconds()}
	text := make([]byte, nonceLength, nonceLength+expiryLength+sha256.Size)
	_, _ = rand.Read(text) // never fails (crypto/rand)
	text = binary.BigEndian.AppendUint64(text, uint64(c.ExpiresMs))
	c.ID = base64.RawURLEncoding.EncodeToString(append(text, k.mac(text, browser)...))
	return c
}

// read gives the challenge that was made for that browser and is not over; its ID is the
// one spelling of it.
func (k *signInKey) read(given, browser string, now int64) (c Challenge, ok bool) {
	all, err := base64.RawURLEncoding.DecodeString(given)
	if err != nil || len(all) != nonceLength+expiryLength+sha256.Size {
		return c, false
	}
	text, mac := all[:nonceLength+expiryLength], all[nonceLength+expiryLength:]
	c = Challenge{ID: base64.RawURLEncoding.EncodeToString(all), Kind: SignInChallenge, Browser: browser,
		ExpiresMs: int64(binary.BigEndian.Uint64(text[nonceLength:]))}
	return c, hmac.Equal(mac, k.mac(text, browser)) && c.ExpiresMs > now
}

func (k *signInKey) mac(text []byte, browser string) []byte {
	h := hmac.New(sha256.New, k[:])
	h.Write(text) // always of one length
	h.Write([]byte(browser))
	return h.Sum(nil)
}
