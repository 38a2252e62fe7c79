package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var zones = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC", "Pacific/Apia", "Africa/Casablanca"}

func at(t require.TestingT, text string) time.Time {
	out, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return out
}

func windowOf(t *testing.T, text string) Window {
	t.Helper()
	w, err := ParseDaily(text, "")
	if err != nil {
		cut := len(text) - len("Europe/Berlin")
		w, err = Weekly(text[:cut-1], text[cut:])
	}
	require.NoError(t, err, text)
	return w
}

func TestWindow(t *testing.T) {
	t.Parallel()
	const night, weekend = "22:00–07:00 Europe/Berlin", "Fri 16:00–Mon 08:00 Europe/Berlin"
	for _, c := range []struct{ window, now, end string }{
		{night, "2026-11-23T21:59:59+01:00", ""},
		{night, "2026-11-23T22:00:00+01:00", "2026-11-24T07:00:00+01:00"},
		{night, "2026-11-24T06:59:59+01:00", "2026-11-24T07:00:00+01:00"},
		{night, "2026-11-24T07:00:00+01:00", ""},
		{night, "2026-12-31T23:30:00+01:00", "2027-01-01T07:00:00+01:00"},
		{night, "2026-03-28T23:00:00+01:00", "2026-03-29T07:00:00+02:00"}, // eight hours long
		{night, "2026-10-24T23:00:00+02:00", "2026-10-25T07:00:00+01:00"}, // ten hours long
		{"00:00-24:00 UTC", "", ""},
		{"20:00 - 24:00 UTC", "2026-06-01T23:59:00Z", "2026-06-02T00:00:00Z"},
		// Clocks go from 02:00 to 03:00 in the night of 29 March 2026.
		{"01:00-02:30 Europe/Berlin", "2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"02:30-05:00 Europe/Berlin", "2026-03-29T01:59:59+01:00", ""},
		{"02:30-05:00 Europe/Berlin", "2026-03-29T03:00:00+02:00", "2026-03-29T05:00:00+02:00"},
		{"02:10-02:50 Europe/Berlin", "2026-03-29T03:00:00+02:00", ""}, // not that night
		// They go from 03:00 back to 02:00 in the night of 25 October 2026.
		{"02:30-05:00 Europe/Berlin", "2026-10-25T02:30:00+02:00", "2026-10-25T05:00:00+01:00"},
		{"01:00-02:30 Europe/Berlin", "2026-10-25T02:45:00+02:00", "2026-10-25T02:30:00+01:00"},
		{"02:30-02:15 Europe/Berlin", "2026-10-25T02:40:00+02:00", "2026-10-26T02:15:00+01:00"}, // two that meet
		// Lord Howe sets its clocks by half an hour: 02:00 to 02:30 on 4 October 2026.
		{"02:15-03:00 Australia/Lord_Howe", "2026-10-04T02:30:00+11:00", "2026-10-04T03:00:00+11:00"},
		{"01:00-01:45 Australia/Lord_Howe", "2026-04-05T01:50:00+11:00", "2026-04-05T01:45:00+10:30"},
		{"09:00-17:00 Asia/Kathmandu", "2026-03-29T16:59:00+05:45", "2026-03-29T17:00:00+05:45"},
		{"01:30-02:30 America/New_York", "2026-03-08T01:45:00-05:00", "2026-03-08T03:00:00-04:00"},
		{weekend, "2026-11-20T15:59:59+01:00", ""},
		{weekend, "2026-11-20T16:00:00+01:00", "2026-11-23T08:00:00+01:00"},
		{weekend, "2026-11-22T23:00:00+01:00", "2026-11-23T08:00:00+01:00"},
		{weekend, "2026-11-23T08:00:00+01:00", ""},
		{weekend, "2027-01-02T12:00:00+01:00", "2027-01-04T08:00:00+01:00"},
		{weekend, "2026-10-24T12:00:00+02:00", "2026-10-26T08:00:00+01:00"},
		{"Mon 08:00-Sun 24:00 Europe/Berlin", "2026-11-22T23:59:00+01:00", "2026-11-23T00:00:00+01:00"},
	} {
		if c.now == "" {
			_, err := ParseDaily(c.window, "")
			require.Error(t, err, c.window)
			continue
		}
		w, now := windowOf(t, c.window), at(t, c.now)
		require.Equal(t, c.end != "", w.Contains(now), "%s at %s", c.window, c.now)
		if c.end != "" {
			require.Equal(t, c.end, w.End(now).Format(time.RFC3339), "%s at %s", c.window, c.now)
		}
	}
}

func TestWindow_SaysWhenItEnds(t *testing.T) {
	t.Parallel()
	w := windowOf(t, "Fri 16:00-Mon 08:00 Europe/Berlin")
	require.Equal(t, "Mon 08:00 CET", w.Ends(at(t, "2026-11-21T12:00:00Z")))
	require.Equal(t, "Mon 08:00 CEST", w.Ends(at(t, "2026-06-06T12:00:00Z")))
	require.Empty(t, w.Ends(at(t, "2026-11-25T12:00:00Z")))
	once, err := Once("2026-12-18T16:00:00+01:00", "2027-01-04T08:00:00+01:00", "Europe/Berlin")
	require.NoError(t, err)
	require.Equal(t, "Mon 4 Jan 2027 08:00 CET", once.Ends(at(t, "2026-12-24T12:00:00Z")))
	require.Equal(t, "Mon 08:00 CET", once.Ends(at(t, "2027-01-02T12:00:00Z")))
	require.False(t, once.Contains(at(t, "2026-12-18T15:59:59+01:00")))
	require.True(t, once.Contains(at(t, "2026-12-18T16:00:00+01:00")))
	require.False(t, once.Contains(at(t, "2027-01-04T08:00:00+01:00")))
	require.False(t, Window{}.Contains(at(t, "2027-01-04T08:00:00+01:00")))
}

func TestWindow_Refuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "22:00", "22:00-", "22:00-07:00", "22:00-07:00 Local", "22:00-07:00 Europe/Nowhere", "22:60-07:00 UTC", "25:00-07:00 UTC",
		"24:00-07:00 UTC", "24:30-07:00 UTC", "07:00-07:00 UTC", "00:00-24:00 UTC", "22:00—07:00 UTC", "22:00-07:00 ../../etc/passwd", "22-07 UTC",
	} {
		_, err := ParseDaily(text, "")
		require.Error(t, err, text)
	}
	w, err := ParseDaily("22:00-07:00", "Europe/Berlin")
	require.NoError(t, err)
	require.True(t, w.Contains(at(t, "2026-11-23T21:00:00Z")))
	for _, text := range []string{
		"", "Fri 16:00", "Friday 16:00-Mon 08:00", "Fri 16:00-Mon", "Mon 08:00-Mon 08:00", "Mon 00:00-Sun 24:00", "Fri 24:00-Mon 08:00", "Abc 01:00-Mon 08:00",
	} {
		_, err := Weekly(text, "UTC")
		require.Error(t, err, text)
	}
	for _, c := range [][3]string{
		{"", "", ""}, {"2026-12-18T16:00:00Z", "", ""}, {"2026-12-18", "2027-01-04T08:00:00Z", ""}, {"2026-12-18T16:00:00Z", "2026-12-18T16:00:00Z", ""},
		{"2027-01-04T08:00:00Z", "2026-12-18T16:00:00Z", ""}, {"2026-12-18T16:00:00Z", "2027-01-04T08:00:00Z", "Nowhere"}, {"", "2027-01-04T08:00:00", "UTC"},
	} {
		_, err := Once(c[0], c[1], c[2])
		require.Error(t, err, "%v", c)
	}
}

// Wherever and whenever: the end of a window is the first moment outside of it, what
// Next gives comes next, and by the clock the window is where it was written, but for
// the days on which clocks are set.
func TestWindow_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		period := rapid.SampledFrom([]int{1, 7}).Draw(t, "period")
		from := rapid.IntRange(0, period*dayMinutes-1).Draw(t, "from")
		span := rapid.IntRange(1, period*dayMinutes-1).Draw(t, "span")
		w, err := recurring(period, from, from+span, zone)
		require.NoError(t, err)
		now := time.Unix(rapid.Int64Range(1262304000, 2208988800).Draw(t, "now"), 0) // 2010 to 2040
		start, end := w.Next(now)
		require.True(t, start.Before(end))
		require.True(t, end.After(now))
		require.True(t, w.Contains(start) && w.Contains(end.Add(-time.Second)))
		require.False(t, w.Contains(end))
		require.Equal(t, end, w.End(start.Add(end.Sub(start)/2)))
		require.Equal(t, !start.After(now), w.Contains(now))
		if start.After(now) {
			require.True(t, w.End(now).IsZero())
			between := now.Add(start.Sub(now) / 2)
			require.False(t, w.Contains(between))
		}
		if settled(now, w.zone) {
			local := now.In(w.zone)
			minutes := local.Hour()*60 + local.Minute()
			if period == 7 {
				minutes += weekday(dayOf(now, w.zone)) * dayMinutes
			}
			into := (minutes - from + period*dayMinutes) % (period * dayMinutes)
			require.Equal(t, into < span, w.Contains(now), "by the clock")
		}
	})
}

// settled reports that no clock is set within ten days.
func settled(t time.Time, zone *time.Location) bool {
	start, end := t.In(zone).ZoneBounds()
	far := 10 * 24 * time.Hour
	return (start.IsZero() || t.Sub(start) > far) && (end.IsZero() || end.Sub(t) > far)
}
