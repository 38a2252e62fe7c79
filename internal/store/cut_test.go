package store

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
)

// chained gives n more entries and the whole log as it was before.
func chained(t testing.TB, s *Store, n int) []approval.Entry {
	t.Helper()
	a := pendingApproval("bot")
	for range n {
		require.NoError(t, s.Append(ctx, nil, event(a, approval.EventVote)))
	}
	all, err := s.Log(ctx, 0, 10_000)
	require.NoError(t, err)
	return all
}

func testCutLog(t *testing.T, s *Store) {
	all := chained(t, s, 10)
	first, before, err := s.First(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, first)
	require.Empty(t, before)

	why := approval.Event{AtMs: 1, Type: approval.EventCut}
	require.NoError(t, s.CutLog(ctx, 4, all[3].Hash, why))
	for _, step := range []func(){func() {}, func() {
		n, err := s.DropCut(ctx)
		require.NoError(t, err)
		require.Equal(t, 4, n)
		require.Equal(t, 7, count(t, s, "SELECT COUNT(*) FROM events"))
	}} {
		step() // nobody sees whether the entries are still on disk
		first, before, err = s.First(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 5, first)
		require.Equal(t, all[3].Hash, before)
		n, _, err := s.Verify(ctx)
		require.NoError(t, err)
		require.Equal(t, 11, n)
		for _, after := range []int64{0, 1, 3, 4} {
			page, err := s.Log(ctx, after, 3)
			require.NoError(t, err)
			require.Equal(t, all[4:7], page, "after %d", after)
		}
		page, err := s.Log(ctx, 5, 2)
		require.NoError(t, err)
		require.Equal(t, all[5:7], page)
	}
	page, err := s.Log(ctx, 10, 9)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, approval.EventCut, page[0].Type)

	for _, c := range []struct {
		through int64
		hash    string
	}{{4, all[3].Hash}, {3, all[2].Hash}, {6, all[6].Hash}, {99, ""}, {6, ""}} {
		require.ErrorContains(t, s.CutLog(ctx, c.through, c.hash, why), "cannot be cut", "%v", c)
	}
	require.NoError(t, s.CutLog(ctx, 11, page[0].Hash, why), "the whole log: what says so stays")
	_, err = s.DropCut(ctx)
	require.NoError(t, err)
	n, _, err := s.Verify(ctx)
	require.NoError(t, err)
	require.Equal(t, 12, n)
}

func TestCutLog_CopyBeginsThereToo(t *testing.T) {
	t.Parallel()
	from, to := openInMemory(t), openInMemory(t)
	all := chained(t, from, 6)
	require.NoError(t, from.CutLog(ctx, 2, all[1].Hash, approval.Event{Type: approval.EventCut}))
	_, err := Copy(ctx, from, to)
	require.NoError(t, err)
	first, before, err := to.First(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, first)
	require.Equal(t, all[1].Hash, before)
}

// However a log grows and is cut, it can be checked, and what is left is as it was.
func TestCutLog_AnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s, err := Open(ctx, Options{URL: "sqlite::memory:"})
		require.NoError(t, err)
		run, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- s.Run(run) }()
		defer func() { stop(); <-done; s.Close() }()
		kept := chained(t, s, 1)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			kept = append(kept[:0:0], chained(t, s, rapid.IntRange(0, 5).Draw(rt, "more"))...)
			at := rapid.IntRange(0, len(kept)-1).Draw(rt, "at")
			require.NoError(t, s.CutLog(ctx, kept[at].Seq, kept[at].Hash, approval.Event{Type: approval.EventCut}))
			if rapid.Bool().Draw(rt, "drop") {
				_, err := s.DropCut(ctx)
				require.NoError(t, err)
			}
			left, err := s.Log(ctx, 0, 1000)
			require.NoError(t, err)
			require.Equal(t, kept[at+1:], left[:len(left)-1])
			_, _, err = s.Verify(ctx)
			require.NoError(t, err)
		}
	})
}

func TestCutLog_SurvivesAReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openDisk(t, dir)
	all := chained(t, s, 5)
	require.NoError(t, s.CutLog(ctx, 3, all[2].Hash, approval.Event{Type: approval.EventCut}))
	require.NoError(t, s.Close()) // before the entries were deleted
	s = openDisk(t, dir)
	n, err := s.DropCut(ctx)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, _, err = s.Verify(ctx)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "desk.db"))
}

// Whoever cuts by hand, or moves the mark, is found.
func TestTampering_WithTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, want string }{
		"front taken out": {`DELETE FROM events WHERE seq < 4`, "log record 3 is missing"},
		"mark moved on": {`UPDATE meta SET value = '5 ' || (SELECT hash FROM events WHERE seq = 3)
 WHERE name = 'log-start'`, "log record 5 was changed"},
		"mark's hash": {`UPDATE meta SET value = '3 ' || (SELECT hash FROM events WHERE seq = 5)
 WHERE name = 'log-start'`, "log record 3 was changed"},
		"mark taken out": {`DELETE FROM meta WHERE name = 'log-start'`, "log record 1 is missing"},
		"mark damaged":   {`UPDATE meta SET value = 'x' WHERE name = 'log-start'`, "does not name the log's first record"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openInMemory(t)
			all := chained(t, s, 6)
			require.NoError(t, s.CutLog(ctx, 2, all[1].Hash, approval.Event{Type: approval.EventCut}))
			_, err := s.DropCut(ctx)
			require.NoError(t, err)
			_, err = s.write.db.Exec(c.sql)
			require.NoError(t, err)
			_, _, err = s.Verify(ctx)
			require.ErrorContains(t, err, c.want)
		})
	}
}
