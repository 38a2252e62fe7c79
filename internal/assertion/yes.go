package assertion

import (
	"crypto/sha256"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Yes is what a person signs: one decision on one call, under one policy.
type Yes struct {
	ApprovalID  string `json:"approvalId"`
	Decision    string `json:"decision"`
	Fingerprint string `json:"fingerprint"` // of the call
	Nonce       string `json:"nonce"`       // the desk's, for one ceremony
	Person      string `json:"person"`
	PolicyHash  string `json:"policyHash"`
}

// Challenge is what the authenticator is given to sign: SHA-256 of the yes as RFC 8785
// JSON.
func (y Yes) Challenge() []byte {
	form, err := json.Marshal(y, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = (*jsontext.Value)(&form).Canonicalize()
	}
	if err != nil { // six texts always marshal
		panic(err)
	}
	sum := sha256.Sum256(form)
	return sum[:]
}
