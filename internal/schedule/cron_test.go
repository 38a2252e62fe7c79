package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseCron(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, from, want string }{
		{"0 9 * * MON", "2026-11-24T12:00:00Z", "2026-11-30T09:00:00Z"},
		{"0 9 * * MON", "2026-11-30T08:59:59Z", "2026-11-30T09:00:00Z"},
		{"0 9 * * MON", "2026-11-30T09:00:00Z", "2026-12-07T09:00:00Z"},
		{"0 9 * * mon", "2026-11-30T10:00:00+02:00", "2026-11-30T09:00:00Z"},
		{"*/20 * * * *", "2026-11-30T09:40:00Z", "2026-11-30T10:00:00Z"},
		{"5/20 * * * *", "2026-11-30T09:26:00Z", "2026-11-30T09:45:00Z"},
		{"0 8-17/3 * * 1-5", "2026-11-27T17:00:00Z", "2026-11-30T08:00:00Z"},
		{"30 6 1,15 * *", "2026-11-30T09:00:00Z", "2026-12-01T06:30:00Z"},
		{"0 0 * * 7", "2026-11-30T00:00:00Z", "2026-12-06T00:00:00Z"},
		{"0 0 * * 0", "2026-11-30T00:00:00Z", "2026-12-06T00:00:00Z"},
		{"0 0 13 * FRI", "2026-11-30T00:00:00Z", "2026-12-04T00:00:00Z"},  // either day
		{"0 0 */2 * FRI", "2026-12-04T01:00:00Z", "2026-12-11T00:00:00Z"}, // both days
		{"0 0 29 FEB *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"0 9 31 JAN-MAR *", "2026-02-01T00:00:00Z", "2026-03-31T09:00:00Z"},
	} {
		cron, err := ParseCron(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, at(t, c.want), cron.Next(at(t, c.from)), c.text)
	}
	for text, want := range map[string]string{
		"":               "must have five fields: minute, hour, day of the month, month, day of the week, such as 0 9 * * MON",
		"@weekly":        "must have five fields: minute, hour, day of the month, month, day of the week, such as 0 9 * * MON",
		"0 9 * * MON *":  "must have five fields: minute, hour, day of the month, month, day of the week, such as 0 9 * * MON",
		"60 9 * * *":     `has "60" as its minute; allowed are a number from 0 to 59, *, a range, a step, or a list of these`,
		"0 9-8 * * *":    `has "9-8" as its hour; allowed are a number from 0 to 23, *, a range, a step, or a list of these`,
		"0 9 0 * *":      `has "0" as its day of the month; allowed are a number from 1 to 31, *, a range, a step, or a list of these`,
		"0 9 * * MON,,":  `has "MON,," as its day of the week; allowed are a number from 0 to 7, *, a range, a step, or a list of these`,
		"*/0 9 * * *":    `has "*/0" as its minute; allowed are a number from 0 to 59, *, a range, a step, or a list of these`,
		"+1 9 * * *":     `has "+1" as its minute; allowed are a number from 0 to 59, *, a range, a step, or a list of these`,
		"0 9 * MAI *":    `has "MAI" as its month; allowed are a number from 1 to 12, *, a range, a step, or a list of these`,
		"0 9 30 FEB *":   "never happens, because no month has such a day",
		"0 9 31 4,6,9 *": "never happens, because no month has such a day",
	} {
		_, err := ParseCron(text)
		require.EqualError(t, err, want, text)
	}
	require.True(t, Cron{}.IsZero())
	require.Zero(t, Cron{}.Next(time.Now()))
}

// Whatever the text: reading it ends, and what it reads comes again, later each time.
func TestParseCron_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.StringMatching(`(\*|[0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2}|MON)(/[0-9]{1,2})?`)
		text := field.Draw(t, "m") + " " + field.Draw(t, "h") + " " + field.Draw(t, "d") + " " + field.Draw(t, "mon") + " " + field.Draw(t, "w")
		c, err := ParseCron(text)
		if err != nil {
			return
		}
		now := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "now"), 0)
		next := c.Next(now)
		require.True(t, next.After(now), text)
		require.Zero(t, next.Second())
		require.Equal(t, next, c.Next(next.Add(-time.Second)), "%s: the first one", text)
	})
}
