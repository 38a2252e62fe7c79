package signin_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// A first passkey is made after an operator's link or the organisation's sign-in, further
// ones by whoever has one; never by who came through a chat's link.
func TestPasskeys_WhoMayEnrol(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	chat := signin.Session{ID: "chat", Person: "alice", How: "link"}
	first, second := softkey.New(t, assertion.ES256), softkey.New(t, assertion.EdDSA)
	_, err := d.Enrol(t.Context(), chat, passkeyOf(t, first, "mine"))
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
	_, err = d.Enrol(t.Context(), begun(signin.Session{ID: "passkey", Person: "alice", How: "passkey"}), passkeyOf(t, first, "mine"))
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err), "there is none by which it could be signed in")
	enrols := begun(signin.Session{ID: "link", Person: "alice", How: "link", Enrols: true})
	p, err := d.Enrol(t.Context(), enrols, passkeyOf(t, first, "  my\u202e phone "))
	require.NoError(t, err)
	require.NotContains(t, p.Name, "\u202e")
	require.Len(t, d.events(t, approval.EventPasskeyEnrolled), 1)
	told, err := d.store.Notices(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, told, 1)
	require.Equal(t, approval.Target{Channel: "telegram", To: "1"}, told[0].Target)
	require.Contains(t, told[0].Text, "A passkey was made for you")

	for _, s := range []signin.Session{chat, enrols, begun(signin.Session{ID: "oidc", Person: "alice", How: "oidc"})} {
		_, err = d.Enrol(t.Context(), s, passkeyOf(t, second, "second"))
		require.Equal(t, approval.CodeStepUpRequired, approval.CodeOf(err), s.How)
	}
	require.Equal(t, approval.CodeStepUpRequired, approval.CodeOf(d.RemovePasskey(t.Context(), chat, first.ID)))
	c, err := d.BeginCeremony(t.Context(), signin.ConfirmChallenge, chat.ID)
	require.NoError(t, err)
	require.NoError(t, d.Confirm(t.Context(), chat, c.ID, first.Sign(t, d.rules.Site, decode64(t, c.ID))))
	_, err = d.Enrol(t.Context(), chat, passkeyOf(t, second, "second"))
	require.NoError(t, err)
	_, err = d.Enrol(t.Context(), chat, passkeyOf(t, second, "again"))
	require.Equal(t, approval.CodeIDConflict, approval.CodeOf(err))
	_, err = d.Enrol(t.Context(), begun(signin.Session{ID: "b", Person: "bob", Enrols: true}), passkeyOf(t, first, "alice's"))
	require.Equal(t, approval.CodeIDConflict, approval.CodeOf(err), "another's stays another's")
	_, err = d.Enrol(t.Context(), begun(signin.Session{ID: "m", Person: "mallory", Enrols: true}), passkeyOf(t, softkey.New(t, assertion.ES256), ""))
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err), "nobody whom the configuration does not name")

	require.NoError(t, d.RemovePasskey(t.Context(), enrols, first.ID), "an operator's link removes what was lost")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(d.RemovePasskey(t.Context(), enrols, first.ID)))
	require.Len(t, d.events(t, approval.EventPasskeyRemoved), 1)
	held, err := d.PasskeysOf(t.Context(), chat)
	require.NoError(t, err)
	require.Equal(t, []string{"second"}, names(held.Held))
}

func names(all []signin.Passkey) (out []string) {
	for _, p := range all {
		out = append(out, p.Name)
	}
	return out
}

// Two first passkeys at the same time are one.
func TestPasskeys_TwoAtOnce(t *testing.T) {
	t.Parallel()
	d := newRig(t)
	s := begun(signin.Session{ID: "link", Person: "alice", Enrols: true})
	var all sync.WaitGroup
	errs := make(chan error, 4)
	for range cap(errs) {
		p := passkeyOf(t, softkey.New(t, assertion.ES256), "phone")
		all.Go(func() {
			_, err := d.Enrol(t.Context(), s, p)
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	var codes []approval.Code
	for err := range errs {
		codes = append(codes, approval.CodeOf(err))
	}
	slices.Sort(codes)
	require.Equal(t, []approval.Code{"", approval.CodeStepUpRequired, approval.CodeStepUpRequired, approval.CodeStepUpRequired}, codes)
}

// A passkey signs in once for each challenge, from the browser that asked.
func TestAdversary_N4_SignIn(t *testing.T) {
	t.Parallel()
	d := newRig(t, "alice")
	begin := func(kind signin.ChallengeKind) signin.Challenge {
		c, err := d.BeginCeremony(t.Context(), kind, "browser")
		require.NoError(t, err)
		return c
	}
	answer := func(c signin.Challenge) assertion.Response {
		return d.keys["alice"].Sign(t, d.rules.Site, decode64(t, c.ID))
	}
	c := begin(signin.SignInChallenge)
	r := answer(c)
	who, err := d.SignInByPasskey(t.Context(), "browser", c.ID, r)
	require.NoError(t, err)
	require.Equal(t, "alice", who)
	for name, try := range map[string]func() error{
		"replayed": func() error {
			_, err := d.SignInByPasskey(t.Context(), "browser", c.ID, r)
			return err
		},
		"another browser": func() error {
			c := begin(signin.SignInChallenge)
			_, err := d.SignInByPasskey(t.Context(), "other", c.ID, answer(c))
			return err
		},
		"another challenge": func() error {
			_, err := d.SignInByPasskey(t.Context(), "browser", begin(signin.SignInChallenge).ID, answer(begin(signin.SignInChallenge)))
			return err
		},
		"a challenge of another kind": func() error {
			c := begin(signin.ConfirmChallenge)
			_, err := d.SignInByPasskey(t.Context(), "browser", c.ID, answer(c))
			return err
		},
		"an unknown key": func() error {
			c := begin(signin.SignInChallenge)
			_, err := d.SignInByPasskey(t.Context(), "browser", c.ID, softkey.New(t, assertion.ES256).Sign(t, d.rules.Site, decode64(t, c.ID)))
			return err
		},
		"a yes": func() error {
			nonce, _, err := d.KeepCeremony(t.Context(), core.Ceremony{Session: "of-alice", Person: "alice", Approval: "a"})
			require.NoError(t, err)
			signed := d.keys["alice"].Sign(t, d.rules.Site, assertion.Yes{ApprovalID: "a", Nonce: nonce, Person: "alice"}.Challenge())
			_, err = d.SignInByPasskey(t.Context(), "of-alice", nonce, signed)
			return err
		},
	} {
		require.Equal(t, approval.CodeForbidden, approval.CodeOf(try()), name)
	}
	d.use(func(r *core.Rules) {
		people, err := people.NewDirectory(people.Rights{People: []people.Person{{Name: "bob"}}})
		require.NoError(t, err)
		r.People = people
	})
	c = begin(signin.SignInChallenge)
	_, err = d.SignInByPasskey(t.Context(), "browser", c.ID, answer(c))
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err), "a person who was removed")
}

// Who comes by the cookie of a session that began long ago makes no passkey of their own with
// it, and removes none: the link, the organisation's sign-in or the passkey must be fresh.
func TestAdversary_N4_PasskeysInAnOldSession(t *testing.T) {
	t.Parallel()
	d := newRig(t, "alice")
	long := time.Now().Add(-61 * time.Minute).UnixMilli()
	for _, s := range []signin.Session{
		{ID: "a", Person: "alice", How: signin.ByLink, Enrols: true, CreatedMs: long},
		{ID: "b", Person: "alice", How: signin.ByOIDC, CreatedMs: long},
		{ID: "c", Person: "alice", How: signin.ByPasskey, CreatedMs: long},
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
