package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Whatever keeps changes from being written is noticed, as long as it lasts and no
// longer, also where the commit itself succeeds.
func TestPingNoticesWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ begin, end string }{
		"the disk is full": {"PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000"},
		"a record is behind the head": {`INSERT INTO events SELECT (SELECT seq + 1 FROM log_head), 1, 'x', '', '', '{}',
 ''`, `DELETE FROM events WHERE type = 'x'`},
	} {
		t.Run(name, func(t *testing.T) {
			s := openDisk(t, t.TempDir())
			write := func() error {
				a := pendingApproval("bot")
				a.Justification = string(make([]byte, 20_000)) // more than fits on the pages that are there
				return s.Create(ctx, core.Lookup{}, func(core.Existing) ([]core.Change, error) {
					return []core.Change{{Approval: a, New: true, Events: []approval.Event{event(a, approval.EventRequested)}}}, nil
				})
			}
			meddle := func(sql string) {
				t.Helper()
				require.NoError(t, s.do(ctx, func(t *tx) error {
					_, err := t.conn.ExecContext(ctx, sql)
					return err
				}))
			}
			require.NoError(t, write())
			require.NoError(t, s.Ping(ctx))
			meddle(c.begin)
			require.Error(t, write())
			for range 3 {
				require.Error(t, s.Ping(ctx))
			}
			meddle(c.end)
			require.NoError(t, s.Ping(ctx))
			require.NoError(t, write())
			_, _, err := s.Verify(ctx)
			require.NoError(t, err)
		})
	}
}

// A disk that fills up while nobody writes is noticed by whoever asks.
func TestPingWritesWhereNothingWasWritten(t *testing.T) {
	t.Parallel()
	s := openDisk(t, t.TempDir())
	require.NoError(t, s.Ping(ctx))
	require.NoError(t, s.do(ctx, func(t *tx) error {
		_, err := t.conn.ExecContext(ctx, `CREATE TRIGGER full BEFORE INSERT ON meta BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`)
		return err
	}))
	require.NoError(t, s.Ping(ctx), "something was written a moment ago")
	s.wroteMs.Store(nowMs() - pingAfterMs)
	require.Error(t, s.Ping(ctx))
	require.Error(t, s.Ping(ctx))
}
