package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/platform"
)

// Contact is the configuration of reminders and escalations: which people and chats
// are asked about an approval, and when.
type Contact struct {
	Groups      []string        // chats that get a card at once
	RemindAfter []time.Duration // after the ask
	Escalate    []Escalation
	Duty        Duty
	Roles       map[string][]string // who has each role
	Quiet       map[string]Window   // by person
}

// Escalation asks more people if the approval is still undecided after a while.
type Escalation struct {
	After time.Duration
	To    Recipient
}

// Recipient is who an escalation asks: those on duty by a roster, those with a role, or
// a chat. One of the three.
type Recipient struct{ Duty, Role, Chat string }

// ParseRecipient reads onDuty (the only roster), onDuty:NAME, role:NAME, or a chat,
// which is for the caller to check.
func ParseRecipient(text string, rosters []string) (Recipient, error) {
	switch kind, name, _ := strings.Cut(text, ":"); {
	case kind == "onDuty" && name == "" && len(rosters) != 1:
		return Recipient{}, fault("to", "must name the roster, such as onDuty:NAME, because there is no roster or "+
			"more than one")
	case kind == "onDuty" && name == "":
		return Recipient{Duty: rosters[0]}, nil
	case kind == "onDuty" && !slices.Contains(rosters, name):
		return Recipient{}, fault("to", "names a roster that is not in approvals.tools.onDuty")
	case kind == "onDuty":
		return Recipient{Duty: name}, nil
	case kind == "role" && name != "":
		return Recipient{Role: name}, nil
	case kind == "role" || text == "":
		return Recipient{}, fault("to", "must be onDuty, onDuty:NAME, role:NAME, or a chat such as %s",
			platform.Rows[0].Example)
	}
	return Recipient{Chat: text}, nil
}

// String writes a recipient as ParseRecipient reads it; empty for the zero
// Recipient.
func (r Recipient) String() string {
	switch {
	case r.Duty != "":
		return "onDuty:" + r.Duty
	case r.Role != "":
		return "role:" + r.Role
	}
	return r.Chat
}

// Ask is one approval that waits, as far as its contacts hang on it.
type Ask struct {
	At          time.Time
	Expires     time.Duration // after At
	BreaksQuiet bool          // its class reaches people in their quiet hours too
	Eligible    []string      // who could decide it now; only they are reminded or asked
	Closed      []string      // private chats of people who could not decide

	// What was done about it so far; all zero if it was just asked.
	Now   time.Duration // after At: overdue steps are taken now
	Done  time.Duration // after At: the steps up to and including it were taken; 0 if no step was
	Asked []string      // people who got a direct message
	Held  []string      // people who wait for the end of their quiet hours
}

// StepKind is what is done at a step.
type StepKind string

// The kinds of steps.
const (
	StepCard     StepKind = "card"     // a card in each of Chats
	StepRemind   StepKind = "remind"   // a reply to the cards that mentions People
	StepEscalate StepKind = "escalate" // a direct message to each of People, or a card in each of Chats
	StepSumUp    StepKind = "sum-up"   // the step waited for the end of People's quiet hours
	StepExpire   StepKind = "expire"
)

// Step is one thing that is done while an approval waits.
type Step struct {
	After  time.Duration
	Kind   StepKind
	To     Recipient // of an escalation
	People []string
	Chats  []string
	Silent bool     // without a sound: it is quiet hours, and it is sent all the same
	Held   []string // people who are left alone at this step, for their quiet hours
	// Instead reports an escalation to everyone who was not asked yet, because all of
	// its own recipients are gone.
	Instead bool
	// Why says what differs from the configuration: who is on duty is not known, or no
	// one is left to ask. It is empty if all is as configured.
	Why string
}

// Plan gives, in order of time, the steps for an undecided ask: the one place that
// decides who is told of it and when. Its last step is the expiry. Steps due at the
// expiry or after it are left out, and its Why says so. An escalation asks only eligible
// people, each once. If none of its recipients is eligible, it asks everyone who was not
// asked yet. If quiet hours keep an escalation from all its recipients, and no one else
// who could decide was reached, it is sent silently all the same. If the ask has waited
// already, the plan holds what is left to do: of overdue reminders only the last, of
// overdue escalations each.
func Plan(c Contact, ask Ask) []Step {
	p := planner{Contact: c, ask: ask, asked: map[string]bool{}, waiting: map[string]time.Duration{}}
	for _, name := range ask.Asked {
		p.asked[name] = true
	}
	if len(c.Groups) > 0 && ask.Done == 0 {
		p.steps = append(p.steps, Step{Kind: StepCard, Chats: c.Groups, Silent: p.allQuiet(ask.Eligible, 0)})
	}
	for _, name := range ask.Held {
		p.hold(name, ask.Done)
	}
	for _, e := range p.agenda() {
		p.sumUp(p.now(e.After) - 1) // at the same moment the escalation counts
		if e.To == (Recipient{}) {
			p.remind(p.now(e.After))
		} else {
			p.escalate(e)
		}
	}
	p.sumUp(ask.Expires - 1)
	end := Step{After: ask.Expires, Kind: StepExpire}
	if p.late > 0 {
		end.Why = fmt.Sprintf("%d later steps never happen", p.late)
	}
	return append(p.steps, end)
}

type planner struct {
	Contact
	ask     Ask
	steps   []Step
	asked   map[string]bool          // people who got a direct message
	waiting map[string]time.Duration // people, to the end of their quiet hours
	late    int                      // steps that come at the expiry or after it
}

// now is when a step is taken that was to be taken then.
func (p *planner) now(after time.Duration) time.Duration { return max(after, p.ask.Now) }

// agenda gives the reminders (as escalations without recipients) and the escalations
// that are left to do, in order of time.
func (p *planner) agenda() (out []Escalation) {
	last := slices.MaxFunc(append([]time.Duration{0}, p.RemindAfter...), func(a, b time.Duration) int {
		return cmp.Compare(p.overdue(a), p.overdue(b))
	})
	for _, after := range p.RemindAfter {
		if after > p.ask.Now || after == last {
			out = append(out, Escalation{After: after})
		}
	}
	out = append(out, p.Escalate...)
	slices.SortStableFunc(out, func(a, b Escalation) int { return cmp.Compare(a.After, b.After) })
	return slices.DeleteFunc(out, func(e Escalation) bool {
		if e.After >= p.ask.Expires {
			p.late++
		}
		return e.After >= p.ask.Expires || p.ask.Done > 0 && e.After <= p.ask.Done
	})
}

// overdue gives the time itself if it is past, and else a time before all others.
func (p *planner) overdue(after time.Duration) time.Duration {
	if after > p.ask.Now {
		return -1
	}
	return after
}

func (p *planner) remind(after time.Duration) {
	s := Step{After: after, Kind: StepRemind}
	s.People, s.Held = p.awake(p.ask.Eligible, after)
	if len(s.People) == 0 {
		s.Why = "nobody is left to remind"
	}
	p.add(s)
}

// add adds a step. People in quiet hours get it when these end.
func (p *planner) add(s Step) {
	p.steps = append(p.steps, s)
	for _, name := range s.Held {
		p.hold(name, s.After)
	}
}

func (p *planner) escalate(e Escalation) {
	s := Step{After: p.now(e.After), Kind: StepEscalate, To: e.To}
	if e.To.Chat != "" && !slices.Contains(p.ask.Closed, e.To.Chat) {
		s.Chats, s.Silent = []string{e.To.Chat}, p.allQuiet(p.ask.Eligible, s.After)
		p.add(s)
		return
	}
	who := p.Roles[e.To.Role]
	if e.To.Duty != "" {
		on, _ := p.Duty.WhoNow(e.To.Duty, p.ask.At.Add(s.After))
		who, s.Why = on.People, on.Unknown
	}
	left := p.unasked(who)
	if len(left) == 0 {
		left = p.unasked(p.ask.Eligible)
		s.Instead, s.Why = len(left) > 0, "nobody is left to ask"
	}
	if s.Instead {
		s.Why = "none of its recipients can be asked, so everyone is asked"
	}
	s.People, s.Held = p.awake(left, s.After)
	if len(s.People) == 0 && len(s.Held) > 0 && !p.reached(s.After) {
		s.People, s.Held, s.Silent = s.Held, nil, true
	}
	p.ring(s.People...)
	p.add(s)
}

// unasked are those of the people who could decide and got no direct message.
func (p *planner) unasked(people []string) []string {
	return slices.DeleteFunc(slices.Clone(people), func(name string) bool {
		return p.asked[name] || !slices.Contains(p.ask.Eligible, name)
	})
}

// ring notes that people get a direct message.
func (p *planner) ring(people ...string) {
	for _, name := range people {
		p.asked[name] = true
		delete(p.waiting, name)
	}
}

// reached reports whether a person who could decide was told of the ask by then, with
// a sound or in a group, and is not in quiet hours.
func (p *planner) reached(after time.Duration) bool {
	return slices.ContainsFunc(p.ask.Eligible, func(name string) bool {
		return !p.quiet(name, after) && (p.asked[name] || len(p.Groups) > 0)
	})
}

// hold has a person wait for the end of the quiet hours of then, unless they got a
// direct message or could not decide.
func (p *planner) hold(name string, then time.Duration) {
	if _, waits := p.waiting[name]; !waits && len(p.unasked([]string{name})) > 0 {
		p.waiting[name] = p.awakes(name, then)
	}
}

// awakes gives the end of the quiet hours that the person is in at that time, or the time
// itself if they are awake.
func (p *planner) awakes(name string, then time.Duration) time.Duration {
	if !p.quiet(name, then) {
		return p.now(then)
	}
	end := p.Quiet[name].End(p.ask.At.Add(then)).Sub(p.ask.At)
	if end < p.ask.Now {
		return p.awakes(name, p.ask.Now)
	}
	return end
}

// sumUp adds a step at the end of quiet hours for each person whose messages wait
// for it until then.
func (p *planner) sumUp(until time.Duration) {
	names := slices.SortedFunc(maps.Keys(p.waiting), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.waiting[a], p.waiting[b]), strings.Compare(a, b))
	})
	for _, name := range names {
		if after := p.waiting[name]; after <= until && after < p.ask.Expires {
			p.steps = append(p.steps, Step{After: after, Kind: StepSumUp, People: []string{name}})
			p.ring(name)
		}
	}
}

// awake parts people into those who may be disturbed then, and the others.
func (p *planner) awake(people []string, after time.Duration) (awake, quiet []string) {
	for _, name := range people {
		if p.quiet(name, after) {
			quiet = append(quiet, name)
		} else {
			awake = append(awake, name)
		}
	}
	return awake, quiet
}

func (p *planner) quiet(name string, after time.Duration) bool {
	return !p.ask.BreaksQuiet && p.Quiet[name].Contains(p.ask.At.Add(after))
}

// allQuiet reports whether all of the people are in quiet hours then; false for an
// empty list.
func (p *planner) allQuiet(people []string, after time.Duration) bool {
	awake, quiet := p.awake(people, after)
	return len(awake) == 0 && len(quiet) > 0
}

// Line says a plan in one line: "ops at once → alice on duty at +5 min → bob at +10 →
// expires at +15".
func Line(steps []Step) string {
	parts := make([]string, len(steps))
	for i, s := range steps {
		parts[i] = s.text()
	}
	return strings.Join(parts, " → ")
}

func (s Step) text() string {
	who := strings.Join(slices.Concat(s.Chats, s.People), ", ")
	switch s.Kind {
	case StepExpire:
		who = "expires"
	case StepRemind:
		who = strings.TrimSpace("reminder to " + cmp.Or(who, "nobody"))
	case StepSumUp:
		who += " after quiet hours"
	case StepEscalate:
		who = cmp.Or(who, "nobody")
		if s.To.Duty != "" && !s.Instead {
			who += " on duty"
		}
	}
	text := who + " at " + span(s.After)
	if s.After == 0 {
		text = who + " at once"
	}
	var more []string
	if s.Silent {
		more = append(more, "silently")
	}
	if len(s.Held) > 0 {
		more = append(more, "not "+strings.Join(s.Held, ", ")+": quiet hours")
	}
	if s.Why != "" {
		more = append(more, s.Why)
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return text
}

// span writes a duration after the ask: "+5 min", "+90 s", "+2 h".
func span(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("+%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("+%d min", d/time.Minute)
	}
	return fmt.Sprintf("+%d s", d/time.Second)
}
