package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// What the last check found is believed if the desk wrote it, and said to people.
func TestLastChecked(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *Store, i intruder, _ Options) {
		at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
		last := func() Checked {
			c, err := s.LastChecked(ctx)
			require.NoError(t, err)
			return c
		}
		require.Equal(t, core.LevelOK, last().Diagnostic(at).Level, "there was none yet")
		require.NoError(t, s.NoteChecked(ctx, Checked{AtMs: at.UnixMilli()}))
		require.Equal(t, Checked{AtMs: at.UnixMilli()}, last())
		require.Contains(t, last().Diagnostic(at.Add(24*time.Hour)).Text, "at the check of 2026-05-04 03:02 UTC")
		require.Equal(t, core.LevelWarn, last().Diagnostic(at.Add(16*24*time.Hour)).Level)
		bad := Checked{AtMs: at.UnixMilli(), Problem: "the row x of table grants was not written by the desk"}
		require.NoError(t, s.NoteChecked(ctx, bad))
		require.Equal(t, bad, last())
		require.Equal(t, core.LevelFail, last().Diagnostic(at).Level)
		require.Contains(t, last().Diagnostic(at).Text, bad.Problem)
		i.exec("UPDATE meta SET value = REPLACE(value, 'grants', 'nothing') WHERE name = 'checked'")
		require.Zero(t, last(), "of another hand")
	})
}
