package schedule

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"approvalbot/internal/lazy"
)

var errUntil = errors.New("say how long or until when: 2h, 3d, 18:00, tomorrow 09:00, Fri 16:00 or 2026-12-24 09:00")

var (
	timeOfDay = lazy.Pattern(`^` + clockTime + `$`)
	lengths   = lazy.Pattern(`^(?:([0-9]{1,3})w)?(?:([0-9]{1,3})d)?(?:([0-9]{1,4})h)?(?:([0-9]{1,5})m)?$`)
)

// ParseUntil reads the end of a time span as people write it: a length ("2h", "1h30m",
// "3d"), which days count by the clock; a time of the day, today or tomorrow; a day
// ("tomorrow", "Fri", "2026-12-24"), from its first moment on, or a time on it. It is
// always after now.
func ParseUntil(words []string, now time.Time, zone *time.Location) (time.Time, error) {
	for _, word := range words {
		if len(word) > 32 {
			return time.Time{}, errUntil
		}
	}
	today, minutes, timed := dayOf(now, zone), 0, false
	if n := len(words); n > 0 {
		if m := timeOfDay.FindStringSubmatch(words[n-1]); m != nil {
			if minutes, timed = minutesOf(m[1], m[2], true); !timed {
				return time.Time{}, errUntil
			}
			words = words[:n-1]
		}
	}
	switch {
	case len(words) == 0 && timed:
		if at := wall(today, minutes, zone, false); at.After(now) {
			return at, nil
		}
		return wall(today.AddDate(0, 0, 1), minutes, zone, false), nil
	case len(words) == 1 && !timed && lengths.MatchString(words[0]) && words[0] != "":
		return lengthFrom(words[0], now, zone)
	case len(words) != 1:
		return time.Time{}, errUntil
	}
	day, every, ok := dayNamed(words[0], today)
	if !ok {
		return time.Time{}, errUntil
	}
	at := wall(day, minutes, zone, false)
	if !at.After(now) && every {
		at = wall(day.AddDate(0, 0, 7), minutes, zone, false)
	}
	if !at.After(now) {
		return time.Time{}, errors.New("that time has already passed")
	}
	return at, nil
}

// lengthFrom is the moment so long after now.
func lengthFrom(text string, now time.Time, zone *time.Location) (time.Time, error) {
	var n [4]int
	for i, digits := range lengths.FindStringSubmatch(text)[1:] {
		n[i], _ = strconv.Atoi(digits) // 0 if empty
	}
	rest := time.Duration(n[2])*time.Hour + time.Duration(n[3])*time.Minute
	at := now
	if days := 7*n[0] + n[1]; days > 0 {
		at = now.In(zone).AddDate(0, 0, days)
	}
	if at = at.Add(rest); !at.After(now) {
		return time.Time{}, errUntil
	}
	return at, nil
}

// dayNamed is the day of that name from today on; every: it comes again each week.
func dayNamed(name string, today time.Time) (day time.Time, every, ok bool) {
	lower := strings.ToLower(name)
	if lower == "tomorrow" {
		return today.AddDate(0, 0, 1), false, true
	}
	named := func(w string) bool { return len(lower) >= 3 && strings.HasPrefix(longNames()[w], lower) }
	if i := slices.IndexFunc(weekdays, named); i >= 0 {
		return today.AddDate(0, 0, (i-weekday(today)+7)%7), true, true
	}
	date, err := time.Parse(time.DateOnly, name)
	return date, false, err == nil
}

var longNames = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"Mon": "monday", "Tue": "tuesday", "Wed": "wednesday", "Thu": "thursday", "Fri": "friday", "Sat": "saturday", "Sun": "sunday",
	}
})
