package signin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// A pairing code is good once, for five minutes and five tries.
func TestPairing(t *testing.T) {
	d := newRig(t)
	chat := approval.Target{Channel: "telegram", To: "-100"}
	admin := core.Caller{Token: "ops", MayAdmin: true}
	p, code, err := d.StartPairing(t.Context(), admin)
	require.NoError(t, err)
	right, err := d.Pair(
		t.Context(), approval.Voter{Channel: "telegram", UserID: "5"}, "WRONG000",
		signin.PairingWho{Chat: chat, UserID: "5"}, nil,
	)
	require.NoError(t, err)
	require.False(t, right)
	right, err = d.Pair(
		t.Context(), approval.Voter{Channel: "telegram", UserID: "5"}, code, signin.PairingWho{Chat: chat, UserID: "5"}, nil,
	)
	require.NoError(t, err)
	require.True(t, right)
	p, err = d.PairingOf(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, "5", p.Answer.UserID)
	_, err = d.PairingOf(t.Context(), "older")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
}
