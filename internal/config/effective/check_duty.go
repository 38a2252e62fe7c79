package effective

import (
	"errors"
	"net/url"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/lazy"
	"approvalbot/internal/people"
	"approvalbot/internal/platform"
	"approvalbot/internal/schedule"
)

// Limits of what is done about one undecided approval.
const (
	maxReminders   = 20
	maxEscalations = 20
)

// address accepts attendees as calendars write them, which is less than all addresses
// that are allowed.
var address = lazy.Pattern(`^[^\s@<>:"(),;]+@[^\s@<>:"(),;]+$`)

func (c *checker) checkEmail(key, email string) {
	if len(email) > 254 || !address.MatchString(email) {
		c.Mistake(key, "must be an e-mail address such as alice@example.org")
	}
}

// checkTimes checks a person's timezone and quiet hours.
func (c *checker) checkTimes(key string, p config.Person) {
	if c.zone(key+".timezone", p.Timezone) {
		if _, err := quietOf(p); err != nil {
			c.Mistake(key+".quiet", "%s", err)
		}
	}
}

func (c *checker) zone(key, name string) bool {
	if name == "" {
		return true
	}
	_, err := schedule.Zone(name)
	if err != nil {
		c.Mistake(key, "%s", err)
	}
	return err == nil
}

// dutyRoles refuses roles that a person has only while on duty.
func (c *checker) dutyRoles(key string, roles []string) {
	for i, role := range roles {
		if _, duty := people.DutyRole(role); duty {
			c.Mistake(config.Index(key, i), "begins with onDuty:, a role that only approvals.tools.onDuty can give")
		}
	}
}

func (c *checker) checkDuty(key string, cfg *config.Config) {
	dir, err := people.NewDirectory(Rights(allOn(*cfg)))
	deciders := []string{}
	if err == nil {
		deciders = decidersOf(allOn(*cfg), dir)
	}
	names := rosterNames(*cfg)
	for i, r := range cfg.Approvals.Tools.OnDuty {
		at := config.Index(key, i)
		known := c.checkAmong(at+".among", r.Among, cfg.People)
		c.checkRoster(at, r, cfg.People)
		decides := func(name string) bool { return slices.Contains(deciders, name) }
		if known && err == nil && !slices.ContainsFunc(r.Among, decides) {
			c.Warn(at+".among", "names no person who may decide in a chat (allowedUserIds) or with a token (operator.approvals and a person)")
		}
	}
	c.names(key, "name", names)
}

// checkAmong reports whether all are people, and at least one is there.
func (c *checker) checkAmong(key string, among []string, people []config.Person) bool {
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = p.Name
	}
	known := len(among) > 0
	for i, name := range among {
		if !slices.Contains(names, name) {
			c.Mistake(config.Index(key, i), "names no person under people%s", config.DidYouMean(name, names))
			known = false
		}
	}
	distinct(c, key, among)
	return known
}

func (c *checker) checkRoster(key string, r config.Roster, people []config.Person) {
	turns := c.Has(key+".rotation") || c.Has(key+".handoff") || c.Has(key+".overrides")
	switch {
	case r.Calendar != "" && turns:
		c.Mistake(key+".calendar", "contradicts rotation, handoff and overrides; use one or the other")
	case r.Calendar != "":
		c.checkCalendar(key, r, people)
	case !c.Has(key + ".rotation"):
		c.Mistake(key, "needs a rotation of people, or a calendar")
	default:
		if _, err := rotationOf(r); err != nil {
			c.fault(key, err)
		}
	}
}

func (c *checker) checkCalendar(key string, r config.Roster, people []config.Person) {
	if len(r.Among) == 0 {
		c.Mistake(key+".among", "is empty; name the people who can be on duty")
	}
	if _, err := schedule.Zone(r.Timezone); err != nil {
		c.Mistake(key+".timezone", "%s", err)
	}
	u, err := url.Parse(string(r.Calendar))
	if r.CalendarFile() == "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "") {
		c.Mistake(key+".calendar", "must be a file's path, or an https address without a user and a fragment")
	}
	for i, name := range r.Among {
		who := slices.IndexFunc(people, func(p config.Person) bool { return p.Name == name })
		if who >= 0 && people[who].Email == "" {
			c.Warn(config.Index(key+".among", i), "has no email (people[].email), so the calendar cannot name "+
				"this person")
		}
	}
}

// fault names the part for which a rotation or a recipient is refused.
func (c *checker) fault(key string, err error) {
	var f *schedule.Fault
	if errors.As(err, &f) && f.Key != "" {
		c.Mistake(key+"."+f.Key, "%s", f.Text)
		return
	}
	c.Mistake(key, "%s", err)
}

// checkContacts checks the reminders and escalations of an undecided approval. One
// that would come after the expiry is refused.
func (c *checker) checkContacts(key string, cfg *config.Config) {
	t := cfg.Approvals.Tools
	life := time.Duration(t.TimeoutMs) * time.Millisecond
	inTime := func(key string, after config.Duration) {
		if time.Duration(after) >= life {
			c.Mistake(key, "never happens, because an approval expires after %s (approvals.tools.timeoutMs)", life)
		}
	}
	for i, after := range t.Routing.RemindAfter {
		at := config.Index(key+".remindAfter", i)
		if after == 0 {
			c.Mistake(at, "must be longer than 0s")
		}
		inTime(at, after)
	}
	distinct(c, key+".remindAfter", t.Routing.RemindAfter)
	for i, e := range t.Routing.Escalate {
		at := config.Index(key+".escalate", i)
		if !c.Has(at + ".after") {
			c.Mistake(at, "needs after: how long the request must be undecided, such as 5m")
		}
		inTime(at+".after", e.After)
		c.checkRecipient(at+".to", e.To, cfg)
	}
	distinct(c, key+".escalate", t.Routing.Escalate)
	if len(t.Routing.RemindAfter) > maxReminders || len(t.Routing.Escalate) > maxEscalations {
		c.Mistake(key, "has more than %d reminders or %d escalations", maxReminders, maxEscalations)
	}
	c.atLeast(key+".digestAbove", t.Routing.DigestAbove, 0)
}

func (c *checker) checkRecipient(key, text string, cfg *config.Config) {
	to, err := recipientOf(text, *cfg)
	chat, _ := approval.ParseTarget(to.Chat)
	var f *schedule.Fault
	switch {
	case errors.As(err, &f):
		c.Mistake(key, "%s", f.Text)
	case err != nil:
		c.Mistake(key, "must be onDuty, onDuty:NAME, role:NAME, or a chat with numeric ids such as %s", platform.Rows[0].Example)
	case to.Role != "" && !slices.ContainsFunc(cfg.People, func(p config.Person) bool { return slices.Contains(p.Roles, to.Role) }):
		c.Mistake(key, "is a role that no person under people has")
	case to.Chat != "" && !cfg.Channels.Bots[chat.Channel].On():
		c.Warn(key, "%s is off: no card goes there", chat.Channel)
	case to.Chat == "" && !slices.ContainsFunc(recipients(to, *cfg), func(p config.Person) bool { return reachable(p, *cfg) }):
		c.Warn(key, "names no person who has an account in a chat that is on, so the desk can send no direct message")
	}
}

func (c *checker) checkObjective(key string, o config.SLO) {
	if o.Share <= 0 || o.Share >= 1 {
		c.Mistake(key+".share", "must be more than 0 and less than 1, such as 0.95")
	}
}

func (c *checker) checkDrill(key, cron string) {
	if cron == "" {
		return
	}
	if _, err := schedule.ParseCron(cron); err != nil {
		c.Mistake(key, "%s", err)
	}
}
