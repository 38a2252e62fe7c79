package main

import (
	"slices"
	"strings"
	"unicode"

	"approvalbot/core"
)

// checkExec takes what existing clients of exec approvals have; what the
// patterns mean is for the policy to check.
func (c *checker) checkExec(x ExecConfig) {
	if x.AskFallback == "full" {
		c.warn("approvals.exec.askFallback", "full fails open: a command that asks runs when no approver can be reached")
	}
	c.patterns("approvals.exec.allowlist", words[string](x.Allowlist))
	c.patterns("approvals.exec.safeBins", x.SafeBins)
}

// patterns reports entries that are empty, cannot be seen, or stand there twice.
func (c *checker) patterns(key string, list []string) {
	for i, p := range list {
		if strings.TrimSpace(p) == "" || strings.ContainsFunc(p, unicode.IsControl) {
			c.mistake(index(key, i), "must be a pattern in one line")
		}
	}
	distinct(c, key, list)
}

// checkRules looks at what the file alone shows; what a rule means is for the
// policy to check.
func (c *checker) checkRules(key string, cfg *Config) {
	names := make([]string, len(cfg.Approvals.Tools.Rules))
	for i, r := range cfg.Approvals.Tools.Rules {
		at := index(key, i)
		names[i] = r.Name
		c.patterns(at+".match.tool", r.Match.Tool)
		c.patterns(at+".match.command", r.Match.Command)
		c.patterns(at+".match.path", r.Match.Path)
		c.patterns(at+".match.host", r.Match.Host)
		c.patterns(at+".match.agent", r.Match.Agent)
		c.patterns(at+".match.session", r.Match.Session)
		distinct(c, at+".sideEffects", r.SideEffects)
		if c.has(at + ".minApprovals") {
			c.atLeast(at+".minApprovals", r.MinApprovals, 1)
		}
		if r.Role != "" && !slices.Contains(cfg.roles(), r.Role) {
			c.mistake(at+".role", "is the role of nobody among people")
		} else if !cfg.enough(r.Role, r.MinApprovals) {
			c.warn(at, "cannot be met by those who may approve now: every call that it makes ask is denied")
		}
		if !r.matches() {
			c.warn(at, "has neither match nor when: it is about every call")
		}
		if r.Approve && !slices.Contains(cfg.Approvals.Tools.effective(), string(core.RulesBased)) {
			c.warn(at+".approve", "never counts: rules_based is not among the approvers")
		}
	}
	c.names(key, "name", names)
}

// matches reports whether the rule says anything about the calls it is about.
func (r RuleConfig) matches() bool {
	m := r.Match
	return r.When != "" || len(m.Tool)+len(m.Command)+len(m.Path)+len(m.Host)+len(m.Agent)+len(m.Session) > 0
}

// enough reports whether as many people, of a role if one is named, could approve
// now. Where that cannot be counted the answer is yes.
func (c Config) enough(role string, least int) bool {
	dir, err := core.NewDirectory(c.rights())
	switch {
	case err != nil:
		return true // a mistake that is named elsewhere
	case role == "" && least == 0:
		return true // no more than every call needs
	case role != "":
		return dir.Enough(core.Need{Role: role, Min: max(1, least)}, nil, false)
	}
	mapped, unmapped, open := dir.Eligible(nil, false)
	if least == 1 { // with a larger quorum only mapped people count
		mapped += unmapped
	}
	return open || mapped >= least
}

// withRole names the people of a role who may decide somewhere.
func (c Config) withRole(role string, dir *core.Directory) []string {
	return slices.DeleteFunc(c.deciders(dir), func(name string) bool {
		return !slices.ContainsFunc(c.People, func(p PersonConfig) bool {
			return p.Name == name && slices.Contains(p.Roles, role)
		})
	})
}
