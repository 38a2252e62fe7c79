package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cron is a time that comes again by the five fields of cron(5), in UTC: minute, hour,
// day of the month, month, day of the week. The zero Cron never comes.
type Cron struct {
	minutes, hours, days, months, weekdays uint64 // a bit for each value
	anyDay, anyWeekday                     bool   // the field begins with *
}

// cronField is what one field may hold.
type cronField struct {
	name        string
	least, most int
	words       []string // the values by their names, from least on
}

var cronFields = [5]cronField{
	{name: "minute", most: 59}, {name: "hour", most: 23}, {name: "day of the month", least: 1, most: 31},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// leapCycle is longer than from any 29 February to the next one.
const leapCycle = (8*366 + 1) * 24 * time.Hour

// ParseCron reads the five fields. If both days are restricted, a day that fits either
// counts, as in every cron. The error says what is allowed there, even for a time that
// never comes.
func ParseCron(text string) (c Cron, err error) {
	parts := strings.Fields(text)
	if len(parts) != len(cronFields) {
		return c, errors.New("must have five fields: minute, hour, day of the month, month, day of the week, such as 0 9 * * MON")
	}
	for i, into := range []*uint64{&c.minutes, &c.hours, &c.days, &c.months, &c.weekdays} {
		if *into, err = cronFields[i].parse(parts[i]); err != nil {
			return Cron{}, err
		}
	}
	c.weekdays |= c.weekdays >> 7 // Sunday is 0 and 7
	c.anyDay, c.anyWeekday = parts[2][0] == '*', parts[4][0] == '*'
	if c.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, errors.New("never happens, because no month has such a day")
	}
	return c, nil
}

// parse reads a list of values, ranges and steps: "1,15", "MON-FRI", "*/10".
func (f cronField) parse(text string) (bits uint64, err error) {
	wrong := fmt.Errorf("has %q as its %s; allowed are a number from %d to %d, *, a range, a step, or a list of these",
		text, f.name, f.least, f.most)
	for item := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		from, to, ok := f.span(span, stepped)
		step := 1
		if stepped {
			step, err = strconv.Atoi(stepText)
		}
		if !ok || err != nil || step < 1 || from > to {
			return 0, wrong
		}
		for n := from; n <= to; n += step {
			bits |= 1 << n
		}
	}
	return bits, nil
}

// span reads *, a value, or a range. A value with a step goes on to the end.
func (f cronField) span(text string, stepped bool) (from, to int, ok bool) {
	if text == "*" {
		return f.least, f.most, true
	}
	first, last, isRange := strings.Cut(text, "-")
	from, ok = f.value(first)
	switch {
	case isRange && ok:
		to, ok = f.value(last)
		return from, to, ok
	case stepped:
		return from, f.most, ok
	}
	return from, from, ok
}

func (f cronField) value(text string) (int, bool) {
	for i, word := range f.words {
		if strings.EqualFold(word, text) {
			return f.least + i, true
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && text[0] != '+' && n >= f.least && n <= f.most
}

// Next is the first time after t; zero if no time fits.
func (c Cron) Next(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Minute).Add(time.Minute)
	for end := t.Add(leapCycle); t.Before(end); {
		switch {
		case !c.onDay(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
		case c.hours>>t.Hour()&1 == 0:
			t = t.Truncate(time.Hour).Add(time.Hour)
		case c.minutes>>t.Minute()&1 == 0:
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

func (c Cron) onDay(t time.Time) bool {
	day, weekday := c.days>>t.Day()&1 == 1, c.weekdays>>int(t.Weekday())&1 == 1
	inMonth := c.months>>int(t.Month())&1 == 1
	if c.anyDay || c.anyWeekday {
		return inMonth && day && weekday
	}
	return inMonth && (day || weekday)
}

// IsZero reports a Cron that never comes.
func (c Cron) IsZero() bool { return c == Cron{} }
