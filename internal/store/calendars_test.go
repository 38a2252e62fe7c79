package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/schedule"
)

// testCalendars: of each calendar that is still one the newest copy is kept.
func testCalendars(t *testing.T, s *Store) {
	none, err := s.Calendars(ctx)
	require.NoError(t, err)
	require.Empty(t, none)
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	older := schedule.Copy{Read: at}
	newer := schedule.Copy{Read: at.Add(time.Minute), Shifts: []schedule.Shift{{Who: "alice", From: at, Until: at.Add(time.Hour)}}}
	type copies = map[string]schedule.Copy
	require.NoError(t, s.KeepCalendars(ctx, copies{"a": newer, "b": older}))
	require.NoError(t, s.KeepCalendars(ctx, copies{"a": older, "c": older}))
	got, err := s.Calendars(ctx)
	require.NoError(t, err)
	require.Equal(t, copies{"a": newer, "c": older}, got)
}
