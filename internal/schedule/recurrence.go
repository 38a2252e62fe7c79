package schedule

import (
	"errors"
	"strconv"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"approvalbot/internal/lazy"
)

// moment is a time by the clock of a zone.
type moment struct {
	day     time.Time // midnight in UTC
	minutes int
	zone    *time.Location
	date    bool // a whole day
}

// at is the moment in time.
func (m moment) at() time.Time { return wall(m.day, m.minutes, m.zone, false) }

// shown is what the clock shows, as if the zone were UTC.
func (m moment) shown() time.Time { return m.day.Add(time.Duration(m.minutes) * time.Minute) }

func momentOf(t time.Time, zone *time.Location) moment {
	local := t.In(zone)
	return moment{day: dayOf(t, zone), minutes: local.Hour()*60 + local.Minute(), zone: zone}
}

var errMoment = errors.New("has a time that cannot be read")

// moment reads a date or a time of a property; seconds are left out.
func (r *reader) moment(p *ics.IANAProperty, text string) (moment, error) {
	zone, err := r.zoneOf(p)
	if err != nil {
		return moment{}, err
	}
	if day, err := time.Parse("20060102", text); err == nil {
		return moment{day: day, zone: zone, date: true}, sane(day)
	}
	text, utc := strings.CutSuffix(text, "Z")
	shown, err := time.Parse("20060102T150405", text)
	if err != nil {
		return moment{}, errMoment
	}
	if utc {
		zone = time.UTC
	}
	return momentOf(shown, time.UTC).in(zone), sane(shown)
}

func (m moment) in(zone *time.Location) moment {
	m.zone = zone
	return m
}

// sane refuses years that no duty can be in.
func sane(t time.Time) error {
	if y := t.Year(); y < 1970 || y > 2200 {
		return errMoment
	}
	return nil
}

// zoneOf is the zone that a property names, or the calendar's own.
func (r *reader) zoneOf(p *ics.IANAProperty) (*time.Location, error) {
	name := strings.TrimPrefix(param(p, "TZID"), "/")
	if name == "" {
		return r.zone, nil
	}
	if r.zones[name] == nil {
		zone, err := Zone(name)
		if err != nil {
			return nil, errors.New("is in a timezone that the IANA database does not have")
		}
		r.zones[name] = zone
	}
	return r.zones[name], nil
}

// param gives a property's parameter; its name is compared without case.
func param(p *ics.IANAProperty, name string) string {
	for key, values := range p.ICalParameters {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

var durationForm = lazy.Pattern(`^\+?P(?:([0-9]{1,4})W)?(?:([0-9]{1,4})D)?(?:T(?:([0-9]{1,4})H)?(?:([0-9]{1,4})M)?(?:([0-9]{1,4})S)?)?$`)

func durationOf(text string) (total time.Duration, err error) {
	m := durationForm.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("has a duration that cannot be read")
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+1] != "" {
			n, _ := strconv.Atoi(m[i+1]) // four digits
			total += time.Duration(n) * unit
		}
	}
	return total, nil
}

// recurrence is a rule by which an event comes again.
type recurrence struct {
	freq     string // DAILY, WEEKLY, MONTHLY or YEARLY
	interval int
	count    int       // 0: no limit
	until    time.Time // zero: no limit
	days     [7]bool   // of the week, from Monday; only if anyDay
	anyDay   bool
	week     int // the day on which weeks begin, from Monday
}

const (
	maxInterval = 1000
	maxCount    = 5000
)

var icalDays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

// parseRule reads an RRULE. Of all that such a rule may say it knows each nth day, week,
// month and year, days of the week, and an end.
func (r *reader) parseRule(p *ics.IANAProperty, start moment) (out recurrence, err error) {
	out = recurrence{interval: 1, anyDay: true}
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.ToUpper(p.Value), ";"), ";") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "FREQ":
			out.freq = value
		case "INTERVAL":
			out.interval, err = atMost(value, maxInterval)
		case "COUNT":
			out.count, err = atMost(value, maxCount)
		case "UNTIL":
			out.until, err = r.limit(value, start)
		case "WKST":
			out.week, err = icalDay(value)
		case "BYDAY":
			out.anyDay = false
			for day := range strings.SplitSeq(value, ",") {
				n, wrong := icalDay(day)
				err = errors.Join(err, wrong)
				out.days[n] = true
			}
		default:
			err = errRule
		}
		if err != nil {
			return out, errRule
		}
	}
	byDay := out.freq == "DAILY" || out.freq == "WEEKLY"
	if !byDay && (out.freq != "MONTHLY" && out.freq != "YEARLY" || !out.anyDay) {
		return out, errRule
	}
	return out, nil
}

var errRule = errors.New("repeats by a rule that is not supported; write every nth day, " +
	"week, month or year, or days of the week")

func atMost(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 1, errRule
	}
	return n, nil
}

func icalDay(text string) (int, error) {
	for i, d := range icalDays {
		if d == text {
			return i, nil
		}
	}
	return 0, errRule
}

// limit is the last moment at which an event comes again; a date is all of that day.
func (r *reader) limit(text string, start moment) (time.Time, error) {
	m, err := r.moment(&ics.IANAProperty{}, text)
	if err != nil {
		return time.Time{}, err
	}
	if !strings.HasSuffix(text, "Z") {
		m = m.in(start.zone)
	}
	if m.date {
		m.minutes = dayMinutes - 1
	}
	return m.at(), nil
}

// expand calls found for each day, around now, on which the event begins. It looks at
// no more than maxSteps days for all events of a calendar.
func (r *reader) expand(rule recurrence, start moment, found func(day time.Time) error) error {
	for k, n := rule.firstPeriod(r.from.Add(-longest), start), 0; ; k++ {
		for _, day := range rule.daysOf(k, start) {
			if r.steps++; r.steps > maxSteps {
				return errors.New("repeats too often, together with the other events")
			}
			begins := wall(day, start.minutes, start.zone, false)
			if rule.over(begins, n) || !begins.Before(r.to) {
				return nil
			}
			if day.Before(start.day) || !rule.on(day) {
				continue
			}
			n++
			if err := found(day); err != nil {
				return err
			}
		}
	}
}

// over reports that the rule ends before an occurrence, the nth from 0.
func (r recurrence) over(begins time.Time, n int) bool {
	return !r.until.IsZero() && begins.After(r.until) || r.count > 0 && n >= r.count
}

// on reports whether the rule leaves that day of the week.
func (r recurrence) on(day time.Time) bool { return r.anyDay || r.days[weekday(day)] }

// firstPeriod skips what is long over, if occurrences need not be counted.
func (r recurrence) firstPeriod(from time.Time, start moment) int {
	gone := int(from.Sub(start.day) / (24 * time.Hour))
	if r.count > 0 || gone <= 0 {
		return 0
	}
	longest := map[string]int{"DAILY": 1, "WEEKLY": 7, "MONTHLY": 31, "YEARLY": 366}[r.freq]
	return max(0, gone/(longest*r.interval)-1)
}

// daysOf are the days of the kth period that may be the event's. Of months and years
// that lack the day it is one before the event's first.
func (r recurrence) daysOf(k int, start moment) []time.Time {
	switch r.freq {
	case "DAILY":
		return []time.Time{start.day.AddDate(0, 0, k*r.interval)}
	case "WEEKLY":
		return r.weekOf(k, start)
	}
	months := k * r.interval
	if r.freq == "YEARLY" {
		months *= 12
	}
	day := start.day.AddDate(0, months, 0)
	if day.Day() != start.day.Day() {
		return []time.Time{start.day.AddDate(0, 0, -1)}
	}
	return []time.Time{day}
}

func (r recurrence) weekOf(k int, start moment) (days []time.Time) {
	into := (weekday(start.day) - r.week + 7) % 7
	first := start.day.AddDate(0, 0, k*7*r.interval-into)
	for i := range 7 {
		day := first.AddDate(0, 0, i)
		if !r.anyDay || weekday(day) == weekday(start.day) {
			days = append(days, day)
		}
	}
	return days
}
