package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/display"
	"approvalbot/internal/schedule"
)

// planned gives what is left to do about a pending approval that nobody decides. groups are
// the chats that have a card of it, or get one now.
func (a Approval) planned(rules *Rules, groups []Target, now int64) []schedule.Step {
	with := rules.Contact
	with.Groups = nil
	for _, t := range groups {
		if _, private := t.direct(); !private {
			with.Groups = append(with.Groups, t.String())
		}
	}
	return schedule.Plan(with, schedule.Ask{
		At: time.UnixMilli(a.CreatedAtMs), Expires: a.sinceAsked(a.ExpiresAtMs), BreaksQuiet: a.breaksQuiet(rules),
		Eligible: names(a.reachable(rules.People)), Now: a.sinceAsked(now), Done: max(0, a.sinceAsked(a.PlanDoneMs)),
		Asked: a.AlsoAsked, Held: a.Held, Closed: a.closed(rules),
	})
}

// closed are the direct messages that an escalation names of those it makes no sense to
// ask.
func (a Approval) closed(rules *Rules) (out []string) {
	open := names(a.contacts(rules.People))
	for _, e := range rules.Contact.Escalate {
		t, err := ParseTarget(e.To.Chat)
		if err != nil {
			continue
		}
		r, private := t.direct()
		named := slices.Contains(open, rules.People.byAccount[r]) && a.couldDecide(r, rules.People)
		if private && !named && !a.openToNobodyNamed(r, rules.People) {
			out = append(out, e.To.Chat)
		}
	}
	return out
}

// couldDecide reports whether the account could decide the approval; a role of a chat,
// which is seen at the tap only, is taken for held.
func (a Approval) couldDecide(r Requester, people *Directory) bool {
	v := Voter{Channel: r.Channel, UserID: r.UserID, Roles: people.roles[r.Channel]}
	return a.counts(people.Identify(v), people)
}

// sinceAsked is how long after the approval was asked a time is.
func (a Approval) sinceAsked(ms int64) time.Duration {
	return time.Duration(ms-a.CreatedAtMs) * time.Millisecond
}

func (a Approval) breaksQuiet(rules *Rules) bool { return a.Assessment.RiskClass >= rules.BreaksQuiet }

// quiet reports whether a person is to be left alone then.
func (a Approval) quiet(person string, rules *Rules, now int64) bool {
	return !a.breaksQuiet(rules) && rules.Contact.Quiet[person].Contains(time.UnixMilli(now))
}

// followsPlan reports whether people are reminded of the approval and others asked: a
// drill has asked everybody at once.
func (a Approval) followsPlan() bool { return !a.Final() && !a.Drill() }

// cards adds the first cards of an approval and says when the plan's first step is due. lately is how many cards of its
// owner's were made for each place in the last minute.
func (c Change) cards(places []Target, lately map[Target]int, rules *Rules, now int64) Change {
	a := &c.Approval
	for _, t := range places {
		c.Deliveries = append(c.Deliveries, a.firstCard(t, lately[t.Normal()], rules.DigestAbove, now))
	}
	a.hush(c.Deliveries, rules, now)
	if a.followsPlan() {
		a.PlanMs = a.nextStep(a.planned(rules, places, now), now)
	}
	return c
}

// hush has new cards for places that routing names make no sound: in a group where all who
// could decide are in quiet hours, in somebody's direct messages where that one is, or is
// away while others could decide.
func (a Approval) hush(cards []Delivery, rules *Rules, now int64) {
	asleep := func(name string) bool { return a.quiet(name, rules, now) }
	open, asked := names(a.contacts(rules.People)), names(a.reachable(rules.People))
	all := len(asked) > 0 && !slices.ContainsFunc(asked, func(name string) bool { return !asleep(name) })
	for i, d := range cards {
		r, private := d.Target.direct()
		name := rules.People.byAccount[r]
		_, away := rules.People.Away(name)
		switch leftAlone := away && !slices.Contains(open, name); {
		case d.Kind != CardDelivery:
		case private:
			cards[i].Silent = asleep(name) || leftAlone
		default:
			cards[i].Silent = all
		}
	}
}

// replanned is the approval with its next step as these rules and people have it. What
// is due is left to its timer, and taken at once.
func (a Approval) replanned(rules *Rules, now int64) Approval {
	if due := a.PlanMs != 0 && a.PlanMs <= now; due || !a.followsPlan() {
		return a
	}
	plan := a.planned(rules, Change{Approval: a}.groups(), now)
	a.PlanMs = 0
	for _, s := range plan {
		if s.Kind != schedule.StepCard && s.Kind != schedule.StepExpire {
			a.PlanMs = max(a.CreatedAtMs+s.After.Milliseconds(), now)
			break
		}
	}
	return a
}

// Replan has the next step of every pending approval come when the rules in force, and
// the people as they are now, have it. Where other rules count it changes nothing.
func (g *Gate) Replan(ctx context.Context) error {
	return g.eachPending(ctx, func(a Approval) error { return g.replan(ctx, a) })
}

func (g *Gate) replan(ctx context.Context, a Approval) error {
	if _, err := g.inForce(); err != nil {
		return nil
	}
	replanned := func(a Approval) Approval {
		now := time.Now()
		rules := g.snapshot(now)
		return a.replanned(&rules, now.UnixMilli())
	}
	if replanned(a).PlanMs == a.PlanMs {
		return nil
	}
	_, err := g.update(ctx, a.Key, func(a Approval) (Change, error) { return Change{Approval: replanned(a)}, nil })
	if CodeOf(err) == CodeNotFound { // it has been let go
		return nil
	}
	return err
}

// nextStep is when the first step of a plan is due that is not due yet; 0: there is none.
func (a Approval) nextStep(plan []schedule.Step, now int64) int64 {
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
	if c.Unchanged || !c.Approval.followsPlan() {
		return c, false
	}
	if c, stepped = c.askElsewhere(rules, now); stepped {
		c.Redraw = true
	}
	plan := c.Approval.planned(rules, c.groups(), now)
	next := c.step(plan, rules, now)
	return next, stepped || len(next.Events) > len(c.Events)
}

// groups are the places of those cards that stand, or are on their way.
func (c Change) groups() (out []Target) {
	for _, d := range c.standing() {
		out = append(out, d.Target)
	}
	return out
}

// standing are the cards that stand in chats or are on their way, with those that the
// change adds.
func (c Change) standing() []Delivery {
	return slices.DeleteFunc(slices.Concat(c.Approval.Deliveries, c.Deliveries), func(d Delivery) bool {
		return d.Kind != CardDelivery || d.State == Failed
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
	a.PlanMs = a.nextStep(plan, now)
	return c
}

// remind adds replies to the cards of those who are to be reminded: in a group, where it
// mentions those who have an account there, and in their direct messages. Where that
// reaches none of them, and where nobody is named who could decide, groups get a reply
// that mentions nobody.
func (c Change) remind(s schedule.Step, people *Directory, now int64) Change {
	a := &c.Approval
	before := len(c.Deliveries)
	for _, card := range a.Deliveries {
		r, private := card.Target.direct()
		ids := people.accountsOn(platform(card.Target), s.People)
		if private {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id != r.UserID })
		}
		if len(ids) > 0 || private && a.openToNobodyNamed(r, people) {
			c = c.remindBelow(card, ids, now)
		}
	}
	nobodyReached := len(c.Deliveries) == before && (len(s.People) > 0 || len(s.Held) == 0)
	for _, card := range a.Deliveries {
		if _, private := card.Target.direct(); nobodyReached && !private {
			c = c.remindBelow(card, nil, now)
		}
	}
	c = c.hold(s)
	c.Events = append(c.Events, a.event(EventReminded, now, eventData{Asked: s.People, Held: s.Held, Why: s.Why}))
	return c
}

// openToNobodyNamed reports whether an account that is no configured person's could
// still decide.
func (a Approval) openToNobodyNamed(r Requester, people *Directory) bool {
	v := people.Identify(Voter{Channel: r.Channel, UserID: r.UserID})
	voted := slices.ContainsFunc(a.Votes, func(o Vote) bool { return o.by(v) })
	return v.Person == "" && !voted && people.MayDecide(v) && a.counts(v, people)
}

// remindBelow adds a reply to a card that stands in its chat, unless one is on its way.
func (c Change) remindBelow(card Delivery, ids []string, now int64) Change {
	if card.Kind != CardDelivery || card.State != Sent || card.MessageID == "" {
		return c
	}
	waits := func(d Delivery) bool {
		return d.Kind == ReminderDelivery && d.State == Queued && d.ReplyTo == card.MessageID && d.Target == card.Target
	}
	if slices.ContainsFunc(c.Approval.Deliveries, waits) || slices.ContainsFunc(c.Deliveries, waits) {
		return c
	}
	d := c.Approval.delivery(ReminderDelivery, card.Target, now)
	d.ReplyTo, d.Mention = card.MessageID, ids
	c.Deliveries = append(c.Deliveries, d)
	return c
}

// escalate asks more people, each in their direct messages, or puts a card into a chat
// where none stands.
func (c Change) escalate(s schedule.Step, rules *Rules, now int64) Change {
	a, people := &c.Approval, rules.People
	data := eventData{Held: s.Held, To: s.To.String(), Why: s.Why, Silent: s.Silent}
	for _, text := range s.Chats {
		t, err := ParseTarget(text)
		onlyVerifier := !a.Rule.AsksApprovers()
		if err != nil || onlyVerifier || c.hasCardAt(t.Normal()) {
			continue
		}
		d := a.furtherCard(t.Normal(), now)
		r, _ := t.direct() // of a group nobody
		d.Silent = s.Silent || a.quiet(people.byAccount[r], rules, now)
		c.Deliveries, data.Chats = append(c.Deliveries, d), append(data.Chats, d.Target.String())
	}
	for _, name := range s.People {
		if d, ok := c.directly(people.people[name], people, now); ok {
			sumUp := s.Kind == schedule.StepSumUp && d.Kind == CardDelivery
			if sumUp && a.Assessment.RiskClass < R4 { // one message for all that waited
				d = a.folded(d.Target, name, now)
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
	c.Events = append(c.Events, a.event(EventEscalated, now, data))
	return c
}

// hold notes who waits for the end of their quiet hours, and who waits no longer.
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

func (c Change) hasCardAt(t Target) bool {
	return slices.ContainsFunc(c.standing(), func(d Delivery) bool { return d.Target.Normal() == t })
}

// directly gives the direct message that asks a person: a card at the first of their
// places that takes one, or a reminder of the one that stands there. False: a card is on
// its way, or nothing is left to try.
func (c Change) directly(p Person, people *Directory, now int64) (Delivery, bool) {
	a := c.Approval
	for _, t := range a.placesOf(p, people) {
		card, found := a.cardAt(t)
		switch {
		case !found && !c.hasCardAt(t):
			return a.furtherCard(t, now), true
		case !found:
			return Delivery{}, false
		case card.State == Sent && card.MessageID != "":
			d := a.delivery(ReminderDelivery, t, now)
			d.ReplyTo, d.Mention = card.MessageID, people.accountsOn(platform(t), []string{p.Name})
			return d, true
		case card.State != Failed:
			return Delivery{}, false
		}
	}
	return Delivery{}, false
}

// askElsewhere tries the next place of everybody whose direct message has failed for
// good. Instead of whom no place is left for, and of a chat that takes no card, everybody
// is asked who was not.
func (c Change) askElsewhere(rules *Rules, now int64) (_ Change, stepped bool) {
	a := &c.Approval
	open := names(a.contacts(rules.People))
	for _, name := range slices.Clone(a.AlsoAsked) {
		p, person := rules.People.people[name]
		lost := slices.Contains(open, name) && a.lost(p, rules.People)
		if !lost && (person || !a.lostChat(name)) {
			continue
		}
		stepped = true
		if d, ok := c.directly(p, rules.People, now); ok {
			d.Silent = a.quiet(name, rules, now)
			c.Deliveries = append(c.Deliveries, d)
			continue
		}
		a.AlsoAsked = slices.DeleteFunc(a.AlsoAsked, func(other string) bool { return other == name })
		c = c.escalate(a.insteadOf(name, rules, now), rules, now)
	}
	return c, stepped
}

// insteadOf asks everybody who was not asked, instead of who cannot be reached: who sleeps
// without a sound, where nobody else has heard of it.
func (a Approval) insteadOf(name string, rules *Rules, now int64) schedule.Step {
	s := schedule.Step{Kind: schedule.StepEscalate, Instead: true, Why: name + " cannot be reached, so everybody is asked"}
	reached := false
	for _, other := range names(a.reachable(rules.People)) {
		switch asked, asleep := slices.Contains(a.AlsoAsked, other), a.quiet(other, rules, now); {
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
func (a Approval) lostChat(name string) bool {
	t, err := ParseTarget(name)
	if err != nil {
		return false
	}
	card, found := a.cardAt(t.Normal())
	return found && card.State == Failed
}

// lost reports whether every card that went to a person directly has failed for good.
func (a Approval) lost(p Person, people *Directory) bool {
	failed := false
	for _, t := range a.placesOf(p, people) {
		card, found := a.cardAt(t)
		if found && card.State != Failed {
			return false
		}
		failed = failed || found
	}
	return failed
}

// reachable are the contacts for whom a direct message is left that has not failed.
func (a Approval) reachable(people *Directory) []Person {
	return slices.DeleteFunc(a.contacts(people), func(p Person) bool {
		return !slices.ContainsFunc(a.placesOf(p, people), func(t Target) bool {
			card, found := a.cardAt(t)
			return !found || card.State != Failed
		})
	})
}

// cardAt gives the newest card that was made for that very place.
func (a Approval) cardAt(t Target) (card Delivery, found bool) {
	for _, d := range a.Deliveries {
		if d.Kind == CardDelivery && d.Target.Normal() == t {
			card, found = d, true
		}
	}
	return card, found
}

// placesOf are the direct messages in which a person could decide the approval, in the
// order in which they are tried. One of the verifier's people who is no approver is
// written to by the verifier's bot.
func (a Approval) placesOf(p Person, people *Directory) (out []Target) {
	for _, channel := range []string{"telegram", "discord"} {
		v := Voter{Channel: channel, UserID: p.Accounts[channel], Person: p.Name, Roles: people.roles[channel]}
		if v.UserID == "" || !a.counts(v, people) {
			continue
		}
		t := Target{Channel: channel, To: v.UserID}
		switch {
		case channel == "discord":
			t.To = "dm:" + v.UserID
		case !people.MayDecide(v) && a.Rule.Verifier != nil && len(a.Rule.Verifier.Chats) > 0:
			t.Channel = a.Rule.Verifier.Chats[0].Channel
		}
		out = append(out, t.Normal())
	}
	return out
}

// platform is the channel of the accounts in a chat.
func platform(t Target) string {
	if t.Channel == VerifierChannel {
		return "telegram"
	}
	return t.Channel
}

// direct gives the account whose direct messages with a bot the place is.
func (t Target) direct() (r Requester, private bool) {
	t = t.Normal()
	return t.On(platform(t)).person()
}

// accountsOn gives the accounts that people have on a channel.
func (d *Directory) accountsOn(channel string, people []string) (ids []string) {
	for _, name := range people {
		if id := d.people[name].Accounts[channel]; id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// mentioned are those of a reminder's people who could still decide.
func (a Approval) mentioned(d Delivery, people *Directory) (out []Mentioned) {
	open := names(a.contacts(people))
	for _, id := range d.Mention {
		v := people.Identify(Voter{Channel: platform(d.Target), UserID: id})
		if slices.Contains(open, v.Person) {
			out = append(out, Mentioned{Name: v.Person, UserID: id})
		}
	}
	return out
}

// lostRight reports whether a card, or a round's message, is one that has not left yet to somebody who could not
// decide by now, and whom routing does not name: an escalation was to ask them.
func (a Approval) lostRight(d Delivery, rules *Rules) bool {
	r, private := d.Target.direct()
	ofCard := d.Kind == CardDelivery
	if d.Kind == RetryAskedDelivery && a.Round != nil {
		a, ofCard = a.again(*a.Round), true
	}
	if !private || d.MessageID != "" || !ofCard || a.Final() || a.couldDecide(r, rules.People) {
		return false
	}
	routes := rules.Router.Route(a)
	return !slices.ContainsFunc(slices.Concat(routes.Targets, routes.Verifier, routes.Fallback), func(t Target) bool {
		return t.Normal() == d.Target.Normal()
	})
}

// drawReminder is what a reminder says, to those who could still decide.
func (a Approval) drawReminder(d Delivery, people *Directory) Drawing {
	mention := a.mentioned(d, people)
	switch {
	case a.Final():
		return Drawing{Skip: "it has ended"}
	case len(d.Mention) > 0 && len(mention) == 0:
		return Drawing{Skip: "all who were to be reminded have voted"}
	}
	return Drawing{Text: a.messageText(ReminderDelivery), Times: a.times(), Mention: mention, Done: true}
}

// alsoAskedText says on a card whom escalations have asked; empty: nobody.
func (a Approval) alsoAskedText() string {
	if len(a.AlsoAsked) == 0 {
		return ""
	}
	text := "also asked: " + strings.Join(a.AlsoAsked, ", ")
	if a.AskedWhy != "" {
		text += fmt.Sprintf(" (%s)", a.AskedWhy)
	}
	return clipped(display.Safe(text), maxFact)
}

func names(people []Person) []string {
	out := make([]string, len(people))
	for i, p := range people {
		out[i] = p.Name
	}
	return out
}
