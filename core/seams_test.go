package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/people"
)

// An address is somebody's whatever the case of its letters, but no other letter is one of
// theirs, though Unicode folds it to one.
func TestAdversary_N2_AddressesThatFold(t *testing.T) {
	t.Parallel()
	d, err := people.NewDirectory(people.Rights{People: []people.Person{{Name: "kirsten", Email: "Kirsten@example.org"}}})
	require.NoError(t, err)
	for address, want := range map[string]bool{"kirsten@EXAMPLE.org": true, "Kirsten@example.org": true,
		"\u212airsten@example.org": false, "kir\u017ften@example.org": false, "": false} {
		_, ok := d.WithEmail(address)
		require.Equal(t, want, ok, "%q", address)
	}
}

// Who comes by the cookie of a session that began long ago makes no passkey of their own with
// it, and removes none: the link, the organisation's sign-in or the passkey must be fresh.
func TestAdversary_N4_PasskeysInAnOldSession(t *testing.T) {
	t.Parallel()
	d := newSigning(t, "alice")
	long := time.Now().Add(-61 * time.Minute).UnixMilli()
	for _, s := range []core.Session{
		{ID: "a", Person: "alice", How: core.ByLink, Enrols: true, CreatedMs: long},
		{ID: "b", Person: "alice", How: core.ByOIDC, CreatedMs: long},
		{ID: "c", Person: "alice", How: core.ByPasskey, CreatedMs: long},
	} {
		p, err := d.PasskeysOf(t.Context(), s)
		require.NoError(t, err)
		require.True(t, p.Confirm, s.How)
		_, err = d.Enrol(t.Context(), s, passkeyOf(t, softkey.New(t, assertion.ES256), "mine"))
		require.Equal(t, approval.CodeStepUpRequired, approval.CodeOf(err), s.How)
		require.Equal(t, approval.CodeStepUpRequired, approval.CodeOf(d.RemovePasskey(t.Context(), s, d.keys["alice"].ID)), s.How)
		s.Person = "bob"
		_, err = d.Enrol(t.Context(), s, passkeyOf(t, softkey.New(t, assertion.ES256), "mine"))
		require.Equal(t, approval.CodeForbidden, approval.CodeOf(err), s.How)
	}
}
