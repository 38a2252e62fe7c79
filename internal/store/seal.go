package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// keyring seals calls with AES-256-GCM under a key derived for that purpose.
type keyring struct {
	id    string // names the key without telling it
	calls cipher.AEAD
	seed  [keySize]byte // what signing keys are derived from
	macs  []byte        // what the MACs of rows are made with
	store string        // the store's own id; empty: not known
	rows  *rowKey       // makes and checks MACs; nil: the store's id is not known, and no row is checked
}

func newKeyring(key []byte) (keyring, error) {
	id, err := hkdf.Key(sha256.New, key, nil, "approvalbot key id", 8)
	if err != nil {
		return keyring{}, err
	}
	purpose, err := hkdf.Key(sha256.New, key, nil, "approvalbot sealed calls", keySize)
	if err != nil {
		return keyring{}, err
	}
	block, err := aes.NewCipher(purpose)
	if err != nil {
		return keyring{}, err
	}
	calls, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return keyring{}, err
	}
	ring := keyring{id: hex.EncodeToString(id), calls: calls}
	seed, err := hkdf.Key(sha256.New, key, nil, "approvalbot signing seed", keySize)
	if err != nil {
		return keyring{}, err
	}
	copy(ring.seed[:], seed)
	ring.macs, err = hkdf.Key(sha256.New, key, nil, "approvalbot row mac", keySize)
	return ring, err
}

// seal gives "<key id>:<base64>", and for no call the empty string. The approval's
// key is bound in: a sealed call moved to another approval does not open.
func (k keyring) seal(approval string, call []byte) string {
	if call == nil {
		return ""
	}
	return k.id + ":" + base64.StdEncoding.EncodeToString(k.calls.Seal(nil, nil, call, []byte(approval)))
}

func (k keyring) open(approval, value string) ([]byte, error) {
	id, text, _ := strings.Cut(value, ":")
	if id != k.id {
		return nil, fmt.Errorf("the call of approval %s is sealed with key %q, but the store's key is %s", approval, id, k.id)
	}
	box, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the sealed call of approval %s is damaged: it is not base64", approval)
	}
	call, err := k.calls.Open(nil, nil, box, []byte(approval))
	if err != nil {
		return nil, fmt.Errorf("the sealed call of approval %s cannot be opened with the store's key: the call is "+
			"damaged, or belongs to another approval", approval)
	}
	return call, nil
}

const keySize = 32
