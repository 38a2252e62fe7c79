package effective

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
	"approvalbot/internal/platform"
	"approvalbot/internal/schedule"
)

// Timeline tells who is told of an undecided request, and when.
type Timeline struct {
	Name string `json:"name"` // a class, and the moment if that matters
	Text string `json:"text"`
}

// Timelines gives a line for each class that asks people, as of now and, if that
// differs, as of the middle of a Sunday's night; before them a line for people who are
// away now. Times are those of the Zone.
func Timelines(c config.Config, duty schedule.Duty, now time.Time, absences ...people.Absence) ([]Timeline, error) {
	rights := Rights(c)
	rights.Duty = duty
	dir, err := people.NewDirectory(rights)
	if err != nil {
		return nil, err
	}
	contact := Contact(c, rights)
	contact.Groups = groups(c)
	night := sundayNight(now.In(Zone(c)))
	var away []string
	for _, a := range dir.At(now, absences...).Absent() {
		away = append(away, a.Person+awayText(a, now, Zone(c)))
	}
	var out []Timeline
	if len(away) > 0 {
		out = append(out, Timeline{"away", strings.Join(away, "; ")})
	}
	for class := range approval.R4 + 1 {
		if outcomeOf(c, class) != "ask" {
			continue
		}
		line := func(at time.Time) string {
			people := present(decidersOf(c, dir), dir.At(at, absences...))
			return schedule.Line(schedule.Plan(contact, askOf(c, class, people, at)))
		}
		today, asleep := line(now), line(night)
		if today == asleep {
			out = append(out, Timeline{class.String(), today})
			continue
		}
		out = append(out, Timeline{class.String() + " now", today}, Timeline{class.String() + " on a Sunday at 03:10", asleep})
	}
	return out, nil
}

// present gives those of the people who are not away, or all of them if all are
// away.
func present(people []string, dir *people.Directory) []string {
	here := slices.DeleteFunc(slices.Clone(people), func(name string) bool { _, away := dir.Away(name); return away })
	if len(here) == 0 {
		return people
	}
	return here
}

// awayText tells until when a person is away, and who their delegate is.
func awayText(a people.Absence, now time.Time, zone *time.Location) string {
	text := " until " + schedule.Moment(time.UnixMilli(a.UntilMs), now, zone)
	if a.To != "" {
		text += ", delegate " + a.To
	}
	return text
}

// askOf is a request of that class which waits as long as one does by default.
func askOf(c config.Config, class approval.RiskClass, people []string, at time.Time) schedule.Ask {
	t := c.ApprovalTools()
	return schedule.Ask{
		At: at, Expires: time.Duration(t.TimeoutMs) * time.Millisecond, Eligible: people,
		BreaksQuiet: t.Policy.BreaksQuietAtOrAbove.Reaches(class),
	}
}

// groups are the chats that get a card at once.
func groups(c config.Config) (out []string) {
	r := c.ApprovalTools().Routing
	if r.Mode != "targets" {
		out = append(out, "the session's chat")
	}
	if r.Mode != "session" {
		for _, t := range config.Targets(r.Targets) {
			if c.Channels.Bots[t.Channel].On() {
				out = append(out, t.String())
			}
		}
	}
	return out
}

// Zone is the timezone in which a configuration is described: the first that it
// names, or UTC.
func Zone(c config.Config) *time.Location {
	var names []string
	for _, r := range c.ApprovalTools().OnDuty {
		names = append(names, r.Timezone)
	}
	for _, p := range c.People {
		names = append(names, p.Timezone)
	}
	for _, t := range c.ApprovalTools().Routing.Targets {
		names = append(names, t.Timezone)
	}
	return cmp.Or(zoneOf(cmp.Or(names...)), time.UTC)
}

// sundayNight is the next time at which it is 03:10 on a Sunday.
func sundayNight(now time.Time) time.Time {
	days := (7 - int(now.Weekday())) % 7
	night := time.Date(now.Year(), now.Month(), now.Day()+days, 3, 10, 0, 0, now.Location())
	if !night.After(now) {
		return night.AddDate(0, 0, 7)
	}
	return night
}

// Asked is a person who could be asked now.
type Asked struct {
	Name    string
	Through []string       // chats, and "API" for terminal and tokens; empty if they cannot be reached
	Quiet   time.Time      // the end of the quiet hours in which they are left alone; zero if they are awake
	Away    people.Absence // in which they are left alone; zero if they are present
	Off     []string       // the rosters that they are in, and by which they are not on duty
}

// AskedNow tells for everyone who may decide calls of a class the channels through
// which they can be asked now, and the reasons that keep them from being told.
func AskedNow(
	c config.Config, duty schedule.Duty, class approval.RiskClass, now time.Time, absences ...people.Absence,
) ([]Asked, error) {
	rights := Rights(c)
	dir, err := people.NewDirectory(rights)
	if err != nil {
		return nil, err
	}
	contact := Contact(c, rights)
	breaks := c.ApprovalTools().Policy.BreaksQuietAtOrAbove.Reaches(class)
	dir = dir.At(now, absences...)
	var out []Asked
	for _, name := range decidersOf(c, dir) {
		a := Asked{Name: name, Through: through(name, c, rights, dir)}
		if !breaks {
			a.Quiet = contact.Quiet[name].End(now)
		}
		a.Away, _ = dir.Away(name)
		for _, r := range duty.Rosters() {
			if slices.Contains(r.Among, name) && !duty.Has(r.Name, name, now) {
				a.Off = append(a.Off, r.Name)
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// through lists the enabled chats in which the person may decide, and API.
func through(name string, c config.Config, rights people.Rights, dir *people.Directory) (out []string) {
	for _, p := range rights.People {
		for _, channel := range platform.Names() {
			v := approval.Voter{Person: p.Name, Channel: channel, UserID: p.Accounts[channel], Roles: rights.AllowedRoles[channel]}
			if p.Name == name && v.UserID != "" && dir.MayDecide(v) {
				out = append(out, channel)
			}
		}
	}
	for _, person := range rights.Tokens {
		if person == name && !slices.Contains(out, "API") {
			out = append(out, "API")
		}
	}
	return out
}

// Hears reports whether the person would be told of it now.
func (a Asked) Hears() bool {
	return a.Quiet.IsZero() && a.Away == (people.Absence{}) && len(a.Through) > 0
}

// Text words it for people: "alice by telegram and API (quiet until 07:00)".
func (a Asked) Text(now time.Time, zone *time.Location) string {
	text := a.Name + " by no channel that is on"
	if len(a.Through) > 0 {
		text = a.Name + " by " + strings.Join(a.Through, " and ")
	}
	var but []string
	if a.Away != (people.Absence{}) {
		but = append(but, "away"+awayText(a.Away, now, zone))
	}
	if !a.Quiet.IsZero() {
		but = append(but, "quiet until "+schedule.Moment(a.Quiet, now, zone))
	}
	if len(a.Off) > 0 {
		but = append(but, "not on duty by "+strings.Join(a.Off, ", "))
	}
	if len(but) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(but, "; "))
	}
	return text
}
