package effective

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
	"approvalbot/internal/schedule"
)

// Duty is who is on duty, by every roster. Its calendars were not read yet, so all of
// their people count as on duty.
func Duty(c config.Config) schedule.Duty {
	var rosters []schedule.Roster
	for _, r := range c.ApprovalTools().OnDuty {
		out := schedule.Roster{Name: r.Name, Among: r.Among, Zone: cmp.Or(zoneOf(r.Timezone), time.UTC)}
		if r.Calendar != "" {
			out.Calendar = schedule.NewCalendar(string(r.Calendar), emailsOf(c, r.Among), out.Zone)
		} else {
			out.Rotation, _ = rotationOf(r) // Load reports a mistake
		}
		rosters = append(rosters, out)
	}
	return schedule.NewDuty(rosters...)
}

func rotationOf(r config.Roster) (*schedule.Rotation, error) {
	rota := schedule.Rota{Among: r.Among, Order: r.Rotation, Timezone: r.Timezone, Handoff: r.Handoff}
	for _, o := range r.Overrides {
		rota.Overrides = append(rota.Overrides, schedule.Override(o))
	}
	return schedule.NewRotation(rota)
}

// emailsOf gives the addresses of people in lower case, each with its owner's name.
func emailsOf(c config.Config, among []string) map[string]string {
	out := map[string]string{}
	for _, p := range c.People {
		if p.Email != "" && slices.Contains(among, p.Name) {
			out[strings.ToLower(p.Email)] = p.Name
		}
	}
	return out
}

func rosterNames(c config.Config) (names []string) {
	for _, r := range c.ApprovalTools().OnDuty {
		names = append(names, r.Name)
	}
	return names
}

// Contact gives the people who are told of an undecided approval, and when, apart from
// the chats that get its cards.
func Contact(c config.Config, rights people.Rights) schedule.Contact {
	r := c.ApprovalTools().Routing
	out := schedule.Contact{Duty: rights.Duty, Roles: map[string][]string{}, Quiet: map[string]schedule.Window{}}
	for _, after := range r.RemindAfter {
		out.RemindAfter = append(out.RemindAfter, time.Duration(after))
	}
	for _, e := range r.Escalate {
		if to, err := recipientOf(e.To, c); err == nil {
			out.Escalate = append(out.Escalate, schedule.Escalation{After: time.Duration(e.After), To: to})
		}
	}
	for _, p := range rights.People {
		for _, role := range p.Roles {
			out.Roles[role] = append(out.Roles[role], p.Name)
		}
		if !p.Quiet.IsZero() {
			out.Quiet[p.Name] = p.Quiet
		}
	}
	return out
}

// recipientOf reads the recipient of an escalation; a chat is in normal form.
func recipientOf(text string, c config.Config) (schedule.Recipient, error) {
	to, err := schedule.ParseRecipient(text, rosterNames(c))
	if err != nil || to.Chat == "" {
		return to, err
	}
	chat, err := approval.ParseTarget(to.Chat)
	to.Chat = chat.Normal().String()
	return to, err
}

// escalationChats are the chats that escalations ask.
func escalationChats(c config.Config) (chats []approval.Target) {
	for _, e := range c.ApprovalTools().Routing.Escalate {
		if to, err := recipientOf(e.To, c); err == nil && to.Chat != "" {
			chat, _ := approval.ParseTarget(to.Chat) // recipientOf has read it
			chats = append(chats, chat.Normal())
		}
	}
	return chats
}

// zoneOf is the timezone of that name; nil for an empty name.
func zoneOf(name string) *time.Location {
	zone, _ := schedule.Zone(name) // Load reports a mistake
	return zone
}

func quietOf(p config.Person) (schedule.Window, error) {
	if p.Quiet == "" {
		return schedule.Window{}, nil
	}
	return schedule.ParseDaily(p.Quiet, p.Timezone)
}

func drillOf(d config.Drill) schedule.Cron {
	cron, _ := schedule.ParseCron(d.Cron) // empty means never
	return cron
}

// moreOnDuty names the rosters by which more people may be on duty than before.
func moreOnDuty(old, now []config.Roster) (out []string) {
	for _, is := range now {
		was := slices.IndexFunc(old, func(r config.Roster) bool { return r.Name == is.Name })
		if was >= 0 && lacks(old[was].Among, is.Among) {
			out = append(out, "more people may be on duty by "+is.Name)
		}
	}
	return out
}

// recipients are the people that an escalation may ask.
func recipients(to schedule.Recipient, c config.Config) []config.Person {
	asked := func(p config.Person) bool { return slices.Contains(p.Roles, to.Role) }
	if to.Duty != "" {
		at := slices.IndexFunc(c.ApprovalTools().OnDuty, func(r config.Roster) bool { return r.Name == to.Duty })
		among := c.ApprovalTools().OnDuty[at].Among
		asked = func(p config.Person) bool { return slices.Contains(among, p.Name) }
	}
	return slices.DeleteFunc(slices.Clone(c.People), func(p config.Person) bool { return !asked(p) })
}

// reachable reports whether a person has an account in a chat that is on.
func reachable(p config.Person, c config.Config) bool {
	for channel, id := range p.Accounts {
		if id != "" && c.Channels.Bots[channel].On() {
			return true
		}
	}
	return false
}
