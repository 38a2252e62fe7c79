package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseUntil(t *testing.T) {
	t.Parallel()
	zone, err := Zone("Europe/Berlin")
	require.NoError(t, err)
	tuesday := "2026-11-24T13:00:00+01:00"
	for _, c := range []struct{ text, now, want string }{
		{"2h", tuesday, "2026-11-24T15:00:00+01:00"},
		{"90m", tuesday, "2026-11-24T14:30:00+01:00"},
		{"1h30m", tuesday, "2026-11-24T14:30:00+01:00"},
		{"3d", tuesday, "2026-11-27T13:00:00+01:00"},
		{"2w", tuesday, "2026-12-08T13:00:00+01:00"},
		{"1d2h", tuesday, "2026-11-25T15:00:00+01:00"},
		{"18:00", tuesday, "2026-11-24T18:00:00+01:00"},
		{"8:00", tuesday, "2026-11-25T08:00:00+01:00"},
		{"13:00", tuesday, "2026-11-25T13:00:00+01:00"},
		{"24:00", tuesday, "2026-11-25T00:00:00+01:00"},
		{"tomorrow", tuesday, "2026-11-25T00:00:00+01:00"},
		{"Tomorrow 09:00", tuesday, "2026-11-25T09:00:00+01:00"},
		{"Fri", tuesday, "2026-11-27T00:00:00+01:00"},
		{"friday 16:00", tuesday, "2026-11-27T16:00:00+01:00"},
		{"tue 16:00", tuesday, "2026-11-24T16:00:00+01:00"},
		{"Tue 12:00", tuesday, "2026-12-01T12:00:00+01:00"},
		{"Tue", tuesday, "2026-12-01T00:00:00+01:00"},
		{"2026-12-24", tuesday, "2026-12-24T00:00:00+01:00"},
		{"2026-12-24 09:00", tuesday, "2026-12-24T09:00:00+01:00"},
		// Clocks are set: days go by the clock, hours do not.
		{"1d", "2026-03-28T13:00:00+01:00", "2026-03-29T13:00:00+02:00"},
		{"24h", "2026-03-28T13:00:00+01:00", "2026-03-29T14:00:00+02:00"},
		{"02:30", "2026-03-29T00:00:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"02:30", "2026-10-25T00:00:00+02:00", "2026-10-25T02:30:00+02:00"},

		{"", tuesday, ""}, {"0h", tuesday, ""}, {"h", tuesday, ""}, {"-2h", tuesday, ""}, {"2h 3h", tuesday, ""}, {"2h 18:00", tuesday, ""},
		{"25:00", tuesday, ""}, {"24:01", tuesday, ""}, {"18", tuesday, ""}, {"Fr", tuesday, ""}, {"Fri Sat", tuesday, ""},
		{"yesterday", tuesday, ""}, {"2026-11-24", tuesday, ""}, {"2026-02-30", tuesday, ""}, {"2h30", tuesday, ""},
		{"99999999999h", tuesday, ""}, {strings.Repeat("9", 100), tuesday, ""}, {"18:00 18:00", tuesday, ""},
	} {
		got, err := ParseUntil(strings.Fields(c.text), at(t, c.now), zone)
		if c.want == "" {
			require.Error(t, err, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got.In(zone).Format(time.RFC3339), c.text)
	}
}

// Whatever the words: no panic, and never what is over.
func FuzzParseUntil(f *testing.F) {
	for _, text := range []string{"2h", "Fri 16:00", "2026-12-24 09:00", "tomorrow"} {
		f.Add(text)
	}
	zone, err := Zone("America/New_York")
	require.NoError(f, err)
	now := at(f, "2026-11-24T12:00:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := ParseUntil(strings.Fields(text), now, zone); err == nil {
			require.True(t, got.After(now))
		}
	})
}
