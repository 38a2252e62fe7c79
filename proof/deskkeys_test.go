package proof

import (
	"crypto"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// deskKeys are what a desk of that seed has its clients pin.
func deskKeys(t *testing.T, seed byte) []DeskKey {
	return []DeskKey{DeskKeyOf(signer(t, seed, Receipts).Public()), DeskKeyOf(signer(t, seed, TLS).Public())}
}

// succeed is the succession from the keys of one seed to those of another.
func succeed(t *testing.T, from, to byte) string {
	jws, err := signer(t, from, Receipts).Succeed("https://desk.example", deskKeys(t, to), midway)
	require.NoError(t, err)
	return jws
}

func TestAdversary_T6_ClientsFollowOnlyWhatTheirPinsSigned(t *testing.T) {
	key := func(seed byte) []DeskKey { return deskKeys(t, seed) }
	chain := []string{succeed(t, 1, 2), succeed(t, 2, 3), succeed(t, 3, 4)}
	evil := succeed(t, 8, 9) // by a key that nobody pinned
	receipts := signer(t, 1, Receipts)
	asReceipt, err := receipts.Sign(receipt())
	require.NoError(t, err)
	notItsID, err := receipts.jws(successionType, succession{"d", 1, []DeskKey{{key(9)[0].ID, key(8)[0].PublicKey}}})
	require.NoError(t, err)
	empty, err := receipts.jws(successionType, succession{"d", 1, []DeskKey{}})
	require.NoError(t, err)
	for name, x := range map[string]struct {
		pins  []DeskKey
		chain []string
		want  []DeskKey
		err   string
	}{
		"the first key":                   {key(1), chain, key(4), ""},
		"from the middle":                 {key(3), chain, key(4), ""},
		"the newest":                      {key(4), chain, key(4), ""},
		"no chain":                        {key(1), nil, key(1), ""},
		"one pin of several":              {slices.Concat(key(7), key(2)), chain, key(4), ""},
		"a stranger's":                    {key(1), []string{evil}, key(1), ""},
		"broken in the middle":            {key(1), []string{chain[0], chain[2]}, key(2), ""},
		"backwards":                       {key(1), []string{chain[1], chain[0]}, key(2), ""},
		"signed by a key that is retired": {key(3), []string{succeed(t, 2, 9)}, key(3), ""},
		"retired on the way":              {key(1), append(slices.Clone(chain[:2]), succeed(t, 2, 9)), key(3), ""},
		"a receipt":                       {key(1), []string{asReceipt}, nil, "its typ is not"},
		"not a JWS":                       {key(1), []string{"x"}, nil, "compact JWS"},
		"an id of another key":            {key(1), []string{notItsID}, nil, "thumbprint"},
		"no keys":                         {key(1), []string{empty}, nil, "1 to 16 keys"},
		"spoiled":                         {key(1), []string{chain[0][:len(chain[0])-2] + "AA"}, nil, "change of keys number 1"},
		"no pins":                         {nil, chain, nil, "1 to 16 keys"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Follow(x.pins, x.chain)
			if x.err != "" {
				require.ErrorContains(t, err, x.err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, x.want, got)
		})
	}
}

func TestAdversary_T6_TheKeysOfADeskSignTheirOwnPurposeAlone(t *testing.T) {
	tlsKey, receipts := signer(t, 1, TLS), signer(t, 1, Receipts)
	require.NotEqual(t, tlsKey.KeyID(), receipts.KeyID())
	_, err := tlsKey.Sign(receipt())
	require.ErrorContains(t, err, "cannot sign a receipt")
	_, err = tlsKey.Succeed("d", deskKeys(t, 2), midway)
	require.ErrorContains(t, err, "cannot sign")
	_, err = signer(t, 1, Checkpoints).Succeed("d", deskKeys(t, 2), midway)
	require.ErrorContains(t, err, "cannot sign")
	_, err = receipts.ForTLS()
	require.ErrorContains(t, err, "cannot sign")
	k, err := tlsKey.ForTLS()
	require.NoError(t, err)
	_, err = k.Sign(nil, make([]byte, 32), crypto.SHA256)
	require.ErrorContains(t, err, "signs no hash")
}
