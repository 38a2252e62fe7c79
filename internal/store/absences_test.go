package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/store/pgtest"
)

// leaving says that somebody is away; back that they are not.
func leaving(a people.Absence) func(people.Absences) (core.AbsenceChange, error) {
	return func(people.Absences) (core.AbsenceChange, error) {
		return core.AbsenceChange{Person: a.Person, Absence: &a, Event: approval.Event{AtMs: 1, Type: approval.EventAway, Data: []byte("{}")}}, nil
	}
}

func back(person string) func(people.Absences) (core.AbsenceChange, error) {
	return func(people.Absences) (core.AbsenceChange, error) {
		return core.AbsenceChange{Person: person, Event: approval.Event{AtMs: 2, Type: approval.EventBack, Data: []byte("{}")}}, nil
	}
}

// testAbsences: one row a person, another revision for every change, its event in the same
// commit, and a platform update once.
func testAbsences(t *testing.T, s *Store) {
	none, err := s.Absences(ctx)
	require.NoError(t, err)
	require.Equal(t, people.Absences{Revision: 1}, none)

	alice := people.Absence{Person: "alice", To: "bob", SinceMs: 5, UntilMs: 9, By: "person:alice"}
	bob := people.Absence{Person: "bob", SinceMs: 6, UntilMs: 7, By: "token:ops"}
	after, err := s.Absent(ctx, nil, leaving(bob))
	require.NoError(t, err)
	require.EqualValues(t, 2, after.Revision)
	ref := &approval.InboundRef{Source: "telegram:1", ID: 5}
	require.NoError(t, s.SaveInbound(ctx, []approval.Inbound{{InboundRef: *ref, Body: []byte("{}")}}))
	after, err = s.Absent(ctx, ref, leaving(alice))
	require.NoError(t, err)
	require.Equal(t, people.Absences{Revision: 3, All: []people.Absence{alice, bob}}, after)
	_, err = s.Absent(ctx, ref, back("alice"))
	require.ErrorIs(t, err, approval.ErrHandled)
	refused := approval.Refuse(approval.CodeInvalidRequest, "no")
	_, err = s.Absent(ctx, nil, func(all people.Absences) (core.AbsenceChange, error) {
		require.Equal(t, after, all)
		return core.AbsenceChange{Person: "alice"}, refused
	})
	require.ErrorIs(t, err, refused)
	same, err := s.Absent(ctx, nil, func(people.Absences) (core.AbsenceChange, error) { return core.AbsenceChange{}, nil })
	require.NoError(t, err)
	require.Equal(t, after, same, "nothing changes nothing")

	alice.UntilMs = 20
	_, err = s.Absent(ctx, nil, leaving(alice))
	require.NoError(t, err)
	after, err = s.Absent(ctx, nil, back("bob"))
	require.NoError(t, err)
	require.Equal(t, people.Absences{Revision: 5, All: []people.Absence{alice}}, after)
	read, err := s.Absences(ctx)
	require.NoError(t, err)
	require.Equal(t, after, read)
	log, err := s.Log(ctx, 0, 100)
	require.NoError(t, err)
	require.Len(t, log, 5, "and the update")
	_, _, err = s.Verify(ctx)
	require.NoError(t, err)

	// A yes is counted under the newest or not at all.
	a := create(t, s, pendingApproval("bot"), core.Change{})
	vote := func(revision int64) error {
		_, err := s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
			a.Reason = strconv.FormatInt(revision, 10)
			return core.Change{Approval: a, Absences: revision, Events: []approval.Event{{Type: approval.EventVote, Data: []byte("{}")}}}, nil
		})
		return err
	}
	for _, old := range []int64{4, -1, 6} {
		require.ErrorIs(t, vote(old), core.ErrAbsences)
	}
	require.NoError(t, vote(0), "what counts none says so")
	require.NoError(t, vote(5))
	got, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.Equal(t, "5", got.Reason)
	require.EqualValues(t, 3, got.Version, "what was refused wrote nothing")

	// What cannot be read lends nothing, and nothing is counted.
	require.NoError(t, s.do(ctx, func(t *tx) error { return t.put(setMeta, absencesName, "many") }))
	_, err = s.Absences(ctx)
	require.ErrorContains(t, err, `count of changes to absences is "many"`)
	require.ErrorContains(t, vote(5), "many")
	_, err = s.Absent(ctx, nil, back("alice"))
	require.Error(t, err)
}

// Who is away can be read from outside, on either engine, and where nothing is there yet.
func TestLookAbsences(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	none, err := LookAbsences(ctx, Options{URL: url})
	require.NoError(t, err)
	require.Empty(t, none.All)
	alice := people.Absence{Person: "alice", To: "bob", SinceMs: 5, UntilMs: 9, By: "person:alice"}
	_, err = openPG(t, url).Absent(ctx, nil, leaving(alice))
	require.NoError(t, err)
	all, err := LookAbsences(ctx, Options{URL: url})
	require.NoError(t, err)
	require.Equal(t, []people.Absence{alice}, all.All)
	for _, nowhere := range []string{"sqlite::memory:", "sqlite:" + filepath.Join(t.TempDir(), "none.db")} {
		none, err = LookAbsences(ctx, Options{URL: nowhere})
		require.NoError(t, err)
		require.Empty(t, none.All)
	}
	_, err = LookAbsences(ctx, Options{URL: "postgres://:::"})
	require.Error(t, err)
}

// testAbsencesUnderVotes: whoever votes while people leave and come back, every vote stands
// in the log between the change of the absences that it counts under and the next one.
func testAbsencesUnderVotes(t *testing.T, s *Store) { absencesUnderVotes(t, s, s) }

// TestAdversary_D3_AbsencesOfSeveralInstances: and on whichever instance.
func TestAdversary_D3_AbsencesOfSeveralInstances(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	absencesUnderVotes(t, a, b)
}

func absencesUnderVotes(t *testing.T, here, there *Store) {
	const rounds = 30
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range rounds {
			change := leaving(people.Absence{Person: "alice", To: "bob", UntilMs: 9})
			if i%2 == 1 {
				change = back("alice")
			}
			_, err := here.Absent(ctx, nil, change)
			require.NoError(t, err)
		}
	})
	for range 4 {
		a := create(t, here, pendingApproval("bot"), core.Change{})
		wg.Go(func() {
			for range rounds {
				all, err := there.Absences(ctx)
				require.NoError(t, err)
				_, err = there.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) {
					vote := approval.Event{Type: approval.EventVote, Key: a.Key, Data: fmt.Appendf(nil, `{"under":%d}`, all.Revision)}
					return core.Change{Approval: a, Absences: all.Revision, Events: []approval.Event{vote}}, nil
				})
				if !errors.Is(err, core.ErrAbsences) {
					require.NoError(t, err)
				}
			}
		})
	}
	wg.Wait()
	log, err := there.Log(ctx, 0, 10*rounds)
	require.NoError(t, err)
	revision, votes := int64(1), 0
	for _, e := range log {
		switch e.Type {
		case approval.EventAway, approval.EventBack:
			revision++
		case approval.EventVote:
			var said struct{ Under int64 }
			require.NoError(t, json.Unmarshal(e.Data, &said))
			require.Equal(t, revision, said.Under, "record %d", e.Seq)
			votes++
		}
	}
	require.EqualValues(t, rounds+1, revision)
	require.Positive(t, votes)
}
