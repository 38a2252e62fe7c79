package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/store/pgtest"
)

func TestSQLiteOnDisk(t *testing.T) {
	t.Parallel()
	testStore(t, func(t *testing.T) *Store { return openDisk(t, t.TempDir()) })
}

func TestSQLiteInMemory(t *testing.T) {
	t.Parallel()
	testStore(t, func(t *testing.T) *Store { return openInMemory(t) })
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	testStore(t, func(t *testing.T) *Store { return openPG(t, pgtest.New(t)) })
}

// testStore is what every engine must do. open gives a new, running store.
func testStore(t *testing.T, open func(t *testing.T) *Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *Store)
	}{
		{"round trip", testRoundTrip},
		{"update", testUpdate},
		{"refusals write nothing", testRefusals},
		{"inconsistent changes", testInconsistent},
		{"lookup", testLookup},
		{"lookup of the unclaimed", testUnclaimed},
		{"create several", testCreateSeveral},
		{"names", testNames},
		{"sealed calls", testSealed},
		{"list", testList},
		{"list by risk", testListByRisk},
		{"timers", testTimers},
		{"panics stay with their caller", testPanic},
		{"log", testLog},
		{"cut log", testCutLog},
		{"search", testSearch},
		{"search forgets", testSearchForgets},
		{"outbox order", testOutboxOrder},
		{"outbox of many chats", testOutboxOfManyChats},
		{"outbox after a rest", testOutboxAfterARest},
		{"outbox chats", testOutboxChats},
		{"outbox taken", testOutboxTaken},
		{"outbox follows changes", testOutboxFollows},
		{"record", testRecord},
		{"record of the first", testRecordOfTheFirst},
		{"record on its way", testRecordOnItsWay},
		{"record redrawn", testRecordRedrawn},
		{"silences", testSilences},
		{"pairing", testPairing},
		{"sessions", testSessions}, {"notices", testNotices}, {"spent", testSpent},
		{"passkeys", testPasskeys}, {"spending", testSpending},
		{"calendars", testCalendars},
		{"plan", testPlan},
		{"absences", testAbsences},
		{"absences under votes", testAbsencesUnderVotes},
		{"moves", testMoves}, {"push", testPush}, {"gone", testGone}, {"end others", testEndOthers},
		{"digests", testDigests}, {"digests that fail", testDigestsThatFail}, {"digests move", testDigestsMove},
		{"newest cards", testNewestCards},
		{"redraw", testRedraw},
		{"adopted cards", testAdopted},
		{"inbox", testInbox},
		{"sweep", testSweep}, {"sweep calls", testSweepCalls},
		{"group commit", testGroupCommit},
		{"one batch", testOneBatch},
		{"what fails late", testFailsLate},
		{"contested approval", testContested},
		{"callers that leave", testLeaving},
		{"leases", testHold},
		{"counts", testCounts},
		{"nobody else", testAlone},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func testRoundTrip(t *testing.T, s *Store) {
	a := pendingApproval("bot")
	a.Origin = &approval.Target{Channel: "discord", To: "9", ThreadID: "8"}
	a.Votes = []approval.Vote{{Approver: approval.UserRequest, Verdict: approval.Approve, Voter: &approval.Voter{Person: "alice",
		Channel: "telegram", UserID: "1"}, DecidedAtMs: 5}}
	a.Justification = "zero \x00, line\nend, ünïcode \U0001f600"
	d := approval.Delivery{
		ID: "d1", Kind: approval.CardDelivery, Target: approval.Target{Channel: "telegram", To: "-100", ThreadID: "7"},
		State: approval.Sent, MessageID: "m1",
		ReplyTo: "r", ForUser: "u", Attached: true, Shown: true, DenyOnly: true, Fallback: true, Error: "e",
		Attempts: 3, DueMs: 9, Revision: 4, Rank: 2, CreatedMs: 11, SentMs: 12, Digest: "g",
	}
	got := create(t, s, a, core.Change{Deliveries: []approval.Delivery{d}})
	d.Key = a.Key
	a.Version, a.Deliveries = 1, []approval.Delivery{d}
	require.Equal(t, a, got)

	_, err := s.Get(ctx, "nothing")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
}

func testUpdate(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{Deliveries: []approval.Delivery{cardTo("1", 2, 10)}})
	require.Len(t, a.Deliveries, 1)
	require.NotEmpty(t, a.Deliveries[0].ID)

	after := change(t, s, a.Key, func(got approval.Approval) core.Change {
		require.Equal(t, a, got)
		got.Reason = "because"
		got.Deliveries = nil // never written from there
		return core.Change{Approval: got, Events: []approval.Event{event(got, approval.EventVote)}, Deliveries: []approval.Delivery{cardTo("2", 2, 20)}}
	})
	require.EqualValues(t, 2, after.Version)
	require.Len(t, after.Deliveries, 2)
	require.Equal(t, "2", after.Deliveries[1].Target.To)
	stored, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.Equal(t, after, stored)

	same := change(t, s, a.Key, func(got approval.Approval) core.Change {
		got.Reason = "not written"
		return core.Change{Approval: got, Unchanged: true, Events: []approval.Event{event(got, approval.EventRefused)}}
	})
	require.Equal(t, after, same)
	log, err := s.Log(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, log, 2)

	_, err = s.Update(ctx, "nothing", func(approval.Approval) (core.Change, error) { panic("not called") })
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
}

func testRefusals(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{})
	refusal := errors.New("no")
	_, err := s.Update(ctx, a.Key, func(approval.Approval) (core.Change, error) { return core.Change{}, refusal })
	require.Same(t, refusal, err)
	err = s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) { return nil, refusal })
	require.Same(t, refusal, err)

	// The second change of two cannot be written: the first goes with it.
	other := pendingApproval("bot")
	same := twin(pendingApproval("bot"), other)
	err = s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) {
		return []core.Change{
			{Approval: other, New: true, Events: []approval.Event{event(other, approval.EventRequested)}, Deliveries: []approval.Delivery{cardTo("1", 1, 1)}},
			{Approval: same, New: true},
		}, nil
	})
	require.Same(t, core.ErrCodeTaken, err)
	_, err = s.Get(ctx, other.Key)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	log, err := s.Log(ctx, 0, 10)
	require.NoError(t, err)
	require.Empty(t, log)
	_, ok, _, err := s.ClaimChat(ctx, "telegram", 100)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, s.Ping(ctx))
}

func testInconsistent(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{})
	for name, c := range map[string]func(approval.Approval) core.Change{
		"version 7":           func(a approval.Approval) core.Change { a.Version = 7; return core.Change{Approval: a} },
		"change its code":     func(a approval.Approval) core.Change { a.Code = "ZZZZZZ"; return core.Change{Approval: a} },
		" contains approval ": func(a approval.Approval) core.Change { a.Key = "x"; return core.Change{Approval: a} },
	} {
		_, err := s.Update(ctx, a.Key, func(a approval.Approval) (core.Change, error) { return c(a), nil })
		require.ErrorContains(t, err, name)
	}
	err := s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) { return []core.Change{{Approval: a}}, nil })
	require.ErrorContains(t, err, "which was not read before")
	err = s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) { return []core.Change{{New: true}}, nil })
	require.ErrorContains(t, err, "has no key")
	next := pendingApproval("bot")
	next.Code = a.Code
	err = s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) {
		return []core.Change{{Approval: next, New: true}}, nil
	})
	require.ErrorContains(t, err, "its key gives another code")
	got, err := s.Get(ctx, a.Key)
	require.NoError(t, err)
	require.Equal(t, a, got)
}

func testCreateSeveral(t *testing.T, s *Store) {
	old := create(t, s, pendingApproval("bot"), core.Change{Seal: []byte("call")})
	next := pendingApproval("bot")
	err := s.Create(ctx, core.Lookup{Owner: "bot", Supersedes: old.ID}, func(f core.Existing) ([]core.Change, error) {
		gone := ended(*f.Superseded, approval.Withdrawn)
		gone.Approval.SupersededBy = next.Code
		return []core.Change{{Approval: next, New: true, Seal: []byte("next")}, gone}, nil
	})
	require.NoError(t, err)
	got, err := s.Get(ctx, old.Key)
	require.NoError(t, err)
	require.Equal(t, approval.Withdrawn, got.Status)
	require.Equal(t, next.Code, got.SupersededBy)
	require.EqualValues(t, 2, got.Version)
	_, err = s.Sealed(ctx, old.Key)
	require.Equal(t, approval.CodeRetryDataGone, approval.CodeOf(err))
	call, err := s.Sealed(ctx, next.Key)
	require.NoError(t, err)
	require.Equal(t, "next", string(call))

	// An id that is taken by another approval of the owner is refused.
	twin := pendingApproval("bot")
	twin.ID = next.ID
	calls := 0
	err = s.Create(ctx, core.Lookup{Owner: "bot"}, func(core.Existing) ([]core.Change, error) {
		calls++
		return []core.Change{{Approval: twin, New: true}}, nil
	})
	require.ErrorIs(t, err, errStale)
	require.Greater(t, calls, retries)
	_, err = s.Get(ctx, twin.Key)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))

	// A second asker's id becomes an alias, without a new version.
	err = s.Create(ctx, core.Lookup{Owner: "bot", ID: next.ID}, func(f core.Existing) ([]core.Change, error) {
		return []core.Change{{Approval: *f.ByID, Unchanged: true, Aliases: []string{"mine"}}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, next.Key, found(t, s, core.Lookup{Owner: "bot", ID: "mine"}).ByID.Key)
	require.EqualValues(t, 1, found(t, s, core.Lookup{Owner: "bot", ID: "mine"}).ByID.Version)
}

func testSealed(t *testing.T, s *Store) {
	call := []byte(`{"secret":"hunter2"}`)
	a := create(t, s, pendingApproval("bot"), core.Change{Seal: call})
	b := create(t, s, pendingApproval("bot"), core.Change{})
	got, err := s.Sealed(ctx, a.Key)
	require.NoError(t, err)
	require.Equal(t, call, got)
	_, err = s.Sealed(ctx, b.Key)
	require.Equal(t, approval.CodeRetryDataGone, approval.CodeOf(err))
	_, err = s.Sealed(ctx, "nothing")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))

	var value string
	require.NoError(t, s.read.db.QueryRow("SELECT sealed FROM approvals WHERE key = $1", a.Key).Scan(&value))
	require.True(t, strings.HasPrefix(value, s.keys.id+":"))
	require.NotContains(t, value, "hunter2")
	_, err = s.keys.open(b.Key, value)
	require.ErrorContains(t, err, "cannot be opened with the store's key", "it is bound to its approval")

	change(t, s, a.Key, func(a approval.Approval) core.Change { return ended(a, approval.Denied) })
	_, err = s.Sealed(ctx, a.Key)
	require.Equal(t, approval.CodeRetryDataGone, approval.CodeOf(err))
}

func testPanic(t *testing.T, s *Store) {
	a := create(t, s, pendingApproval("bot"), core.Change{})
	require.PanicsWithValue(t, "boom", func() {
		s.Update(ctx, a.Key, func(approval.Approval) (core.Change, error) { panic("boom") })
	})
	require.EqualValues(t, 2, change(t, s, a.Key, func(a approval.Approval) core.Change { return core.Change{Approval: a} }).Version)
}
