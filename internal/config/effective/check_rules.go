package effective

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
)

// checkExec accepts settings of existing clients of exec approvals; the policy
// checks the patterns.
func (c *checker) checkExec(x config.Exec) {
	if x.AskFallback == "full" {
		c.Warn("approvals.exec.askFallback", "full fails open: if no approver can be reached, a command that asks "+
			"runs without a decision")
	}
	c.patterns("approvals.exec.allowlist", config.Texts(x.Allowlist))
	c.patterns("approvals.exec.safeBins", x.SafeBins)
	c.brackets("approvals.exec.allowlist", programs(config.Texts(x.Allowlist)))
}

// programs gives the program of each command pattern: only in a program that is a
// path can a [ be part of a pattern.
func programs(commands []string) []string {
	out := make([]string, len(commands))
	for i, text := range commands {
		if program, _, _ := strings.Cut(strings.TrimSpace(text), " "); strings.Contains(program, "/") {
			out[i] = program
		}
	}
	return out
}

// brackets reports paths with a [ that is probably meant literally, since many
// frameworks have it in file names.
func (c *checker) brackets(key string, paths []string) {
	for i, p := range paths {
		if strings.Contains(strings.ReplaceAll(p, `\[`, ""), "[") {
			c.Warn(config.Index(key, i), `has a [, which begins a set of characters up to the next ]; `+
				`to match [ itself, write \[ in a path, and * in a program's path`)
		}
	}
}

// denies reports whether a rule asks for more people than there could ever be.
func denies(c config.Config, ever approvers, r config.Rule) bool {
	quorum := r.MinApprovals > 1 && r.Outcome != "allow" && r.Outcome != "deny"
	if !quorum || !c.Approvals.Enabled() || c.ApprovalTools().ClampMinApprovals {
		return false
	}
	return !ever.enough(r.Role, r.MinApprovals)
}

// tooFew reports that too few people, or no one, could meet a rule.
func (c *checker) tooFew(rule string, r config.Rule, quorum bool) {
	missing := "asks for more than those who may approve now can give"
	if r.Role != "" {
		missing = fmt.Sprintf("needs %d with role %s, but too few people with that role may approve now",
			max(1, r.MinApprovals), r.Role)
	}
	if quorum {
		c.Mistake(rule+".minApprovals", "%s: every call that this rule makes ask would be denied", missing)
		return
	}
	c.Warn(rule, "%s: every call that this rule makes ask is denied", missing)
}

// patterns reports entries that are empty, invisible or repeated.
func (c *checker) patterns(key string, list []string) {
	for i, p := range list {
		if strings.TrimSpace(p) == "" || strings.ContainsFunc(p, unicode.IsControl) {
			c.Mistake(config.Index(key, i), "must be a pattern in one line")
		}
	}
	distinct(c, key, list)
}

// checkRules checks what the file alone shows; the policy checks the meaning of
// a rule.
func (c *checker) checkRules(key string, cfg *config.Config) {
	names := make([]string, len(cfg.Approvals.Tools.Rules))
	here, ever, roles := approversOf(*cfg), approversOf(allOn(*cfg)), rolesOf(*cfg)
	for i, r := range cfg.Approvals.Tools.Rules {
		at := config.Index(key, i)
		names[i] = r.Name
		c.patterns(at+".match.tool", r.Match.Tool)
		c.patterns(at+".match.command", r.Match.Command)
		c.patterns(at+".match.path", r.Match.Path)
		c.patterns(at+".match.host", r.Match.Host)
		c.brackets(at+".match.command", programs(r.Match.Command))
		c.brackets(at+".match.path", r.Match.Path)
		c.patterns(at+".match.agent", r.Match.Agent)
		c.patterns(at+".match.session", r.Match.Session)
		distinct(c, at+".sideEffects", r.SideEffects)
		if c.Has(at + ".minApprovals") {
			c.atLeast(at+".minApprovals", r.MinApprovals, 1)
		}
		if roster, duty := people.DutyRole(r.Role); duty && !slices.Contains(roles, r.Role) {
			c.Mistake(at+".role", "names a roster that is not in approvals.tools.onDuty%s", config.DidYouMean(roster, rosterNames(*cfg)))
		} else if r.Role != "" && !slices.Contains(roles, r.Role) {
			c.Mistake(at+".role", "is a role that no person under people has")
		} else if !here.enough(r.Role, r.MinApprovals) {
			c.tooFew(at, r, denies(*cfg, ever, r))
		}
		if roster, duty := people.DutyRole(r.Role); duty && r.MinApprovals > 1 && inTurns(*cfg, roster) {
			c.Warn(at+".minApprovals", "needs %d people on duty by the roster %s, but one person is on duty at a "+
				"time; a second one can approve only after a handover while the call waits", r.MinApprovals, roster)
		}
		if c.Has(at+".during") && r.During == (config.During{}) {
			c.Mistake(at+".during", "must say either weekly, or from and to")
		}
		if !matches(r) {
			c.Warn(at, "has neither match nor when: it applies to every call")
		}
		if r.Approve && !slices.Contains(cfg.Approvals.Tools.EffectiveApprovers(), string(approval.RulesBased)) {
			c.Warn(at+".approve", "never counts: rules_based is not among the approvers")
		} else if why := neverCounts(cfg, i); why != "" {
			c.Warn(at, "never counts: %s", why)
		}
	}
	c.names(key, "name", names)
}

// neverCounts gives the reason why a rule can never decide a call; empty if it may.
func neverCounts(cfg *config.Config, i int) string {
	rules := cfg.ApprovalTools().Rules
	r := &rules[i]
	denied := func(name string) bool { return slices.Contains(cfg.Tools.Deny, name) }
	before := -1
	for j := range rules[:i] {
		o := &rules[j]
		widely := o.Outcome == "deny" || o.Outcome == "ask" || o.Risk.Set && o.Risk.Class == approval.R4
		always := o.During == (config.During{}) && (o.When == "" || o.When == r.When)
		if widely && always && (reflect.DeepEqual(&o.Match, &config.Match{}) || reflect.DeepEqual(&o.Match, &r.Match)) {
			before = j
			break
		}
	}
	switch {
	case cfg.ApprovalTools().Mode == "off":
		return "approvals.tools.mode is off"
	case before >= 0:
		return "the rule " + rules[before].Name + " comes before it, and applies to all of its calls"
	case len(r.Match.Tool) > 0 && !slices.ContainsFunc(r.Match.Tool, func(name string) bool { return !denied(name) }):
		return "tools.deny takes its tools away"
	case r.Outcome == "allow" && len(r.Match.Command) > 0 && cfg.Approvals.Exec.Security == "deny":
		return "approvals.exec.security denies all commands"
	}
	return ""
}

// inTurns reports whether one person a turn is on duty by a roster.
func inTurns(c config.Config, roster string) bool {
	turns := func(r config.Roster) bool { return r.Name == roster && r.Calendar == "" }
	return slices.ContainsFunc(c.ApprovalTools().OnDuty, turns)
}

// matches reports whether the rule says anything about the calls it is about.
func matches(r config.Rule) bool {
	m := r.Match
	return r.When != "" || len(m.Tool)+len(m.Command)+len(m.Path)+len(m.Host)+len(m.Agent)+len(m.Session) > 0
}

// WithRoles names, by role, the people who have it and may decide somewhere, in order; also
// by the roles that being on duty gives.
func WithRoles(c config.Config, dir *people.Directory) map[string][]string {
	roles := map[string][]string{} // by person
	for _, p := range c.People {
		roles[p.Name] = slices.Clone(p.Roles)
	}
	for _, roster := range rosterNames(c) {
		for _, name := range Duty(c).Among(roster) {
			roles[name] = append(roles[name], people.RoleOnDuty(roster))
		}
	}
	out := map[string][]string{}
	for _, name := range decidersOf(c, dir) {
		for _, role := range roles[name] {
			out[role] = append(out[role], name)
		}
	}
	return out
}
