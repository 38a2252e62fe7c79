package config

import "strings"

// Roster tells who is on duty, by a Rotation or by a Calendar.
type Roster struct {
	Name      string     `yaml:"name"`
	Among     []string   `yaml:"among"` // people; only they are ever on duty
	Timezone  string     `yaml:"timezone"`
	Rotation  []string   `yaml:"rotation"`
	Handoff   string     `yaml:"handoff"` // Mon 09:00, or 09:00
	Overrides []Override `yaml:"overrides"`
	// Calendar is an iCalendar: a file's path, or an https address, which may be
	// secret.
	Calendar Secret `yaml:"calendar"`
}

// Override puts a person on duty from one moment to another (RFC 3339).
type Override struct {
	Who  string `yaml:"who"`
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// CalendarFile is the path of the roster's calendar; empty if it has an address
// instead, or no calendar.
func (r Roster) CalendarFile() string {
	if strings.Contains(string(r.Calendar), "://") {
		return ""
	}
	return string(r.Calendar)
}

// SLO is the time in which people aim to decide.
type SLO struct {
	DecidedWithin Duration `yaml:"decidedWithin"` // 0 if there is no aim
	Share         float64  `yaml:"share"`         // share of the requests that ask people
}

// Drill sets the times at which each route is tried unasked.
type Drill struct {
	Cron string `yaml:"cron"` // five fields, in UTC; empty means never
}
