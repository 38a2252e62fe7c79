package proof

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// signer gives the key of a seed whose bytes are all n.
func signer(t testing.TB, n byte, p Purpose) Signer {
	t.Helper()
	var seed [32]byte
	for i := range seed {
		seed[i] = n
	}
	s, err := NewSigner(seed, p)
	require.NoError(t, err)
	return s
}

func TestKeysAreDerivedPerPurpose(t *testing.T) {
	require.Equal(t, signer(t, 1, Receipts).Public(), signer(t, 1, Receipts).Public())
	require.NotEqual(t, signer(t, 1, Receipts).Public(), signer(t, 1, Checkpoints).Public())
	require.NotEqual(t, signer(t, 1, Receipts).Public(), signer(t, 2, Receipts).Public())

	_, err := NewSigner([32]byte{}, "anything")
	require.ErrorContains(t, err, `"anything" is not one of receipt, checkpoint and tls`)
	_, err = signer(t, 1, Checkpoints).Sign(receipt())
	require.ErrorContains(t, err, "cannot sign a receipt")
	_, err = signer(t, 1, Receipts).SignCheckpoint(Checkpoint{1, strings.Repeat("0", 64), 1})
	require.ErrorContains(t, err, "cannot sign a checkpoint")
	_, err = Signer{}.Sign(receipt())
	require.Error(t, err)
}

func TestPrintingASignerTellsNoSecret(t *testing.T) {
	var seed [32]byte
	copy(seed[:], "the seed of a desk, 32 bytes long")
	s, err := NewSigner(seed, Receipts)
	require.NoError(t, err)
	signed := s.sign([]byte("x"))
	require.True(t, ed25519.Verify(s.Public(), []byte("x"), signed))
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s"} {
		require.NotContains(t, fmt.Sprintf(verb, s), "the seed")
		require.NotContains(t, fmt.Sprintf(verb, s), fmt.Sprintf("%x", seed[:8]))
	}
}

// The key of RFC 8037, appendix A.
func TestThumbprintIsTheRFCs(t *testing.T) {
	x, err := base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	require.NoError(t, err)
	const kid = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
	require.Equal(t, kid, thumbprint(x))
	b, err := JWKS(x)
	require.NoError(t, err)
	require.JSONEq(t, `{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"`+kid+`","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`, string(b))
}

func TestJWKSRoundTrip(t *testing.T) {
	now, before := signer(t, 1, Receipts).Public(), signer(t, 2, Receipts).Public()
	b, err := JWKS(now, before)
	require.NoError(t, err)
	keys, err := ParseJWKS(b)
	require.NoError(t, err)
	require.Equal(t, KeysOf(before, now), keys)

	b, err = JWKS()
	require.NoError(t, err)
	require.JSONEq(t, `{"keys":[]}`, string(b))
	_, err = JWKS(now[:31])
	require.ErrorContains(t, err, "31 bytes")
}

func TestParseJWKSRefuses(t *testing.T) {
	key := func(change func(map[string]any)) string {
		b, err := JWKS(signer(t, 1, Receipts).Public())
		require.NoError(t, err)
		var set map[string][]map[string]any
		require.NoError(t, json.Unmarshal(b, &set))
		change(set["keys"][0])
		b, err = json.Marshal(set)
		require.NoError(t, err)
		return string(b)
	}
	for name, c := range map[string]struct{ set, want string }{
		"no JSON":       {`x`, "not a JSON Web Key Set"},
		"no keys":       {`{}`, "no Ed25519 key"},
		"other kinds":   {`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`, "no Ed25519 key"},
		"another curve": {key(func(k map[string]any) { k["crv"] = "X25519" }), "no Ed25519 key"},
		"other kid":     {key(func(k map[string]any) { k["kid"] = "mine" }), "is not that key's thumbprint"},
		"no kid":        {key(func(k map[string]any) { delete(k, "kid") }), "is not that key's thumbprint"},
		"short":         {key(func(k map[string]any) { k["x"] = "AAAA" }), "key 1 of the key set is not an Ed25519 key"},
		"padded":        {key(func(k map[string]any) { k["x"] = k["x"].(string) + "=" }), "not an Ed25519 key"},
		"for HMAC":      {key(func(k map[string]any) { k["alg"] = "HS256" }), "not for EdDSA"},
		"to encrypt":    {key(func(k map[string]any) { k["use"] = "enc" }), "not for EdDSA"},
		"its secret":    {key(func(k map[string]any) { k["d"] = "AAAA" }), "secret part"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseJWKS([]byte(c.set))
			require.ErrorContains(t, err, c.want)
		})
	}
}
