package signin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func TestPairing_AnswersOnce(t *testing.T) {
	const began = int64(1_000_000)
	alice := PairingWho{Chat: approval.Target{Channel: "telegram", To: "-5"}, UserID: "1", Name: "Alice"}
	mallory := PairingWho{Chat: approval.Target{Channel: "telegram", To: "-6"}, UserID: "9", Name: "Alice"}
	type try struct {
		code  string
		who   PairingWho
		at    int64
		right bool
	}
	wrong := func(n int) (all []try) {
		for range n {
			all = append(all, try{"00000000", mallory, began, false})
		}
		return all
	}
	life := pairingLife.Milliseconds()
	for name, tt := range map[string]struct {
		tries []try
		at    int64
		ends  PairingStatus
		by    string
	}{
		"nobody yet":     {nil, began, PairingWaiting, ""},
		"the right code": {[]try{{"K7QX2M4P", alice, began, true}}, began, PairingAnswered, "1"},
		"after four wrong ones": {
			append(wrong(4), try{"K7QX2M4P", alice, began, true}), began, PairingAnswered, "1",
		},
		"the fifth wrong one ends it": {
			append(wrong(5), try{"K7QX2M4P", alice, began, false}), began, PairingFailed, "",
		},
		"not twice": {
			[]try{{"K7QX2M4P", alice, began, true}, {"K7QX2M4P", mallory, began, false}}, began, PairingAnswered, "1",
		},
		"wrong ones after it": {
			append([]try{{"K7QX2M4P", alice, began, true}}, wrong(6)...), began, PairingAnswered, "1",
		},
		"in the last moment": {
			[]try{{"K7QX2M4P", alice, began + life - 1, true}}, began + life, PairingAnswered, "1",
		},
		"too late": {
			[]try{{"K7QX2M4P", alice, began + life, false}}, began + life, PairingExpired, "",
		},
		"accepting has its time, too": {[]try{{"K7QX2M4P", alice, began, true}}, began + life, PairingExpired, "1"},
		"a part of it is not it": {
			[]try{{"K7QX2M4", alice, began, false}, {"", alice, began, false}}, began, PairingWaiting, "",
		},
		"nor is it with something added": {[]try{{"K7QX2M4P0", alice, began, false}}, began, PairingWaiting, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPairing("id", "K7QX2M4P", began)
			for _, x := range tt.tries {
				var right bool
				p, right = p.answer(x.code, x.who, x.at)
				require.Equal(t, x.right, right)
			}
			require.Equal(t, tt.ends, p.Status(tt.at))
			require.Equal(t, tt.by == "", p.Answer == nil)
			if p.Answer != nil {
				require.Equal(t, tt.by, p.Answer.UserID)
			}
		})
	}
}

// No code is right for a pairing that is not there.
func TestPairing_NoneHasNoCode(t *testing.T) {
	for _, code := range []string{"", "?", "00000000"} {
		_, right := Pairing{}.answer(code, PairingWho{}, 0)
		require.False(t, right)
	}
}

func TestPairing_Codes(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		code := newPairingCode()
		require.Len(t, code, PairingCodeLength)
		require.Empty(t, strings.Trim(code, core.CodeAlphabet))
		require.False(t, seen[code])
		seen[code] = true
	}
	require.NotContains(t, newPairing("id", "K7QX2M4P", 0).CodeHash, "K7QX2M4P")
}
