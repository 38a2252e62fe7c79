package store

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// signedIn is a sign-in of a person with a session of that name.
func signedIn(person, id string) signin.SignedIn {
	return signin.SignedIn{
		Session: signin.Session{ID: id, Person: person, How: signin.ByLink, Browser: "Firefox", CreatedMs: 100, UsedMs: 100,
			EndsMs: 1000, Enrols: true},
		Cookie: "cookie of " + id, Event: approval.Event{AtMs: 100, Type: approval.EventSignIn},
	}
}

func signedOut(signin.Session) approval.Event {
	return approval.Event{AtMs: 200, Type: approval.EventSignedOut}
}

// testSessions: a session is found by its cookie, used and ended; what ends it is on
// record, once.
func testSessions(t *testing.T, s *Store) {
	in := signedIn("alice", "s1")
	in.Notices = []core.Notice{{ID: "n1", Target: approval.Target{Channel: "telegram", To: "1"}, Text: "hello", Session: "s1",
		CreatedMs: 100, DueMs: 100}}
	require.NoError(t, s.SignIn(ctx, in))
	require.NoError(t, s.SignIn(ctx, signedIn("alice", "s2")))
	require.NoError(t, s.SignIn(ctx, signedIn("bob", "s3")))
	got, err := s.Session(ctx, "cookie of s1")
	require.NoError(t, err)
	require.Equal(t, in.Session, got)
	_, err = s.Session(ctx, "s1")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))

	require.NoError(t, s.TouchSession(ctx, "s1", 150))
	require.NoError(t, s.TouchSession(ctx, "s1", 140), "another instance's clock")
	got, err = s.Session(ctx, "cookie of s1")
	require.NoError(t, err)
	require.EqualValues(t, 150, got.UsedMs)

	ended, err := s.EndSessions(ctx, signin.SessionFilter{Person: "bob", ID: "s1"}, nil, signedOut, unsubscribed)
	require.NoError(t, err)
	require.Empty(t, ended, "another person's")
	ended, err = s.EndSessions(ctx, signin.SessionFilter{Person: "alice", But: "s2"}, nil, signedOut, unsubscribed)
	require.NoError(t, err)
	require.Len(t, ended, 1)
	all, err := s.Sessions(ctx, "alice")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, s.TouchSession(ctx, "s1", 160))
	_, err = s.Session(ctx, "cookie of s1")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "a use does not bring it back")
	log, err := s.Log(ctx, 0, 100)
	require.NoError(t, err)
	require.Len(t, log, 4)
}

// testNotices: a notice stays in the outbox until it is posted, whatever else happens.
func testNotices(t *testing.T, s *Store) {
	in := signedIn("alice", "s1")
	for i := range 2 {
		in.Notices = append(in.Notices, core.Notice{ID: fmt.Sprint(i), Target: approval.Target{Channel: "discord", To: "dm:7"},
			Text: "hello", Session: "s1", CreatedMs: 100, DueMs: 100})
	}
	require.NoError(t, s.SignIn(ctx, in))
	all, err := s.Notices(ctx, 10)
	require.NoError(t, err)
	require.Equal(t, in.Notices, all)
	require.NoError(t, s.NoticeTried(ctx, all[0], 500))
	require.NoError(t, s.NoticeTried(ctx, all[1], 0))
	all, err = s.Notices(ctx, 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.EqualValues(t, 500, all[0].DueMs)
	require.Equal(t, 1, all[0].Attempts)
}

// testSpent: a link signs in once and in time, and so does whatever else proves a person.
func testSpent(t *testing.T, s *Store) {
	link := signin.LoginLink{Hash: "h", Person: "alice", By: "token:t", Enrols: true, EndsMs: 101}
	made := approval.Event{AtMs: 1, Type: approval.EventLoginLink}
	ref := &approval.InboundRef{Source: "telegram:1", ID: 5}
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{{InboundRef: *ref, Body: []byte("{}")}}))
	require.NoError(t, s.AddLink(ctx, link, made, ref))
	require.ErrorIs(t, s.AddLink(ctx, signin.LoginLink{Hash: "h2"}, made, ref), approval.ErrHandled)
	got, err := s.Link(ctx, "h")
	require.NoError(t, err)
	require.Equal(t, link, got)

	late := signedIn("alice", "late")
	late.Link, late.Session.CreatedMs = "h", 101
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(s.SignIn(ctx, late)))
	in := signedIn("alice", "s1")
	in.Link, in.Once, in.OnceMs = "h", "o", 900
	require.NoError(t, s.SignIn(ctx, in))
	again := signedIn("alice", "s2")
	again.Link = "h"
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(s.SignIn(ctx, again)))
	again.Link, again.Once = "", "o"
	require.Equal(t, approval.CodeAlreadyUsed, approval.CodeOf(s.SignIn(ctx, again)))

	require.NoError(t, s.AddLink(ctx, signin.LoginLink{Hash: "old", EndsMs: 50}, made, nil))
	_, err = s.Sweep(ctx, 900+clocksApartMs, Keep{})
	require.NoError(t, err)
	_, err = s.Link(ctx, "old")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	_, err = s.Session(ctx, in.Cookie)
	require.NoError(t, err, "it still holds")
	require.NoError(t, s.SignIn(ctx, again), "it need not be remembered any longer")
	_, err = s.Sweep(ctx, 1000+clocksApartMs, Keep{})
	require.NoError(t, err)
	_, err = s.Session(ctx, in.Cookie)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
}

// Of clicks at the same time on one link, on any instance, one signs in.
func TestAdversary_N2_ALinkIsSpentOnceByInstances(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	require.NoError(t, a.AddLink(ctx, signin.LoginLink{Hash: "h", Person: "alice", EndsMs: 1000}, approval.Event{AtMs: 1,
		Type: approval.EventLoginLink}, nil))
	var wg sync.WaitGroup
	var won atomic.Int32
	for i := range 8 {
		for n, s := range []*Store{a, b} {
			wg.Go(func() {
				in := signedIn("alice", fmt.Sprint(i, n))
				in.Link = "h"
				switch err := s.SignIn(ctx, in); {
				case err == nil:
					won.Add(1)
				default:
					require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
				}
			})
		}
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
	all, err := b.Sessions(ctx, "alice")
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func unsubscribed(signin.PushSubscription) approval.Event {
	return approval.Event{AtMs: 200, Type: approval.EventPushEnded}
}
