package schedule

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"approvalbot/internal/lazy"
)

// Window is a stretch of time that comes again every day or every week, or comes
// once. It includes its beginning and not its end.
//
// Daily and weekly windows go by the clocks of their zone. If the clocks are set
// forward over a beginning or an end, that moment is the beginning or end; a window
// that lies within the skipped time does not occur that day. If the clocks are set
// back and show a time twice, a window begins at the first and ends at the second:
// rather too long than too short. The zero Window contains no moment.
type Window struct {
	zone *time.Location

	period     int // in days: 1 or 7; 0 if it comes once
	from, span int // in minutes: from the period's first midnight, and how long by the clock

	start, end time.Time // of one that comes once
}

const clockTime = `([01]?[0-9]|2[0-4]):([0-5][0-9])`

var (
	dailySpan  = lazy.Pattern(`^` + clockTime + ` ?[-–] ?` + clockTime + `$`)
	dailyText  = lazy.Pattern(`^(.*[0-9])(?: ([^ :]+))?$`)
	weeklySpan = lazy.Pattern(`^([A-Z][a-z]{2}) ` + clockTime + ` ?[-–] ?([A-Z][a-z]{2}) ` + clockTime + `$`)
	weekdays   = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
)

var (
	errDaily  = errors.New("must be two times of the day such as 22:00-07:00")
	errWeekly = errors.New("must be two times of the week such as Fri 16:00-Mon 08:00")
	errSame   = errors.New("begins and ends at the same time: it would be empty, or never end")
	errOnce   = errors.New("must have from and to as times with date and offset (RFC 3339), such as 2026-12-24T16:00:00+01:00")
	errNoEnd  = errors.New("has no end; for a rule that always applies, leave out during")
	errEmpty  = errors.New("ends before it begins")
)

// ParseDaily reads a daily window with its zone: "22:00–07:00 Europe/Berlin", with a
// hyphen or a dash. If the text has no zone, fallback is used. The error says what is
// allowed there.
func ParseDaily(text, fallback string) (Window, error) {
	m := dailyText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Window{}, errDaily
	}
	return Daily(m[1], cmp.Or(m[2], fallback))
}

// Daily is the window from one time of the day to another ("22:00-07:00"), into the
// next day if the second is earlier.
func Daily(span, zone string) (Window, error) {
	m := dailySpan.FindStringSubmatch(span)
	if m == nil {
		return Window{}, errDaily
	}
	from, okFrom := minutesOf(m[1], m[2], false)
	to, okTo := minutesOf(m[3], m[4], true)
	if !okFrom || !okTo {
		return Window{}, errDaily
	}
	return recurring(1, from, to, zone)
}

// Weekly is the window from one time of the week to another ("Fri 16:00-Mon 08:00"),
// into the next week if the second is earlier.
func Weekly(span, zone string) (Window, error) {
	m := weeklySpan.FindStringSubmatch(strings.TrimSpace(span))
	if m == nil {
		return Window{}, errWeekly
	}
	from, okFrom := weekMinutes(m[1], m[2], m[3], false)
	to, okTo := weekMinutes(m[4], m[5], m[6], true)
	if !okFrom || !okTo {
		return Window{}, errWeekly
	}
	return recurring(7, from, to, zone)
}

func recurring(period, from, to int, zone string) (Window, error) {
	at, err := Zone(zone)
	if err != nil {
		return Window{}, errors.New("needs a timezone, which " + err.Error())
	}
	whole := period * dayMinutes
	span := ((to-from)%whole + whole) % whole
	if span == 0 {
		return Window{}, errSame
	}
	return Window{zone: at, period: period, from: from, span: span}, nil
}

// Once is the window from one moment to another, both in RFC 3339. An empty from is
// the beginning of time. The zone, which may be empty, is only for saying when it ends.
func Once(from, to, zone string) (w Window, err error) {
	if to == "" {
		return w, errNoEnd
	}
	if w.end, err = time.Parse(time.RFC3339, to); err != nil {
		return Window{}, errOnce
	}
	if from != "" {
		if w.start, err = time.Parse(time.RFC3339, from); err != nil {
			return Window{}, errOnce
		}
	}
	w.zone = w.end.Location()
	if zone != "" {
		if w.zone, err = Zone(zone); err != nil {
			return Window{}, err
		}
	}
	switch {
	case w.start.Equal(w.end):
		return Window{}, errSame
	case w.start.After(w.end):
		return Window{}, errEmpty
	}
	return w, nil
}

// minutesOf reads a time of the day; 24:00 is only an end.
func minutesOf(hours, minutes string, end bool) (int, bool) {
	h, errHours := strconv.Atoi(hours)
	m, errMinutes := strconv.Atoi(minutes)
	n, most := h*60+m, dayMinutes-1
	if end {
		most = dayMinutes
	}
	return n, errHours == nil && errMinutes == nil && n <= most
}

// weekMinutes reads a time of the week, from Monday's first midnight.
func weekMinutes(day, hours, minutes string, end bool) (int, bool) {
	n, ok := minutesOf(hours, minutes, end)
	for i, name := range weekdays {
		if name == day {
			return i*dayMinutes + n, ok
		}
	}
	return 0, false
}

// Contains reports whether the moment is in the window.
func (w Window) Contains(t time.Time) bool {
	start, end := w.Next(t)
	return !end.IsZero() && !start.After(t)
}

// End is the end of the window that contains the moment; zero if it is in no
// window.
func (w Window) End(t time.Time) time.Time {
	if start, end := w.Next(t); !start.After(t) {
		return end
	}
	return time.Time{}
}

// Next gives the bounds of the window that contains the moment, or else of the next
// one. Both are zero if no window follows.
func (w Window) Next(t time.Time) (start, end time.Time) {
	if w.period == 0 {
		if !t.Before(w.end) {
			return time.Time{}, time.Time{}
		}
		return w.start, w.end
	}
	for k := -2; k <= 4; k++ {
		from, to := w.bounds(t, k)
		switch {
		case !to.After(t) || !to.After(from): // over, or skipped by the clocks
		case end.IsZero():
			start, end = from, to
		case !from.After(end): // clocks that are set make two of them meet
			end = to
		default:
			return start, end
		}
	}
	return start, end
}

// bounds are those of the window that begins so many periods after the one of t.
func (w Window) bounds(t time.Time, k int) (from, to time.Time) {
	day := dayOf(t, w.zone)
	if w.period == 7 {
		day = day.AddDate(0, 0, -weekday(day))
	}
	day = day.AddDate(0, 0, k*w.period)
	return wall(day, w.from, w.zone, false), wall(day, w.from+w.span, w.zone, true)
}

// Ends tells people when the window ends that contains the moment: "Mon 08:00
// CET". It is empty if no window does.
func (w Window) Ends(t time.Time) string {
	end := w.End(t)
	if end.IsZero() {
		return ""
	}
	return Moment(end, t, w.zone)
}

// Holds reports whether another window surely lies in this one, whenever that comes.
func (w Window) Holds(o Window) bool {
	switch whole := w.period * dayMinutes; {
	case w.IsZero() || o.IsZero() || w.period != o.period:
		return false
	case w.period == 0:
		return !w.start.After(o.start) && !w.end.Before(o.end)
	default:
		later := ((o.from-w.from)%whole + whole) % whole
		return w.zone.String() == o.zone.String() && later+o.span <= w.span
	}
}

// IsZero reports whether w is the zero Window, which contains no moment.
func (w Window) IsZero() bool { return w == Window{} }
