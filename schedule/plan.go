package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Contact is who and what is asked about one approval, and when: what routing says.
type Contact struct {
	Groups      []string        // chats that get a card at once
	RemindAfter []time.Duration // after the ask
	Escalate    []Escalation
	Duty        Duty
	Roles       map[string][]string // who has each role
	Quiet       map[string]Window   // by person
}

// Escalation asks somebody more when nobody has decided after a while.
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
		return Recipient{}, fault("to", "must name the roster, such as onDuty:NAME, since there is not exactly one")
	case kind == "onDuty" && name == "":
		return Recipient{Duty: rosters[0]}, nil
	case kind == "onDuty" && !slices.Contains(rosters, name):
		return Recipient{}, fault("to", "names a roster that is not in approvals.tools.onDuty")
	case kind == "onDuty":
		return Recipient{Duty: name}, nil
	case kind == "role" && name != "":
		return Recipient{Role: name}, nil
	case kind == "role" || text == "":
		return Recipient{}, fault("to", "must be onDuty, onDuty:NAME, role:NAME, or a chat such as telegram:-1001234567890")
	}
	return Recipient{Chat: text}, nil
}

// Ask is one approval that waits, as far as its contacts hang on it.
type Ask struct {
	At          time.Time
	Expires     time.Duration // after At
	BreaksQuiet bool          // its class reaches people in their quiet hours too
	Eligible    []string      // who could decide it now; nobody else is reminded or asked
}

// StepKind is what is done at a step.
type StepKind string

// The kinds of steps.
const (
	StepCard     StepKind = "card"     // a card in each of Chats
	StepRemind   StepKind = "remind"   // a reply to the cards that mentions People
	StepEscalate StepKind = "escalate" // a direct message to each of People, or a card in each of Chats
	StepSumUp    StepKind = "sum-up"   // what waited for the end of People's quiet hours
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
	// Why says what is not as it was configured: who is on duty is not known, nobody is
	// left to ask. Empty otherwise.
	Why string
}

// Plan gives, in order of time, what is done about an ask that nobody decides: the one
// answer to who hears of it and when. Its last step is the expiry; what was to come at
// the expiry or after it is not in the plan, and said in its Why. Escalations ask only
// who is eligible, each person once. Where quiet hours keep an escalation from everybody it
// is to, and nobody else who could decide was reached, it goes out silently all the same.
func Plan(c Contact, ask Ask) []Step {
	p := planner{Contact: c, ask: ask, asked: map[string]bool{}}
	if len(c.Groups) > 0 {
		p.steps = append(p.steps, Step{Kind: StepCard, Chats: c.Groups, Silent: p.allQuiet(ask.Eligible, 0)})
	}
	late := p.schedule()
	slices.SortStableFunc(p.steps, func(a, b Step) int { return cmp.Compare(a.After, b.After) })
	end := Step{After: ask.Expires, Kind: StepExpire}
	if late > 0 {
		end.Why = fmt.Sprintf("%d later steps never happen", late)
	}
	return append(p.steps, end)
}

type planner struct {
	Contact
	ask   Ask
	steps []Step
	asked map[string]bool // people who got a direct message
}

// schedule adds reminders, escalations and what waits for the end of quiet hours, and
// counts those that come too late.
func (p *planner) schedule() (late int) {
	for _, after := range p.RemindAfter {
		if after >= p.ask.Expires {
			late++
			continue
		}
		p.remind(after)
	}
	ordered := slices.Clone(p.Escalate)
	slices.SortStableFunc(ordered, func(a, b Escalation) int { return cmp.Compare(a.After, b.After) })
	for _, e := range ordered {
		if e.After >= p.ask.Expires {
			late++
			continue
		}
		p.escalate(e)
	}
	p.sumUp()
	return late
}

func (p *planner) remind(after time.Duration) {
	s := Step{After: after, Kind: StepRemind}
	s.People, s.Held = p.awake(p.ask.Eligible, after)
	if len(s.People) == 0 {
		s.Why = "nobody is left to remind"
	}
	p.steps = append(p.steps, s)
}

func (p *planner) escalate(e Escalation) {
	s := Step{After: e.After, Kind: StepEscalate, To: e.To}
	if e.To.Chat != "" {
		s.Chats, s.Silent = []string{e.To.Chat}, p.allQuiet(p.ask.Eligible, e.After)
		p.steps = append(p.steps, s)
		return
	}
	who := p.Roles[e.To.Role]
	if e.To.Duty != "" {
		on, _ := p.Duty.WhoNow(e.To.Duty, p.ask.At.Add(e.After))
		who, s.Why = on.People, on.Unknown
	}
	left := slices.DeleteFunc(slices.Clone(who), func(name string) bool {
		return p.asked[name] || !slices.Contains(p.ask.Eligible, name)
	})
	s.People, s.Held = p.awake(left, e.After)
	if len(s.People) == 0 && len(s.Held) > 0 && !p.reached(e.After) {
		s.People, s.Held, s.Silent = s.Held, nil, true
	}
	if len(left) == 0 {
		s.Why = cmp.Or(s.Why, "nobody is left to ask")
	}
	for _, name := range s.People {
		p.asked[name] = true
	}
	p.steps = append(p.steps, s)
}

// reached reports whether somebody who could decide has heard of the ask by then, with
// a sound or in a group, and is not in quiet hours.
func (p *planner) reached(after time.Duration) bool {
	return slices.ContainsFunc(p.ask.Eligible, func(name string) bool {
		return !p.quiet(name, after) && (p.asked[name] || len(p.Groups) > 0)
	})
}

// sumUp adds the end of the quiet hours of everybody whom a step left alone and who was
// not asked since.
func (p *planner) sumUp() {
	waiting := map[string]bool{}
	for _, s := range p.steps {
		for _, name := range s.Held {
			if waiting[name] || p.asked[name] {
				continue
			}
			after := p.Quiet[name].End(p.ask.At.Add(s.After)).Sub(p.ask.At)
			if after < p.ask.Expires {
				waiting[name] = true
				p.steps = append(p.steps, Step{After: after, Kind: StepSumUp, People: []string{name}})
			}
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

// allQuiet reports whether all of the people are in quiet hours then; of nobody it is
// not known.
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
		if s.To.Duty != "" {
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
