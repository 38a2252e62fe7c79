package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/condition"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/pattern"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/schedule"
)

// opRule is one of the operator's rules, ready to be applied.
type opRule struct {
	name string
	code string // as a reason code
	why  string // its sentence for people, without the end

	risk     *approval.RiskClass
	outcome  approval.Outcome // 0: not set
	approve  bool
	effects  finding.Effects
	min      int
	needs    []approval.Need
	stepUp   bool
	confined bool // after a yes it runs confined, if its asker can

	tools    *tool.List // wide: for rules that tighten; nil: every tool
	exactly  *tool.List // at its word: for rules that loosen
	commands []pattern.Command
	paths    []pattern.Path
	hosts    []string
	agents   []string
	sessions []string // exact, or a prefix that ends in *
	when     *condition.Condition
	during   schedule.Window // zero: always
}

// compileRules makes the rules of a Config, and names every mistake in them.
func compileRules(c *Config) (rules []opRule, bad Mistakes) {
	names := map[string]bool{}
	var env *condition.Compiler
	for i := range c.Rules {
		r, wrong := newRule(&c.Rules[i], c.Roles)
		if names[r.name] {
			wrong.add([]string{"name"}, "", "another rule has that name")
		}
		names[r.name] = true
		if when := c.Rules[i].When; when != "" {
			var err error
			if env == nil {
				env, err = condition.New()
			}
			if err == nil {
				r.when, err = env.Compile(when)
			}
			if err != nil {
				wrong = slices.Insert(wrong, 0, Mistake{Path: []string{"when"}, Text: err.Error(), lead: "when: "})
			}
		}
		for _, m := range wrong {
			m.Path = append([]string{"approvals", "tools", "rules", entry(i)}, m.Path...)
			m.lead = fmt.Sprintf("rule %d (%s): ", i+1, cmp.Or(r.name, "without a name")) + m.lead
			bad = append(bad, m)
		}
		rules = append(rules, r)
	}
	return rules, bad
}

// newRule makes a rule. The paths of its mistakes begin at the rule; those of the whole
// of it, whose paths are empty, come last.
func newRule(from *Rule, roles []string) (r opRule, bad Mistakes) {
	r = opRule{name: from.Name, code: "rule:" + from.Name, approve: from.Approve, min: from.MinApprovals,
		stepUp: from.StepUp, confined: from.Confine}
	fail := func(key, format string, args ...any) { bad.add(strings.Fields(key), "", format, args...) }
	does := 0
	for _, some := range [...]bool{from.Risk != nil, from.Outcome != "", from.Approve} {
		if some {
			does++
		}
	}
	if does != 1 {
		fail("", "say exactly one of risk, outcome and approve")
	}
	if r.confined && from.Outcome != "ask" {
		fail("confine", "confine: true says how a call runs after a yes; write outcome: ask beside it")
	}
	if from.Risk != nil {
		r.risk = new(*from.Risk)
		if !known(*from.Risk) {
			fail("risk", "risk must be R0 to R4")
		}
	}
	switch from.Outcome {
	case "":
	case "allow":
		r.outcome = approval.OutcomeAllow
	case "ask":
		r.outcome = approval.OutcomeAsk
	case "deny":
		r.outcome = approval.OutcomeDeny
	default:
		fail("outcome", "outcome must be allow, ask or deny, not %q", from.Outcome)
	}
	for _, s := range from.SideEffects {
		bit, ok := effectOf(s)
		if !ok {
			fail("sideEffects", "there is no side effect %q", s)
		}
		r.effects |= bit
	}
	bad = append(bad, r.people(from, roles)...)
	bad = append(bad, r.match(&from.Match)...)
	bad = append(bad, r.period(from.During)...)
	if r.mayLoosen() && len(bad) == 0 {
		bad = append(bad, r.explicit()...)
	}
	if !ruleName(from.Name) {
		fail("name", "the name must be 1 to 64 letters, digits or . _ -, and start with a letter or digit")
	}
	slices.SortStableFunc(bad, func(a, b Mistake) int { return min(len(b.Path), 1) - min(len(a.Path), 1) })
	r.why = r.sentence()
	return r, bad
}

// people reads who must say yes.
func (r *opRule) people(from *Rule, roles []string) (bad Mistakes) {
	if from.MinApprovals < 0 {
		bad.add([]string{"minApprovals"}, "", "minApprovals must be at least 1")
	}
	if from.Role == "" && from.MinApprovals == 0 && !from.StepUp {
		return bad
	}
	if r.outcome == approval.OutcomeAllow || r.outcome == approval.OutcomeDeny {
		bad.add(nil, "", "with outcome %v no approver is asked, so role, minApprovals and stepUp have no effect; "+
			"take them out, or write outcome: ask", r.outcome)
	}
	if from.Role != "" {
		if !slices.Contains(roles, from.Role) {
			bad.add([]string{"role"}, "", "no person has the role %q; give it to one (people[].roles)", from.Role)
		}
		r.needs = []approval.Need{{Role: from.Role, Min: max(1, from.MinApprovals)}}
	}
	return bad
}

// period reads when the rule holds.
func (r *opRule) period(d During) (bad Mistakes) {
	fail := func(err error, key ...string) { bad.add(append([]string{"during"}, key...), "during: ", "%s", err) }
	if d == (During{}) {
		return nil
	}
	if d.Timezone != "" || d.Weekly != "" {
		if _, err := schedule.Zone(d.Timezone); err != nil {
			fail(err, "timezone")
			return bad
		}
	}
	var err error
	switch once := d.From != "" || d.To != ""; {
	case once == (d.Weekly != ""):
		bad.add([]string{"during"}, "during ", "must say either weekly, or from and to")
	case once:
		if r.during, err = schedule.Once(d.From, d.To, d.Timezone); err != nil {
			fail(err)
		}
	default:
		if r.during, err = schedule.Weekly(d.Weekly, d.Timezone); err != nil {
			fail(err, "weekly")
		}
	}
	return bad
}

// match reads what the rule is about.
func (r *opRule) match(m *Match) (bad Mistakes) {
	wrong := func(list string, i int, err error) {
		bad.add([]string{"match", list, entry(i)}, "", "%s", err)
	}
	for i, name := range m.Tool {
		if _, err := tool.NewList([]string{name}, true); len(err) > 0 {
			wrong("tool", i, err[0])
		}
	}
	if len(m.Tool) > 0 {
		r.tools, _ = tool.NewList(m.Tool, true) // its mistakes are named
		r.exactly, _ = tool.NewList(m.Tool, false)
		if !r.tools.Plausible && len(bad) == 0 && len(m.Command) > 0 {
			bad.add(nil, "", "%s: no tool that runs commands has that name", strings.Join(m.Tool, ", "))
		}
	}
	for i, text := range m.Command {
		p, err := pattern.NewCommand(text)
		if err != nil {
			wrong("command", i, err)
			continue
		}
		r.commands = append(r.commands, p)
	}
	for i, text := range m.Path {
		p, err := pattern.NewPath(text)
		if err != nil {
			wrong("path", i, err)
			continue
		}
		r.paths = append(r.paths, p)
	}
	for i, text := range m.Host {
		p, err := pattern.NewHost(text)
		if err != nil {
			wrong("host", i, err)
			continue
		}
		r.hosts = append(r.hosts, p)
	}
	r.agents, r.sessions = slices.Clone(m.Agent), slices.Clone(m.Session)
	named := func(list string, i int, name, exact string) {
		if name == "" || strings.Contains(exact, "*") {
			wrong(list, i, fmt.Errorf("%q must be an agent's exact id, a session's exact key, or the beginning of "+
				"a session's key followed by *", name))
		}
	}
	for i, s := range m.Agent {
		named("agent", i, s, s)
	}
	for i, s := range m.Session {
		named("session", i, s, strings.TrimSuffix(s, "*"))
	}
	return bad
}

// mayLoosen reports a rule that can make an answer milder than it would be
// without it. Risk R3 and R4 cannot: R4 is never lowered.
func (r *opRule) mayLoosen() bool {
	return r.loosens(approval.R3)
}

// explicit says why a rule that may loosen does not name clearly enough what.
func (r *opRule) explicit() (bad Mistakes) {
	const how = "a rule that may loosen must name its tools or commands exactly; to tighten, write risk R3 or R4, or outcome ask or deny"
	if r.exactly == nil && len(r.commands) == 0 {
		return Mistakes{{Text: how}}
	}
	if l := r.exactly; l != nil {
		if l.Every || len(l.Globs) > 0 || l.Grouped {
			return Mistakes{{Text: how}}
		}
		for name := range l.Exact {
			if tool.Kinds()[name] == tool.Exec && len(r.commands) == 0 {
				bad.add(nil, "", "the tool %q runs commands; name the commands too", name)
			}
		}
	}
	for _, p := range r.commands {
		if err := p.Trusted(); err != nil {
			bad.add(nil, "", "%s", err)
		}
	}
	return bad
}

func (r *opRule) sentence() string {
	does := fmt.Sprintf("says %v", r.outcome)
	if r.approve {
		does = "approves"
	} else if r.risk != nil {
		does = fmt.Sprintf("sets the risk class %v", *r.risk)
	}
	return fmt.Sprintf("The operator's rule %q %s", r.name, does)
}

func ruleName(s string) bool {
	for i := range len(s) {
		inside := i > 0 && (s[i] == '.' || s[i] == '-')
		if !inside && !words.WordByte(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= 64 && s[0] != '_'
}

func effectOf(s approval.SideEffect) (finding.Effects, bool) {
	for i, name := range finding.EffectNames {
		if name == s {
			return 1 << i, true
		}
	}
	return 0, s == approval.NoSideEffect
}

// loosens reports whether the rule would make the answer to a call of that class
// milder.
func (r *opRule) loosens(class approval.RiskClass) bool {
	lowers := r.risk != nil && *r.risk < class
	return lowers || r.approve || r.outcome == approval.OutcomeAllow
}
