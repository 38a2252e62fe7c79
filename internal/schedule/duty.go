package schedule

import (
	"slices"
	"strings"
	"time"
)

// OnDuty is who is on duty at a moment.
type OnDuty struct {
	Roster string
	People []string  // by name, in order; never empty
	Until  time.Time // zero: not known, or for good
	Next   []string  // the people who follow; empty if not known
	// Unknown says why it is not known who is on duty, so that everyone on the roster
	// is. It is empty if it is known.
	Unknown string
}

// String says it to people who read it at a moment: "alice until Mon 09:00 CET, then bob".
func (d OnDuty) String(now time.Time, zone *time.Location) string {
	text := strings.Join(d.People, ", ")
	if d.Unknown != "" {
		return "all of " + text + ", since " + d.Unknown
	}
	if !d.Until.IsZero() {
		text += " until " + Moment(d.Until, now, zone)
	}
	if len(d.Next) > 0 {
		text += ", then " + strings.Join(d.Next, ", ")
	}
	return text
}

// Roster is one rota by its name. Its Rotation or its Calendar decides which person of
// Among is on duty.
type Roster struct {
	Name     string
	Among    []string
	Zone     *time.Location // in which times are said
	Rotation *Rotation
	Calendar *Calendar
}

// at gives at least one person, and only people of Among.
func (r Roster) at(now time.Time) OnDuty {
	var d OnDuty
	switch {
	case r.Rotation != nil:
		d = r.Rotation.duty(now)
	case r.Calendar != nil:
		d = r.Calendar.duty(now)
	default:
		d.Unknown = "no rotation or calendar says who it is"
	}
	stranger := func(who string) bool { return !slices.Contains(r.Among, who) }
	d.People = slices.DeleteFunc(d.People, stranger)
	d.Next = slices.DeleteFunc(d.Next, stranger)
	if len(d.People) == 0 {
		d.People = slices.Clone(r.Among)
		if d.Unknown == "" {
			d.Unknown = "no person of the roster is named for now"
		}
	}
	d.Roster = r.Name
	return d
}

// Duty is every roster. It is safe for concurrent use.
type Duty struct{ rosters []Roster }

// NewDuty makes a Duty of rosters with different names.
func NewDuty(rosters ...Roster) Duty { return Duty{slices.Clone(rosters)} }

// WhoNow says who is on duty by a roster, and whether there is a roster of that name.
func (d Duty) WhoNow(roster string, now time.Time) (OnDuty, bool) {
	i := slices.IndexFunc(d.rosters, func(r Roster) bool { return r.Name == roster })
	if i < 0 {
		return OnDuty{}, false
	}
	return d.rosters[i].at(now), true
}

// Has reports whether the person is on duty by a roster.
func (d Duty) Has(roster, person string, now time.Time) bool {
	on, _ := d.WhoNow(roster, now)
	return slices.Contains(on.People, person)
}

// Among gives the people who can be on duty by a roster; nil if there is no such
// roster.
func (d Duty) Among(roster string) []string {
	i := slices.IndexFunc(d.rosters, func(r Roster) bool { return r.Name == roster })
	if i < 0 {
		return nil
	}
	return slices.Clone(d.rosters[i].Among)
}

// Calendars are those of the rosters that have one.
func (d Duty) Calendars() (out []RosterCalendar) {
	for _, r := range d.rosters {
		if r.Calendar != nil {
			out = append(out, RosterCalendar{r.Name, r.Calendar})
		}
	}
	return out
}

// RosterCalendar is the calendar of a roster.
type RosterCalendar struct {
	Roster string
	*Calendar
}

// Rosters lists the rosters as they were configured.
func (d Duty) Rosters() []Roster { return slices.Clone(d.rosters) }
