package store

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// adding is a change that adds a passkey.
func adding(p signin.Passkey) func([]signin.Passkey) (signin.PasskeyChange, error) {
	return func([]signin.Passkey) (signin.PasskeyChange, error) {
		return signin.PasskeyChange{Add: &p, Events: []approval.Event{{AtMs: 1, Type: approval.EventPasskeyEnrolled}}}, nil
	}
}

// testPasskeys: passkeys come and go with their events; a ceremony ends once, and a
// passkey's count goes on from what was checked or not at all.
func testPasskeys(t *testing.T, s *Store) {
	p := signin.Passkey{ID: "cred", Person: "ålice", Name: "phone", PublicKey: "key", Algorithm: -7, SignCount: 4_000_000_000,
		BackupEligible: true, BackedUp: true, CreatedMs: 5}
	require.NoError(t, s.ChangePasskeys(ctx, "ålice", adding(p)))
	got, err := s.Passkey(ctx, "cred")
	require.NoError(t, err)
	require.Equal(t, p, got)
	other := signin.Passkey{ID: "other", Person: "bob", CreatedMs: 4}
	require.NoError(t, s.ChangePasskeys(ctx, "bob", adding(other)))
	require.Equal(t, approval.CodeIDConflict, approval.CodeOf(s.ChangePasskeys(ctx, "bob", adding(signin.Passkey{ID: "cred", Person: "bob"}))))
	all, err := s.Passkeys(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []signin.Passkey{other, p}, all)
	no := errors.New("no")
	require.Same(t, no, s.ChangePasskeys(ctx, "bob", func(held []signin.Passkey) (signin.PasskeyChange, error) {
		require.Equal(t, []signin.Passkey{other}, held)
		return signin.PasskeyChange{}, no
	}))
	for _, id := range []string{"unknown", "\x00", ""} {
		_, err = s.Passkey(ctx, id)
		require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
		_, err = s.Challenge(ctx, id)
		require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	}

	later := time.Now().Add(time.Hour).UnixMilli()
	c := signin.Challenge{ID: "c", Kind: signin.YesChallenge, Browser: "b", Person: "ålice", Approval: "k", Data: []byte{0, 255}, ExpiresMs: later}
	require.NoError(t, s.KeepChallenge(ctx, c))
	kept, err := s.Challenge(ctx, "c")
	require.NoError(t, err)
	require.Equal(t, c, kept)
	use := core.PasskeyUse{Challenge: "c", Passkey: "cred", Before: 3, After: 4_000_000_002, AtMs: 9}
	require.ErrorIs(t, s.SpendChallenge(ctx, use), core.ErrSpent)
	_, err = s.Challenge(ctx, "c")
	require.NoError(t, err, "nothing of it was written")
	use.Before = 4_000_000_000
	require.NoError(t, s.SpendChallenge(ctx, use))
	require.ErrorIs(t, s.SpendChallenge(ctx, use), core.ErrSpent)
	got, err = s.Passkey(ctx, "cred")
	require.NoError(t, err)
	require.EqualValues(t, 4_000_000_002, got.SignCount)
	require.EqualValues(t, 9, got.UsedMs)
	require.False(t, got.BackedUp)

	require.NoError(t, s.KeepChallenge(ctx, signin.Challenge{ID: "old", Kind: signin.YesChallenge, ExpiresMs: 1}))
	_, err = s.Challenge(ctx, "old")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	_, err = s.Sweep(ctx, later-1, Keep{})
	require.NoError(t, err)
	require.Zero(t, count(t, s, "SELECT COUNT(*) FROM ceremonies"))

	require.NoError(t, s.ChangePasskeys(ctx, "bob", func([]signin.Passkey) (signin.PasskeyChange, error) {
		return signin.PasskeyChange{Remove: "cred"}, nil
	}))
	_, err = s.Passkey(ctx, "cred")
	require.NoError(t, err, "it is not bob's")
	log, err := s.Log(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, log, 2)
}

// A vote whose signature was used meanwhile leaves nothing, and the passkey's use goes
// with the vote.
func testSpending(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{})
	require.NoError(t, s.ChangePasskeys(ctx, "alice", adding(signin.Passkey{ID: "cred", Person: "alice"})))
	keep := func() {
		require.NoError(t, s.KeepChallenge(ctx, signin.Challenge{ID: "c", Kind: signin.YesChallenge,
			ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}))
	}
	signed := func(a approval.Approval) (core.Change, error) {
		a.Reason = "signed"
		return core.Change{Approval: a, Events: []approval.Event{event(a, approval.EventVote)},
			Passkey: &core.PasskeyUse{Challenge: "c", Passkey: "cred", Before: 0, After: 1, AtMs: 7}}, nil
	}
	_, err := s.Update(ctx, a.Key, signed)
	require.ErrorIs(t, err, core.ErrSpent, "there is no such ceremony")
	keep()
	after, err := s.Update(ctx, a.Key, signed)
	require.NoError(t, err)
	require.Equal(t, "signed", after.Reason)
	keep()
	_, err = s.Update(ctx, a.Key, signed)
	require.ErrorIs(t, err, core.ErrSpent, "the passkey has counted on")
	_, err = s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
		return core.Change{Approval: a, Unchanged: true, Passkey: &core.PasskeyUse{Challenge: "c"}}, nil
	})
	require.NoError(t, err)
	_, err = s.Challenge(ctx, "c")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "what was refused ends the ceremony too")
	log, err := s.Log(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, log, 2)
}

// Whoever begins very many ceremonies, as anybody may, keeps nobody else from beginning one.
func TestAdversary_N4_ManyCeremonies(t *testing.T) {
	t.Parallel()
	s := openInMemory(t)
	soon := time.Now().Add(time.Hour).UnixMilli()
	yes := signin.Challenge{ID: "yes", Kind: signin.YesChallenge, ExpiresMs: soon - 1}
	require.NoError(t, s.KeepChallenge(ctx, yes))
	for i := range maxCeremonies + 3 {
		require.NoError(t, s.KeepChallenge(ctx, signin.Challenge{ID: strconv.Itoa(i), Kind: signin.SignInChallenge,
			ExpiresMs: soon + int64(i)}))
	}
	require.EqualValues(t, maxCeremonies+1, count(t, s, "SELECT COUNT(*) FROM ceremonies"))
	_, err := s.Challenge(ctx, "2")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "the oldest made room")
	for _, id := range []string{"3", strconv.Itoa(maxCeremonies + 2), "yes"} {
		_, err = s.Challenge(ctx, id)
		require.NoError(t, err, id)
	}
}

// Of several instances one spends a ceremony.
func TestPasskeysOfSeveralInstances(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	require.NoError(t, a.ChangePasskeys(ctx, "alice", adding(signin.Passkey{ID: "cred", Person: "alice"})))
	require.NoError(t, b.KeepChallenge(ctx, signin.Challenge{ID: "c", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}))
	var wg sync.WaitGroup
	errs := make(chan error, 20)
	for range 10 {
		for _, s := range []*Store{a, b} {
			wg.Go(func() { errs <- s.SpendChallenge(ctx, core.PasskeyUse{Challenge: "c", Passkey: "cred", After: 1}) })
		}
	}
	wg.Wait()
	close(errs)
	good := 0
	for err := range errs {
		if good++; err != nil {
			require.ErrorIs(t, err, core.ErrSpent)
			good--
		}
	}
	require.Equal(t, 1, good)
}
