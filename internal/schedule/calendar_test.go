package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var people = map[string]string{"alice@example.org": "alice", "bob@example.org": "bob"}

// calendar is one of events, each a list of lines parted by blanks.
func calendar(events ...string) string {
	var out strings.Builder
	out.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\n")
	for i, e := range events {
		fmt.Fprintf(&out, "BEGIN:VEVENT\r\nUID:%d\r\n%s\r\nEND:VEVENT\r\n", i, strings.ReplaceAll(e, " ", "\r\n"))
	}
	return out.String() + "END:VCALENDAR\r\n"
}

const aliceWeek = "DTSTART;TZID=Europe/Berlin:20251006T090000 DTEND;TZID=Europe/Berlin:20251013T090000 RRULE:FREQ=WEEKLY;INTERVAL=2 ATTENDEE;CN=A:mailto:alice@example.org"
const bobWeek = "DTSTART;TZID=Europe/Berlin:20251013T090000 DURATION:P1W RRULE:FREQ=WEEKLY;INTERVAL=2 ATTENDEE:MAILTO:Bob@Example.org"

func read(t *testing.T, text, now string) ([]Shift, error) {
	zone, err := Zone("Europe/Berlin")
	require.NoError(t, err)
	return ReadCalendar([]byte(text), people, zone, at(t, now))
}

func TestReadCalendar(t *testing.T) {
	t.Parallel()
	const who = " ATTENDEE:mailto:alice@example.org"
	for _, c := range []struct{ name, text, now, on string }{
		{"every other week", calendar(aliceWeek, bobWeek), "2026-11-24T12:00:00Z", "bob"},
		{"the other one", calendar(aliceWeek, bobWeek), "2026-12-01T12:00:00Z", "alice"},
		{"handoff by the clock in winter", calendar(aliceWeek, bobWeek), "2026-11-23T08:00:00Z", "bob"},
		{"and before it", calendar(aliceWeek, bobWeek), "2026-11-23T07:59:59Z", "alice"},
		{"and in summer", calendar(aliceWeek, bobWeek), "2026-07-06T06:59:59Z", "alice"},
		{"once", calendar("DTSTART:20261124T080000Z DTEND:20261124T160000Z" + who), "2026-11-24T12:00:00Z", "alice"},
		{"over", calendar("DTSTART:20261124T080000Z DTEND:20261124T160000Z" + who), "2026-11-24T16:00:00Z", ""},
		{"all day, in the roster's zone", calendar("DTSTART;VALUE=DATE:20261124" + who), "2026-11-23T23:00:00Z", "alice"},
		{"until the next midnight", calendar("DTSTART;VALUE=DATE:20261124" + who), "2026-11-24T23:00:00Z", ""},
		{"floating", calendar("DTSTART:20261124T120000 DTEND:20261124T130000" + who), "2026-11-24T11:30:00Z", "alice"},
		{"a stranger", calendar("DTSTART:20261124T080000Z DTEND:20261124T160000Z ATTENDEE:mailto:mallory@example.org"), "2026-11-24T12:00:00Z", ""},
		{"cancelled", calendar("STATUS:CANCELLED DTSTART:20261124T080000Z DTEND:20261124T160000Z" + who), "2026-11-24T12:00:00Z", ""},
		{"declined", calendar("DTSTART:20261124T080000Z DTEND:20261124T160000Z ATTENDEE;PARTSTAT=DECLINED:mailto:alice@example.org"), "2026-11-24T12:00:00Z", ""},
		{"two", calendar("DTSTART:20261124T080000Z DTEND:20261124T160000Z ATTENDEE:mailto:bob@example.org" + who), "2026-11-24T12:00:00Z", "alice bob"},
		{"workdays", calendar("DTSTART:20261102T080000Z DURATION:PT8H RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR" + who), "2026-11-24T12:00:00Z", "alice"},
		{"no workday", calendar("DTSTART:20261102T080000Z DURATION:PT8H RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR" + who), "2026-11-22T12:00:00Z", ""},
		{"counted out", calendar("DTSTART:20261122T080000Z DURATION:PT8H RRULE:FREQ=DAILY;COUNT=2" + who), "2026-11-24T12:00:00Z", ""},
		{"counted in", calendar("DTSTART:20261122T080000Z DURATION:PT8H RRULE:FREQ=DAILY;COUNT=3" + who), "2026-11-24T12:00:00Z", "alice"},
		{"until", calendar("DTSTART:20261122T080000Z DURATION:PT8H RRULE:FREQ=DAILY;UNTIL=20261124T080000Z" + who), "2026-11-24T12:00:00Z", "alice"},
		{"until before", calendar("DTSTART:20261122T080000Z DURATION:PT8H RRULE:FREQ=DAILY;UNTIL=20261124T075959Z" + who), "2026-11-24T12:00:00Z", ""},
		{"until the day before", calendar("DTSTART:20261122T080000Z DURATION:PT8H RRULE:FREQ=DAILY;UNTIL=20261123" + who), "2026-11-24T12:00:00Z", ""},
		{"left out", calendar("DTSTART:20261122T080000Z DURATION:PT8H RRULE:FREQ=DAILY EXDATE:20261123T080000Z,20261124T080000Z" + who), "2026-11-24T12:00:00Z", ""},
		{"monthly", calendar("DTSTART;VALUE=DATE:20260124 RRULE:FREQ=MONTHLY" + who), "2026-11-24T12:00:00Z", "alice"},
		{"on the 31st only", calendar("DTSTART;VALUE=DATE:20260131 RRULE:FREQ=MONTHLY" + who), "2026-12-01T12:00:00Z", ""},
		{"yearly", calendar("DTSTART;VALUE=DATE:20161124 RRULE:FREQ=YEARLY" + who), "2026-11-24T12:00:00Z", "alice"},
		{"moved to somebody else", strings.ReplaceAll(calendar(bobWeek,
			"RECURRENCE-ID;TZID=Europe/Berlin:20261123T090000 DTSTART;TZID=Europe/Berlin:20261123T090000 DURATION:P1W"+who), "UID:1", "UID:0"), "2026-11-24T12:00:00Z", "alice"},
		{"moved to a stranger", strings.ReplaceAll(calendar(bobWeek,
			"RECURRENCE-ID;TZID=Europe/Berlin:20261123T090000 DTSTART:20261124T090000Z ATTENDEE:mailto:x@example.org"), "UID:1", "UID:0"), "2026-11-24T12:00:00Z", ""},
		{"over the year's end", calendar("DTSTART;TZID=Europe/Berlin:20261231T180000 DTEND;TZID=Europe/Berlin:20270101T090000" + who), "2026-12-31T23:30:00Z", "alice"},
		{"ends in another zone", calendar("DTSTART;TZID=Europe/Berlin:20261124T090000 DTEND;TZID=America/New_York:20261124T090000" + who), "2026-11-24T13:59:59Z", "alice"},
		{"beside other parts", strings.Replace(calendar("DTSTART:20261124T080000Z DTEND:20261124T160000Z"+who+" BEGIN:VALARM ACTION:DISPLAY END:VALARM"),
			"BEGIN:VEVENT", "BEGIN:VTIMEZONE\r\nTZID:x\r\nBEGIN:STANDARD\r\nDTSTART:x\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT", 1), "2026-11-24T12:00:00Z", "alice"},
		{"a stranger's odd event", calendar("RRULE:FREQ=SECONDLY ATTENDEE:mailto:x@example.org"), "2026-11-24T12:00:00Z", ""},
		{"a folded line", strings.Replace(calendar("DTSTART:20261124T080000Z DTEND:20261124T160000Z"+who), "alice@", "al\r\n ice@", 1), "2026-11-24T12:00:00Z", "alice"},
	} {
		shifts, err := read(t, c.text, c.now)
		require.NoError(t, err, c.name)
		require.Equal(t, c.on, strings.Join(on(shifts, at(t, c.now)), " "), c.name)
	}
}

func TestReadCalendar_Refuses(t *testing.T) {
	t.Parallel()
	const event, who = "DTSTART:20261124T080000Z DURATION:PT8H ", " ATTENDEE:mailto:alice@example.org"
	nested := "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:X\n", 100_000)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a page", "<html>", "not a calendar"},
		{"cut off", strings.TrimSuffix(calendar(event+who), "END:VCALENDAR\r\n"), "cut off"},
		{"too long", strings.Repeat("X", MaxCalendar+1), "longer than"},
		{"nested without end", nested, "has a BEGIN at a place"},
		{"unbalanced", "BEGIN:VCALENDAR\nEND:VEVENT\n", "does not belong to the last BEGIN"},
		{"many events", "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VEVENT\nEND:VEVENT\n", maxEvents+1) + "END:VCALENDAR\n", "more than 5000 events"},
		{"a long line", calendar(event + "ATTENDEE:" + strings.Repeat("x", maxLine)), "event 1 has a line"},
		{"a zone that is none", calendar("DTSTART;TZID=Mars/Olympus:20261124T080000 DURATION:PT8H" + who), "event 1 is in a timezone"},
		{"the machine's zone", calendar("DTSTART;TZID=Local:20261124T080000 DURATION:PT8H" + who), "event 1 is in a timezone"},
		{"a file for a zone", calendar("DTSTART;TZID=../../etc/passwd:20261124T080000 DURATION:PT8H" + who), "event 1 is in a timezone"},
		{"no beginning", calendar("DURATION:PT8H" + who), "does not say when it begins"},
		{"an odd time", calendar("DTSTART:tomorrow" + who), "a time that cannot be read"},
		{"a year that is none", calendar("DTSTART:99991124T080000Z" + who), "a time that cannot be read"},
		{"back in time", calendar("DTSTART:20261124T080000Z DTEND:20261123T080000Z" + who), "ends before it begins"},
		{"each second", calendar(event + "RRULE:FREQ=SECONDLY" + who), "by a rule that is not supported"},
		{"the first Monday", calendar(event + "RRULE:FREQ=MONTHLY;BYDAY=1MO" + who), "by a rule that is not supported"},
		{"no rule", calendar(event + "RRULE:" + who), "by a rule that is not supported"},
		{"a count that is too high", calendar(event + "RRULE:FREQ=DAILY;COUNT=2147483647" + who), "by a rule that is not supported"},
		{"a negative interval", calendar(event + "RRULE:FREQ=DAILY;INTERVAL=-1" + who), "by a rule that is not supported"},
		{"two rules", calendar(event + "RRULE:FREQ=DAILY RRULE:FREQ=WEEKLY" + who), "two rules"},
		{"RDATE", calendar(event + "RDATE:20261125T080000Z" + who), "RDATE"},
		{"all that follow", calendar(event + "RECURRENCE-ID;RANGE=THISANDFUTURE:20261124T080000Z" + who), "all later ones"},
		{"too many days", calendar(repeat("DTSTART:19700101T080000Z DURATION:PT1M RRULE:FREQ=DAILY;COUNT=5000"+who, 50)...), "too often"},
		{"too many shifts", calendar(repeat(event+who, maxShifts+1)...), "more than 2000 shifts"},
	} {
		shifts, err := read(t, c.text, "2026-11-24T12:00:00Z")
		if c.want == "" {
			require.Empty(t, shifts, c.name)
			continue
		}
		require.ErrorContains(t, err, c.want, c.name)
	}
}

func repeat(event string, n int) (all []string) {
	for range n {
		all = append(all, event)
	}
	return all
}

// The last good copy of a calendar counts for a day; before it was read, and from then
// on, all of the roster are on duty, and it says why.
func TestCalendar(t *testing.T) {
	t.Parallel()
	zone, err := Zone("Europe/Berlin")
	require.NoError(t, err)
	c := NewCalendar("https://calendar.example.org/x.ics", people, zone)
	among := []string{"alice", "bob"}
	d := NewDuty(Roster{Name: "ops", Among: among, Zone: zone, Calendar: c})
	now := at(t, "2026-11-24T12:00:00Z")
	text, broken := calendar(aliceWeek, bobWeek), error(nil)
	fetch := func(_ context.Context, source string) ([]byte, error) {
		require.Equal(t, "https://calendar.example.org/x.ics", source)
		return []byte(text), broken
	}
	who := func() OnDuty {
		on, ok := d.WhoNow("ops", now)
		require.True(t, ok)
		return on
	}
	require.Equal(t, OnDuty{Roster: "ops", People: among, Unknown: "the calendar was not read yet"}, who())
	require.True(t, c.Due(now))
	require.NoError(t, c.Refresh(t.Context(), now, fetch))
	require.False(t, c.Due(now.Add(RefreshEvery-time.Second)))
	require.True(t, c.Due(now.Add(RefreshEvery)))
	require.Equal(t, "bob until Mon 09:00 CET, then alice", who().String(now, zone))

	broken = errors.New("it answered 500")
	require.EqualError(t, c.Refresh(t.Context(), now, fetch), "the calendar cannot be read: it answered 500")
	text, broken = "<html>", nil
	require.Error(t, c.Refresh(t.Context(), now, fetch))
	now = now.Add(StaleAfter - time.Second)
	require.Equal(t, []string{"bob"}, who().People, "the last good copy")
	now = now.Add(time.Second)
	require.Equal(t, among, who().People)
	require.Equal(t, "all of alice, bob, since the calendar was not read since Tue 24 Nov 2026 13:00 CET: it is not a calendar in iCalendar form",
		who().String(now, zone))

	text = calendar("DTSTART:20261124T080000Z DURATION:PT1H ATTENDEE:mailto:alice@example.org")
	require.NoError(t, c.Refresh(t.Context(), now, fetch))
	require.Equal(t, OnDuty{Roster: "ops", People: among, Unknown: "the calendar names no person of the roster for now"}, who())
	require.Equal(t, "no rotation or calendar says who it is", Roster{Among: among}.at(now).Unknown)
}

// Whatever the bytes: no panic, nobody who was not named, and only within bounds.
func FuzzReadCalendar(f *testing.F) {
	for _, text := range []string{calendar(aliceWeek, bobWeek), calendar("DTSTART;VALUE=DATE:20261124 ATTENDEE;X=\"a:b\";Y=\\:mailto:alice@example.org")} {
		f.Add([]byte(text))
	}
	zone, err := Zone("Europe/Berlin")
	require.NoError(f, err)
	now := at(f, "2026-11-24T12:00:00Z")
	f.Fuzz(func(t *testing.T, text []byte) {
		shifts, err := ReadCalendar(text, people, zone, now)
		require.LessOrEqual(t, len(shifts), maxShifts)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		for _, s := range shifts {
			require.Contains(t, []string{"alice", "bob"}, s.Who)
			require.True(t, s.From.Before(s.Until))
			require.False(t, s.Until.Sub(s.From) > longest+48*time.Hour)
		}
	})
}

// A calendar of many shifts in each other costs a vote no more than one of few: all that
// somebody's shifts say together is kept.
func TestAdversary_D11_ShiftsInEachOther(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var text strings.Builder
	text.WriteString("BEGIN:VCALENDAR\r\n")
	for i := range maxShifts {
		fmt.Fprintf(&text, "BEGIN:VEVENT\r\nUID:%d\r\nDTSTART:20261123T%02d%02d00Z\r\nDTEND:20261224T%02d%02d00Z\r\nATTENDEE:mailto:a@x\r\nEND:VEVENT\r\n",
			i, i%12, i%60, i%24, i%60)
	}
	text.WriteString("END:VCALENDAR\r\n")
	c := NewCalendar("", map[string]string{"a@x": "alice"}, time.UTC)
	fetch := func(context.Context, string) ([]byte, error) { return []byte(text.String()), nil }
	require.NoError(t, c.Refresh(t.Context(), now, fetch))
	kept, _ := c.Copy()
	want := []Shift{{"alice", time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 24, 23, 59, 0, 0, time.UTC)}}
	require.Equal(t, want, kept.Shifts)
	c = NewCalendar("", nil, time.UTC)
	c.Restore(Copy{Read: now, Shifts: []Shift{{"bob", now, now.Add(time.Hour)}, {"alice", now, now.Add(3 * time.Hour)},
		{"alice", now.Add(time.Hour), now.Add(2 * time.Hour)}, {"alice", now.Add(3 * time.Hour), now.Add(4 * time.Hour)}}})
	kept, _ = c.Copy()
	require.Equal(t, []Shift{{"alice", now, now.Add(4 * time.Hour)}, {"bob", now, now.Add(time.Hour)}}, kept.Shifts)
}
