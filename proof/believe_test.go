package proof

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

func TestAdversary_T6_OnlyTheAskedClaimIsBelieved(t *testing.T) {
	s, other := signer(t, 1, Receipts), signer(t, 2, Receipts)
	sign := func(s Signer, claimID string) string {
		a := claimed()
		a.ClaimID = claimID
		r, err := ReceiptFor(a, "https://desk.example")
		require.NoError(t, err)
		jws, err := s.Sign(r)
		require.NoError(t, err)
		return jws
	}
	asked := Asked{ToolName: "exec", Params: json.RawMessage(`{"argv":["git","push"]}`), ClaimID: "mine"}
	type try struct {
		receipt string
		pins    []ed25519.PublicKey
		asked   Asked
		now     time.Time
		why     string
	}
	good := try{sign(s, "mine"), []ed25519.PublicKey{signer(t, 3, Receipts).Public(), s.Public()}, asked, midway, ""}
	with := func(change func(*try)) try {
		x := good
		change(&x)
		return x
	}
	end := time.UnixMilli(untilMs)
	for name, x := range map[string]try{
		"the asked call":       good,
		"a slow clock":         with(func(x *try) { x.now = time.UnixMilli(issuedMs).Add(-59 * time.Second) }),
		"a fast clock":         with(func(x *try) { x.now = end.Add(59 * time.Second) }),
		"no receipt":           with(func(x *try) { x.receipt, x.why = "", "without a receipt" }),
		"another desk's":       with(func(x *try) { x.receipt, x.why = sign(other, "mine"), "not signed with a pinned key" }),
		"no pins":              with(func(x *try) { x.pins, x.why = nil, "not signed with a pinned key" }),
		"another claim":        with(func(x *try) { x.receipt, x.why = sign(s, "theirs"), "another claim" }),
		"a call back":          with(func(x *try) { x.receipt, x.why = sign(s, ""), "another claim" }),
		"this token":           with(func(x *try) { x.asked.Owner = "main-agent" }),
		"another token":        with(func(x *try) { x.asked.Owner, x.why = "other", "another token" }),
		"a claim without name": with(func(x *try) { x.receipt, x.asked.ClaimID, x.why = sign(s, ""), "", "has no claimId" }),
		"other params": with(func(x *try) {
			x.asked.Params, x.why = json.RawMessage(`{"argv":["git","push","-f"]}`), "another call"
		}),
		"another tool":  with(func(x *try) { x.asked.ToolName, x.why = "write", "another call" }),
		"another place": with(func(x *try) { x.asked.Bind, x.why = &approval.Bind{Workdir: new("/w")}, "another call" }),
		"params that are none": with(func(x *try) {
			x.asked.Params, x.why = json.RawMessage(`{"a":1,"a":2}`), "cannot be checked"
		}),
		"too late":  with(func(x *try) { x.now, x.why = end.Add(time.Minute), "expired" }),
		"too early": with(func(x *try) { x.now, x.why = time.UnixMilli(issuedMs).Add(-62*time.Second), "not valid yet" }),
		"cut":       with(func(x *try) { x.receipt, x.why = x.receipt[:len(x.receipt)-2], "not valid" }),
		"a desk's other text": with(func(x *try) {
			jws, err := s.jws("JWT", receipt())
			require.NoError(t, err)
			x.receipt, x.why = jws, "typ is not"
		}),
	} {
		t.Run(name, func(t *testing.T) {
			err := Believe(x.receipt, x.pins, x.asked, x.now)
			if x.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, x.why)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
