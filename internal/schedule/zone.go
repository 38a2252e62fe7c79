package schedule

import (
	"errors"
	"time"
)

var errZone = errors.New("must be a timezone of the IANA database, such as Europe/Berlin")

// Zone gives the timezone of that name. The machine's own ("Local") is refused: the
// meaning of a configuration must not depend on the machine that reads it.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errZone
	}
	at, err := time.LoadLocation(name)
	if err != nil {
		return nil, errZone
	}
	return at, nil
}

const dayMinutes = 24 * 60

// wall gives the moment at which clocks in a zone show that many minutes past the
// midnight that begins a day. A time that clocks skip is the moment at which they
// skip it. Of a time that they show twice it is the first one, or the last one.
func wall(day time.Time, minutes int, zone *time.Location, last bool) time.Time {
	shown := day.Add(time.Duration(minutes) * time.Minute) // as if the zone were UTC
	before, after := offset(shown.Add(-36*time.Hour), zone), offset(shown.Add(36*time.Hour), zone)
	one, other := shown.Add(-before), shown.Add(-after)
	first, second := offset(one, zone) == before, offset(other, zone) == after
	switch {
	case first && second && last == other.After(one):
		return other.In(zone)
	case first:
		return one.In(zone)
	case second:
		return other.In(zone)
	}
	skipped, _ := one.In(zone).ZoneBounds()
	return skipped
}

// offset is what clocks in a zone are ahead of UTC.
func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// dayOf is the day that a zone's calendar shows, as midnight in UTC.
func dayOf(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// weekday counts from Monday, which is 0.
func weekday(day time.Time) int { return (int(day.Weekday()) + 6) % 7 }

// Moment says a moment to people who read it around now: "Mon 08:00 CET", with its
// date if it is not within the next six days.
func Moment(at, now time.Time, zone *time.Location) string {
	layout := "Mon 15:04 MST"
	if d := at.Sub(now); d < 0 || d > 6*24*time.Hour {
		layout = "Mon 2 Jan 2006 15:04 MST"
	}
	return at.In(zone).Format(layout)
}
