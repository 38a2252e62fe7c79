package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// given gives a person a session, a link, a ceremony, a subscription and a passkey.
func given(t *testing.T, s *Store, person string) {
	t.Helper()
	require.NoError(t, s.SignIn(ctx, signedIn(person, person+"-s")))
	require.NoError(t, s.AddLink(ctx, signin.LoginLink{Hash: person + "-l", Person: person, EndsMs: 1000},
		approval.Event{AtMs: 1, Type: approval.EventLoginLink}, nil))
	later := time.Now().Add(time.Hour).UnixMilli()
	require.NoError(t, s.KeepChallenge(ctx, signin.Challenge{ID: person + "-yes", Kind: signin.YesChallenge, Person: person, ExpiresMs: later}))
	require.NoError(t, s.KeepChallenge(ctx, signin.Challenge{ID: person + "-confirm", Kind: signin.ConfirmChallenge,
		Browser: person + "-s", ExpiresMs: later}))
	require.NoError(t, s.KeepPush(ctx, signin.PushSubscription{ID: person + "-p", Person: person, Endpoint: "https://p/" + person,
		Session: person + "-s"}, 2, approval.Event{AtMs: 1, Type: approval.EventSubscribed}, nil))
	require.NoError(t, s.ChangePasskeys(ctx, person, adding(signin.Passkey{ID: person + "-k", Person: person, SignCount: 7})))
}

func goneEvents(g signin.Gone) (out []approval.Event) {
	for range len(g.Sessions) + len(g.Push) + len(g.Passkeys) {
		out = append(out, approval.Event{AtMs: 2, Type: approval.EventSignedOut})
	}
	return out
}

// testGone: what a person who is not known had ends once, and nobody else's does; a suspended
// passkey signs nothing, and nobody enrols it again.
func testGone(t *testing.T, s *Store) {
	require.NoError(t, s.Agree(ctx, "policy", false))
	given(t, s, "alice")
	given(t, s, "bob")
	gone, err := s.EndGone(ctx, []string{"alice", "bob"}, "policy", goneEvents)
	require.NoError(t, err)
	require.Empty(t, gone.Lines())
	before, err := s.Log(ctx, 0, 100)
	require.NoError(t, err)

	gone, err = s.EndGone(ctx, []string{"alice"}, "policy", goneEvents)
	require.NoError(t, err)
	require.Equal(t, []string{"bob: 1 session, 1 login link, 1 push subscription, 1 passkey"}, gone.Lines())
	require.Len(t, gone.Ceremonies, 2)
	again, err := s.EndGone(ctx, []string{"alice"}, "policy", goneEvents)
	require.NoError(t, err)
	require.Empty(t, again)
	after, err := s.Log(ctx, 0, 100)
	require.NoError(t, err)
	require.Len(t, after, len(before)+3, "on record once")

	for person, there := range map[string]bool{"alice": true, "bob": false} {
		_, session := s.Session(ctx, "cookie of "+person+"-s")
		_, link := s.Link(ctx, person+"-l")
		_, yes := s.Challenge(ctx, person+"-yes")
		_, confirm := s.Challenge(ctx, person+"-confirm")
		_, push := s.Push(ctx, person+"-p")
		_, passkey := s.Passkey(ctx, person+"-k")
		for what, err := range map[string]error{"session": session, "link": link, "yes": yes, "confirm": confirm, "push": push, "passkey": passkey} {
			require.Equal(t, there, err == nil, "%s of %s: %v", what, person, err)
		}
	}
	suspended, err := s.SuspendedPasskeys(ctx, "")
	require.NoError(t, err)
	require.Len(t, suspended, 1)
	require.Equal(t, [2]any{"bob-k", uint32(7)}, [2]any{suspended[0].ID, suspended[0].SignCount})
	require.NoError(t, s.KeepChallenge(ctx, signin.Challenge{ID: "c", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}))
	require.ErrorIs(t, s.SpendChallenge(ctx, core.PasskeyUse{Challenge: "c", Passkey: "bob-k", Before: 7, After: 8}), core.ErrSpent)
	err = s.ChangePasskeys(ctx, "alice", adding(signin.Passkey{ID: "bob-k", Person: "alice"}))
	require.Equal(t, approval.CodeIDConflict, approval.CodeOf(err))
}

// testEndOthers: the subscriptions that were not made in the session that is left end with the
// others, and those of a session that is replaced go over.
func testEndOthers(t *testing.T, s *Store) {
	for _, id := range []string{"here", "other"} {
		require.NoError(t, s.SignIn(ctx, signedIn("alice", id)))
	}
	for id, session := range map[string]string{"1": "here", "2": "other", "3": "over", "4": ""} {
		require.NoError(t, s.KeepPush(ctx, signin.PushSubscription{ID: id, Person: "alice", Endpoint: "https://p/" + id, Session: session},
			9, approval.Event{AtMs: 1, Type: approval.EventSubscribed}, nil))
	}
	_, err := s.EndSessions(ctx, signin.SessionFilter{Person: "alice", But: "here"}, nil, signedOut, unsubscribed)
	require.NoError(t, err)
	left, err := s.PushOf(ctx, "alice")
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "1", left[0].ID)
	require.NoError(t, s.SignIn(ctx, signedIn("alice", "next")))
	_, err = s.EndSessions(ctx, signin.SessionFilter{Person: "alice", ID: "here", Next: "next"}, nil, signedOut, unsubscribed)
	require.NoError(t, err)
	left, err = s.PushOf(ctx, "alice")
	require.NoError(t, err)
	require.Equal(t, "next", left[0].Session)
	_, err = s.EndSessions(ctx, signin.SessionFilter{Person: "alice", ID: "next"}, nil, signedOut, unsubscribed)
	require.NoError(t, err)
	left, err = s.PushOf(ctx, "alice")
	require.NoError(t, err)
	require.Empty(t, left)
}

// An instance that has an older configuration, or is not alone with another, ends nothing.
func TestAdversary_T8_AnOlderConfigurationEndsNothing(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	require.NoError(t, a.Agree(ctx, "old", false))
	require.NoError(t, b.Agree(ctx, "old", false))
	given(t, a, "bob")
	waits := func(s *Store, policy string) {
		t.Helper()
		gone, err := s.EndGone(ctx, nil, policy, goneEvents)
		require.NoError(t, err)
		require.True(t, gone.Waits)
		_, err = a.Link(ctx, "bob-l")
		require.NoError(t, err)
	}
	require.NoError(t, b.Agree(ctx, "new", true))
	waits(a, "old")
	waits(b, "new")
	require.NoError(t, a.Agree(ctx, "new", false))
	gone, err := a.EndGone(ctx, nil, "new", goneEvents)
	require.NoError(t, err)
	require.False(t, gone.Waits)
	_, err = b.Link(ctx, "bob-l")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
}
