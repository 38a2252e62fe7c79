package core

import (
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/schedule"
)

// planned gives what is left to do about a pending approval that is not decided. groups are
// the chats that have a card of it, or get one now.
func planned(a approval.Approval, rules *Rules, groups []approval.Target, now int64) []schedule.Step {
	with := rules.Contact
	with.Groups = nil
	for _, t := range groups {
		if _, private := t.Direct(); !private {
			with.Groups = append(with.Groups, t.String())
		}
	}
	return schedule.Plan(with, schedule.Ask{
		At: time.UnixMilli(a.CreatedAtMs), Expires: sinceAsked(a, a.ExpiresAtMs), BreaksQuiet: breaksQuiet(a, rules),
		Eligible: people.Names(reachable(a, rules.People)), Now: sinceAsked(a, now), Done: max(0, sinceAsked(a, a.PlanDoneMs)),
		Asked: a.AlsoAsked, Held: a.Held, Closed: closed(a, rules),
	})
}

// closed are the direct messages that an escalation names of those it makes no sense to
// ask.
func closed(a approval.Approval, rules *Rules) (out []string) {
	open := people.Names(people.Contacts(a, rules.People))
	for _, e := range rules.Contact.Escalate {
		t, err := approval.ParseTarget(e.To.Chat)
		if err != nil {
			continue
		}
		r, private := t.Direct()
		named := slices.Contains(open, rules.People.ByAccount[r]) && people.CouldDecide(a, r, rules.People)
		if private && !named && !openToNobodyNamed(a, r, rules.People) {
			out = append(out, e.To.Chat)
		}
	}
	return out
}

// sinceAsked is how long after the approval was asked a time is.
func sinceAsked(a approval.Approval, ms int64) time.Duration {
	return time.Duration(ms-a.CreatedAtMs) * time.Millisecond
}

func breaksQuiet(a approval.Approval, rules *Rules) bool {
	return a.Assessment.RiskClass >= rules.BreaksQuiet
}

// quiet reports whether a person is to be left alone then.
func quiet(a approval.Approval, person string, rules *Rules, now int64) bool {
	return !breaksQuiet(a, rules) && rules.Contact.Quiet[person].Contains(time.UnixMilli(now))
}

// followsPlan reports whether people are reminded of the approval and others asked. A drill
// does not, because it has asked everyone at once.
func followsPlan(a approval.Approval) bool { return !a.Final() && !a.Drill() }

// cards adds the first cards of an approval and says when the plan's first step is due. lately is how many cards of its
// owner's were made for each place in the last minute.
func (c Change) cards(places []approval.Target, lately map[approval.Target]int, rules *Rules, now int64) Change {
	a := &c.Approval
	for _, t := range places {
		c.Deliveries = append(c.Deliveries, firstCard(*a, t, lately[t.Normal()], rules.DigestAbove, now))
	}
	hush(*a, c.Deliveries, rules, now)
	if followsPlan(*a) {
		a.PlanMs = nextStep(*a, planned(*a, rules, places, now), now)
	}
	return c
}

// hush silences new cards in places that routing names: in a group if all who could decide
// are in quiet hours, and in a person's direct messages if that person is in quiet hours,
// or is away while others could decide.
func hush(a approval.Approval, cards []approval.Delivery, rules *Rules, now int64) {
	asleep := func(name string) bool { return quiet(a, name, rules, now) }
	open, asked := people.Names(people.Contacts(a, rules.People)), people.Names(reachable(a, rules.People))
	all := len(asked) > 0 && !slices.ContainsFunc(asked, func(name string) bool { return !asleep(name) })
	for i, d := range cards {
		r, private := d.Target.Direct()
		name := rules.People.ByAccount[r]
		_, away := rules.People.Away(name)
		switch leftAlone := away && !slices.Contains(open, name); {
		case d.Kind != approval.CardDelivery:
		case private:
			cards[i].Silent = asleep(name) || leftAlone
		default:
			cards[i].Silent = all
		}
	}
}

// replanned is the approval with its next step as these rules and people have it. What
// is due is left to its timer, and taken at once.
func replanned(a approval.Approval, rules *Rules, now int64) approval.Approval {
	if due := a.PlanMs != 0 && a.PlanMs <= now; due || !followsPlan(a) {
		return a
	}
	plan := planned(a, rules, Change{Approval: a}.groups(), now)
	a.PlanMs = 0
	for _, s := range plan {
		if s.Kind != schedule.StepCard && s.Kind != schedule.StepExpire {
			a.PlanMs = max(a.CreatedAtMs+s.After.Milliseconds(), now)
			break
		}
	}
	return a
}

// nextStep is when the first step of a plan is due that is not due yet; 0 if there is no
// such step.
func nextStep(a approval.Approval, plan []schedule.Step, now int64) int64 {
	for _, s := range plan {
		if at := a.CreatedAtMs + s.After.Milliseconds(); at > now && s.Kind != schedule.StepExpire {
			return at
		}
	}
	return 0
}

// follow adds what the plan asks for now to a change that has not ended the approval.
// stepped reports whether that was anything.
func (c Change) follow(rules *Rules, now int64) (_ Change, stepped bool) {
	if c.Unchanged || !followsPlan(c.Approval) {
		return c, false
	}
	if c, stepped = c.askElsewhere(rules, now); stepped {
		c.Redraw = true
	}
	plan := planned(c.Approval, rules, c.groups(), now)
	next := c.step(plan, rules, now)
	return next, stepped || len(next.Events) > len(c.Events)
}

// groups are the places of those cards that were posted, or are on their way.
func (c Change) groups() (out []approval.Target) {
	for _, d := range c.standing() {
		out = append(out, d.Target)
	}
	return out
}

// standing are the cards that are in chats or on their way, with those that the change
// adds.
func (c Change) standing() []approval.Delivery {
	return slices.DeleteFunc(slices.Concat(c.Approval.Deliveries, c.Deliveries), func(d approval.Delivery) bool {
		return d.Kind != approval.CardDelivery || d.State == approval.Failed
	})
}

// step takes the steps of a plan that are due, and says when the next one is.
func (c Change) step(plan []schedule.Step, rules *Rules, now int64) Change {
	a := &c.Approval
	for _, s := range plan {
		due := a.CreatedAtMs+s.After.Milliseconds() <= now
		switch {
		case !due:
			continue
		case s.Kind == schedule.StepRemind:
			c = c.remind(s, rules.People, now)
		case s.Kind == schedule.StepEscalate || s.Kind == schedule.StepSumUp:
			c = c.escalate(s, rules, now)
		default:
			continue
		}
		a.PlanDoneMs, c.Redraw = now, true
	}
	a.PlanMs = nextStep(*a, plan, now)
	return c
}

// remind adds replies to the cards of those who are to be reminded: in a group, with a
// mention of those who have an account there, and in their direct messages. If that reaches
// no one of them, or if no named person could decide, groups get a reply without a mention.
func (c Change) remind(s schedule.Step, people *people.Directory, now int64) Change {
	a := &c.Approval
	before := len(c.Deliveries)
	for _, card := range a.Deliveries {
		r, private := card.Target.Direct()
		ids := people.AccountsOn(approval.Platform(card.Target), s.People)
		if private {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id != r.UserID })
		}
		if len(ids) > 0 || private && openToNobodyNamed(*a, r, people) {
			c = c.remindBelow(card, ids, now)
		}
	}
	nobodyReached := len(c.Deliveries) == before && (len(s.People) > 0 || len(s.Held) == 0)
	for _, card := range a.Deliveries {
		if _, private := card.Target.Direct(); nobodyReached && !private {
			c = c.remindBelow(card, nil, now)
		}
	}
	c = c.hold(s)
	c.Events = append(c.Events, a.Event(approval.EventReminded, now, approval.EventData{Asked: s.People, Held: s.Held, Why: s.Why}))
	return c
}

// openToNobodyNamed reports whether an account that is no configured person's could
// still decide.
func openToNobodyNamed(a approval.Approval, r approval.Requester, directory *people.Directory) bool {
	v := directory.Identify(approval.Voter{Channel: r.Channel, UserID: r.UserID})
	voted := slices.ContainsFunc(a.Votes, func(o approval.Vote) bool { return o.By(v) })
	return v.Person == "" && !voted && directory.MayDecide(v) && people.Counts(a, v, directory)
}

// remindBelow adds a reply to a card that is in its chat, unless one is on its way.
func (c Change) remindBelow(card approval.Delivery, ids []string, now int64) Change {
	if card.Kind != approval.CardDelivery || card.State != approval.Sent || card.MessageID == "" {
		return c
	}
	waits := func(d approval.Delivery) bool {
		return d.Kind == approval.ReminderDelivery && d.State == approval.Queued && d.ReplyTo == card.MessageID && d.Target == card.Target
	}
	if slices.ContainsFunc(c.Approval.Deliveries, waits) || slices.ContainsFunc(c.Deliveries, waits) {
		return c
	}
	d := c.Approval.Delivery(approval.ReminderDelivery, card.Target, now)
	d.ReplyTo, d.Mention = card.MessageID, ids
	c.Deliveries = append(c.Deliveries, d)
	return c
}

// escalate asks more people, each in their direct messages, or puts a card into a chat that
// has none yet.
func (c Change) escalate(s schedule.Step, rules *Rules, now int64) Change {
	a, people := &c.Approval, rules.People
	data := approval.EventData{Held: s.Held, To: s.To.String(), Why: s.Why, Silent: s.Silent}
	for _, text := range s.Chats {
		t, err := approval.ParseTarget(text)
		onlyVerifier := !a.Rule.AsksApprovers()
		if err != nil || onlyVerifier || c.hasCardAt(t.Normal()) {
			continue
		}
		d := furtherCard(*a, t.Normal(), now)
		r, _ := t.Direct() // a group is no person's
		d.Silent = s.Silent || quiet(*a, people.ByAccount[r], rules, now)
		c.Deliveries, data.Chats = append(c.Deliveries, d), append(data.Chats, d.Target.String())
	}
	for _, name := range s.People {
		if d, ok := c.directly(people.People[name], people, now); ok {
			sumUp := s.Kind == schedule.StepSumUp && d.Kind == approval.CardDelivery
			if sumUp && a.Assessment.RiskClass < approval.R4 { // one message for all that waited
				d = foldedCard(*a, d.Target, name, now)
			}
			d.Silent = s.Silent
			c.Deliveries = append(c.Deliveries, d)
		}
		data.Asked = append(data.Asked, name)
	}
	c = c.hold(s)
	a.AlsoAsked = append(append(a.AlsoAsked, data.Chats...), data.Asked...)
	switch {
	case s.Why == "" || len(s.People) == 0:
	case s.Instead:
		a.AskedWhy = s.Why
	case s.To.Duty != "":
		a.AskedWhy = "it is not known who is on duty: " + s.Why
	}
	if s.Kind == schedule.StepSumUp {
		data.Why = "their quiet hours are over"
	}
	c.Events = append(c.Events, a.Event(approval.EventEscalated, now, data))
	return c
}

// hold notes the people who wait for the end of their quiet hours, and those who no longer
// do.
func (c Change) hold(s schedule.Step) Change {
	a := &c.Approval
	if s.Kind != schedule.StepRemind {
		a.Held = slices.DeleteFunc(a.Held, func(name string) bool { return slices.Contains(s.People, name) })
	}
	for _, name := range s.Held {
		if !slices.Contains(a.Held, name) && !slices.Contains(a.AlsoAsked, name) {
			a.Held = append(a.Held, name)
		}
	}
	return c
}

func (c Change) hasCardAt(t approval.Target) bool {
	return slices.ContainsFunc(c.standing(), func(d approval.Delivery) bool { return d.Target.Normal() == t })
}

// directly gives the direct message that asks a person: a card at the first of their places
// that takes one, or a reminder of the card that is there already. It reports false if a
// card is on its way, or no place is left to try.
func (c Change) directly(p people.Person, directory *people.Directory, now int64) (approval.Delivery, bool) {
	a := c.Approval
	for _, t := range people.PlacesOf(a, p, directory) {
		card, found := cardAt(a, t)
		switch {
		case !found && !c.hasCardAt(t):
			return furtherCard(a, t, now), true
		case !found:
			return approval.Delivery{}, false
		case card.State == approval.Sent && card.MessageID != "":
			d := a.Delivery(approval.ReminderDelivery, t, now)
			d.ReplyTo, d.Mention = card.MessageID, directory.AccountsOn(approval.Platform(t), []string{p.Name})
			return d, true
		case card.State != approval.Failed:
			return approval.Delivery{}, false
		}
	}
	return approval.Delivery{}, false
}

// askElsewhere tries the next place of each person whose direct message has failed for
// good. If a person has no place left, or a chat takes no card, it asks all others who were
// not asked.
func (c Change) askElsewhere(rules *Rules, now int64) (_ Change, stepped bool) {
	a := &c.Approval
	open := people.Names(people.Contacts(*a, rules.People))
	for _, name := range slices.Clone(a.AlsoAsked) {
		p, person := rules.People.People[name]
		lost := slices.Contains(open, name) && lost(*a, p, rules.People)
		if !lost && (person || !lostChat(*a, name)) {
			continue
		}
		stepped = true
		if d, ok := c.directly(p, rules.People, now); ok {
			d.Silent = quiet(*a, name, rules, now)
			c.Deliveries = append(c.Deliveries, d)
			continue
		}
		a.AlsoAsked = slices.DeleteFunc(a.AlsoAsked, func(other string) bool { return other == name })
		c = c.escalate(insteadOf(*a, name, rules, now), rules, now)
	}
	return c, stepped
}

// insteadOf asks all others who were not asked, in place of a person who cannot be reached.
// It asks people in quiet hours, without a sound, only if no one else has heard of it.
func insteadOf(a approval.Approval, name string, rules *Rules, now int64) schedule.Step {
	s := schedule.Step{Kind: schedule.StepEscalate, Instead: true,
		Why: name + " cannot be reached, so everyone is asked"}
	reached := false
	for _, other := range people.Names(reachable(a, rules.People)) {
		switch asked, asleep := slices.Contains(a.AlsoAsked, other), quiet(a, other, rules, now); {
		case asked:
			reached = reached || !asleep
		case asleep:
			s.Held = append(s.Held, other)
		default:
			s.People = append(s.People, other)
		}
	}
	if len(s.People) == 0 && len(s.Held) > 0 && !reached {
		s.People, s.Held, s.Silent = s.Held, nil, true
	}
	return s
}

// lostChat reports whether a chat that an escalation asked takes no card.
func lostChat(a approval.Approval, name string) bool {
	t, err := approval.ParseTarget(name)
	if err != nil {
		return false
	}
	card, found := cardAt(a, t.Normal())
	return found && card.State == approval.Failed
}

// lost reports whether every card that went to a person directly has failed for good.
func lost(a approval.Approval, p people.Person, directory *people.Directory) bool {
	failed := false
	for _, t := range people.PlacesOf(a, p, directory) {
		card, found := cardAt(a, t)
		if found && card.State != approval.Failed {
			return false
		}
		failed = failed || found
	}
	return failed
}

// reachable are the contacts who have a place for a direct message that has not failed.
func reachable(a approval.Approval, directory *people.Directory) []people.Person {
	return slices.DeleteFunc(people.Contacts(a, directory), func(p people.Person) bool {
		return !slices.ContainsFunc(people.PlacesOf(a, p, directory), func(t approval.Target) bool {
			card, found := cardAt(a, t)
			return !found || card.State != approval.Failed
		})
	})
}

// cardAt gives the newest card that was made for that very place.
func cardAt(a approval.Approval, t approval.Target) (card approval.Delivery, found bool) {
	for _, d := range a.Deliveries {
		if d.Kind == approval.CardDelivery && d.Target.Normal() == t {
			card, found = d, true
		}
	}
	return card, found
}

// lostRight reports whether a delivery is a card, or a round's message, that was not sent yet, to a person who
// could not decide by now and whom only an escalation would ask, not routing.
func lostRight(a approval.Approval, d approval.Delivery, rules *Rules) bool {
	r, private := d.Target.Direct()
	ofCard := d.Kind == approval.CardDelivery
	if d.Kind == approval.RetryAskedDelivery && a.Round != nil {
		a, ofCard = a.Again(*a.Round), true
	}
	if !private || d.MessageID != "" || !ofCard || a.Final() || people.CouldDecide(a, r, rules.People) {
		return false
	}
	routes := rules.Router.Route(a)
	return !slices.ContainsFunc(slices.Concat(routes.Targets, routes.Verifier, routes.Fallback), func(t approval.Target) bool {
		return t.Normal() == d.Target.Normal()
	})
}
