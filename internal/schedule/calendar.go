package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"approvalbot/internal/lazy"
)

// Limits of a calendar: its author may be anyone.
const (
	MaxCalendar = 1 << 20 // bytes

	maxLine   = 4 << 10 // of a line that is looked at
	maxDepth  = 4       // of components in each other
	maxEvents = 5000
	maxSteps  = 200_000 // days that are looked at for events that come again
	maxShifts = 2000

	before  = 24 * time.Hour // how far around now shifts are read
	ahead   = 45 * 24 * time.Hour
	longest = 366 * 24 * time.Hour // of one event
)

// Shift is one person's time on duty by a calendar. Its end is exclusive.
type Shift struct {
	Who   string    `json:"who"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// ReadCalendar reads the shifts around now from a calendar in iCalendar form. An event
// is the shift of each attendee whose address is in emails (lower case, to a name) and
// who has not declined; other events and attendees are ignored. Times without a zone
// are of the zone given; an event that comes again does so by the clock. If something
// that could change who is on duty is not understood, the whole calendar is
// unreadable: the error gives the reason and the number of the event.
func ReadCalendar(text []byte, emails map[string]string, zone *time.Location, now time.Time) ([]Shift, error) {
	plain, err := eventsOnly(text)
	if err != nil {
		return nil, err
	}
	cal, err := ics.ParseCalendar(bytes.NewReader(plain))
	if err != nil {
		return nil, errors.New("it is not a calendar in iCalendar form")
	}
	r := &reader{emails: emails, zone: zone, from: now.Add(-before), to: now.Add(ahead), zones: map[string]*time.Location{}}
	return r.read(cal.Events())
}

// wanted are the properties of events that say who is on duty and when.
var wanted = lazy.Words(`UID DTSTART DTEND DURATION RRULE EXRULE RDATE EXDATE RECURRENCE-ID ATTENDEE STATUS`)

// eventsOnly leaves of a calendar its events, one in no other, with what is wanted of
// them: the rest is not parsed at all.
func eventsOnly(text []byte) ([]byte, error) {
	if len(text) > MaxCalendar {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxCalendar)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	text = bytes.ReplaceAll(text, []byte("\n "), nil) // a line that goes on
	text = bytes.ReplaceAll(text, []byte("\n\t"), nil)
	var out bytes.Buffer
	var open []string
	events := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\n\r ")
		end := bytes.IndexAny(line, ":;")
		if end < 0 && len(line) == 0 {
			continue
		}
		if end < 0 {
			return nil, errors.New("it is not a calendar in iCalendar form")
		}
		name := strings.ToUpper(string(line[:end]))
		inEvent := len(open) == 2 && open[1] == "VEVENT"
		switch word := strings.ToUpper(string(line[end+1:])); {
		case name == "BEGIN":
			open = append(open, word)
			if len(open) > maxDepth || len(open) == 1 && word != "VCALENDAR" {
				return nil, errors.New("it has a BEGIN at a place that iCalendar does not allow")
			}
			if len(open) == 2 && word == "VEVENT" {
				events++
			}
			if len(open) == 1 || len(open) == 2 && word == "VEVENT" {
				fmt.Fprintf(&out, "BEGIN:%s\r\n", word)
			}
		case name == "END":
			if len(open) == 0 || open[len(open)-1] != word {
				return nil, errors.New("it has an END that does not belong to the last BEGIN")
			}
			if inEvent || len(open) == 1 {
				fmt.Fprintf(&out, "END:%s\r\n", word)
			}
			open = open[:len(open)-1]
		case len(open) == 0:
			return nil, errors.New("it is not a calendar in iCalendar form")
		case inEvent && wanted.Has(name) && len(line) > maxLine:
			return nil, fmt.Errorf("event %d has a line of more than %d bytes", events, maxLine)
		case inEvent && wanted.Has(name):
			out.WriteString(name)
			out.Write(line[end:])
			out.WriteString("\r\n")
		}
		if events > maxEvents {
			return nil, fmt.Errorf("it has more than %d events", maxEvents)
		}
	}
	if len(open) > 0 {
		return nil, errors.New("its last line is missing, so it may have been cut off")
	}
	return out.Bytes(), nil
}

// reader makes shifts of events.
type reader struct {
	emails   map[string]string
	zone     *time.Location
	from, to time.Time
	zones    map[string]*time.Location
	steps    int
	shifts   []Shift
}

func (r *reader) read(events []*ics.VEvent) ([]Shift, error) {
	moved := map[string]map[time.Time]bool{} // occurrences that are events of their own, by UID
	for i, e := range events {
		if err := r.notes(e, moved); err != nil {
			return nil, fmt.Errorf("event %d %w", i+1, err)
		}
	}
	for i, e := range events {
		if err := r.event(e, moved); err != nil {
			return nil, fmt.Errorf("event %d %w", i+1, err)
		}
		if len(r.shifts) > maxShifts {
			return nil, fmt.Errorf("it has more than %d shifts in the next %d days", maxShifts, int(ahead.Hours()/24))
		}
	}
	return r.shifts, nil
}

// notes records which occurrence of another event this one replaces.
func (r *reader) notes(e *ics.VEvent, moved map[string]map[time.Time]bool) error {
	p := e.GetProperty(ics.ComponentPropertyRecurrenceId)
	if p == nil {
		return nil
	}
	if param(p, "RANGE") != "" {
		return errors.New("changes this shift and all later ones (RANGE), which is not supported; end the series " +
			"there and begin a new one")
	}
	m, err := r.moment(p, p.Value)
	if err != nil {
		return err
	}
	if moved[e.Id()] == nil {
		moved[e.Id()] = map[time.Time]bool{}
	}
	moved[e.Id()][m.at()] = true
	return nil
}

// event adds the shifts of one event.
func (r *reader) event(e *ics.VEvent, moved map[string]map[time.Time]bool) error {
	who := r.attendees(e)
	status := e.GetProperty(ics.ComponentPropertyStatus)
	if len(who) == 0 || status != nil && strings.EqualFold(status.Value, "CANCELLED") {
		return nil
	}
	start, span, err := r.span(e)
	if err != nil || span == 0 {
		return err
	}
	skip, err := r.excluded(e)
	if err != nil {
		return err
	}
	if e.GetProperty(ics.ComponentPropertyRecurrenceId) == nil {
		for at := range moved[e.Id()] {
			skip[at] = true
		}
	}
	rule := e.GetProperty(ics.ComponentPropertyRrule)
	switch {
	case len(e.GetProperties(ics.ComponentPropertyRrule)) > 1, e.HasProperty(ics.ComponentPropertyRdate), e.HasProperty(ics.ComponentPropertyExrule):
		return errors.New("repeats by RDATE, EXRULE or two rules, which is not supported")
	case rule == nil:
		return r.add(who, start, start.day, span, skip)
	}
	again, err := r.parseRule(rule, start)
	if err != nil {
		return err
	}
	return r.expand(again, start, func(day time.Time) error { return r.add(who, start, day, span, skip) })
}

// attendees are those of the event who can be on duty and have not declined.
func (r *reader) attendees(e *ics.VEvent) (who []string) {
	for _, a := range e.Attendees() {
		address := strings.ToLower(strings.TrimSpace(a.Value))
		name, ok := r.emails[strings.TrimPrefix(address, "mailto:")]
		if ok && !strings.EqualFold(param(&a.IANAProperty, "PARTSTAT"), "DECLINED") {
			who = append(who, name)
		}
	}
	return who
}

// add makes the shifts of an event that begins on that day.
func (r *reader) add(who []string, start moment, day time.Time, span time.Duration, skip map[time.Time]bool) error {
	from := wall(day, start.minutes, start.zone, false)
	until := wall(day, start.minutes+int(span/time.Minute), start.zone, false)
	if skip[from] || !until.After(r.from) || !from.Before(r.to) || !until.After(from) {
		return nil
	}
	for _, name := range who {
		r.shifts = append(r.shifts, Shift{name, from, until})
	}
	return nil
}

// span gives the time at which an event begins, and its length by the clock. An event
// without an end has the length zero.
func (r *reader) span(e *ics.VEvent) (start moment, span time.Duration, err error) {
	p := e.GetProperty(ics.ComponentPropertyDtStart)
	if p == nil {
		return start, 0, errors.New("does not say when it begins")
	}
	if start, err = r.moment(p, p.Value); err != nil {
		return start, 0, err
	}
	end, length := e.GetProperty(ics.ComponentPropertyDtEnd), e.GetProperty(ics.ComponentPropertyDuration)
	switch {
	case end != nil:
		m, err := r.moment(end, end.Value)
		if err != nil {
			return start, 0, err
		}
		span = momentOf(m.at(), start.zone).shown().Sub(start.shown())
	case length != nil:
		if span, err = durationOf(length.Value); err != nil {
			return start, 0, err
		}
	case start.date:
		span = 24 * time.Hour
	}
	if span < 0 || span > longest {
		return start, 0, errors.New("ends before it begins, or is longer than a year")
	}
	return start, span, nil
}

// excluded are the occurrences that do not take place.
func (r *reader) excluded(e *ics.VEvent) (map[time.Time]bool, error) {
	skip := map[time.Time]bool{}
	for _, p := range e.GetProperties(ics.ComponentPropertyExdate) {
		for text := range strings.SplitSeq(p.Value, ",") {
			m, err := r.moment(p, text)
			if err != nil {
				return nil, err
			}
			skip[m.at()] = true
		}
	}
	return skip, nil
}
