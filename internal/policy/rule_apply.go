package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/pattern"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// rulesStage lets the first of the operator's rules that matches speak.
func rulesStage(e *Engine, j *judging) approval.Outcome {
	if len(e.rules) == 0 || j.agent.terms.mode == "off" {
		return approval.OutcomeAllow
	}
	var buf [32]int
	for _, i := range e.candidates(j, buf[:0]) {
		if r := &e.rules[i]; e.matches(r, j) {
			return j.obey(r)
		}
	}
	return approval.OutcomeAllow
}

// obey does what a rule says.
func (j *judging) obey(r *opRule) approval.Outcome {
	j.rule, j.why = r, r.why+r.until(j.now)+"."
	j.extra |= r.effects
	switch {
	case r.outcome == approval.OutcomeDeny:
		if j.reason == "" {
			j.reason = fmt.Sprintf("The operator's rule %q denies this call%s.", r.name,
				cmp.Or(r.until(j.now), "; find another way or ask the operator"))
		}
		return j.say("rules", r.name, approval.OutcomeDeny, j.why)
	case r.outcome == approval.OutcomeAsk:
		j.asked = true
		return j.say("rules", r.name, approval.OutcomeAsk, j.why)
	case r.outcome == approval.OutcomeAllow:
		j.excused = true
		return j.say("rules", r.name, approval.OutcomeAllow, j.why)
	case r.approve:
		j.step("rules", r.name, "approve", j.why)
	default:
		j.base, j.settled = *r.risk, true
		if j.static == approval.R4 {
			j.base = approval.R4
		}
		j.class = j.base
		j.step("rules", r.name, classNames[j.class], j.why)
	}
	if len(r.needs) == 0 && r.min == 0 && !r.stepUp {
		return approval.OutcomeAllow
	}
	j.asked = true // a rule that names people wants them asked
	return j.say("rules", r.name, approval.OutcomeAsk, "The rule says whose yes is needed.")
}

// until says when the window ends in which the rule matches: "; the freeze ends Mon 08:00
// CET", or for a rule that may loosen "; that ends …". It is empty if the rule matches
// always.
func (r *opRule) until(now time.Time) string {
	switch {
	case r.during.IsZero():
		return ""
	case r.mayLoosen():
		return "; that ends " + r.during.Ends(now)
	}
	return "; the freeze ends " + r.during.Ends(now)
}

// matches reports whether the rule is about the call. If that is in doubt, a rule that
// tightens matches and a rule that loosens does not. No rule loosens R4.
func (e *Engine) matches(r *opRule, j *judging) bool {
	if !r.during.IsZero() && !r.during.Contains(j.now) {
		return false
	}
	loosens := r.loosens(j.static)
	if loosens && j.static == approval.R4 || !r.concerns(&j.Call) {
		return false
	}
	switch {
	case loosens && !e.surely(r, j), !loosens && !e.maybe(r, j):
		return false
	}
	if r.when == nil {
		return true
	}
	holds, err := e.holds(r.when, j)
	if err != nil {
		j.step("rules", r.name, "error",
			fmt.Sprintf("The condition of the rule %q could not be evaluated; a rule that tightens counts then, a rule that loosens does not.", r.name))
		return !loosens
	}
	return holds
}

// concerns compares agent and session.
func (r *opRule) concerns(c *approval.Call) bool {
	if len(r.agents) > 0 && !slices.Contains(r.agents, c.AgentID) {
		return false
	}
	for _, s := range r.sessions {
		prefix, open := strings.CutSuffix(s, "*")
		begins := open && c.SessionKey != "" && strings.HasPrefix(c.SessionKey, prefix)
		if begins || s == c.SessionKey {
			return true
		}
	}
	return len(r.sessions) == 0
}

// surely reports whether all of the call is what the rule names.
func (e *Engine) surely(r *opRule, j *judging) bool {
	if r.exactly != nil && !r.exactly.Has(j.Tool) || j.Found.Has(finding.MalformedCall) {
		return false
	}
	if j.Tool.Kind == tool.Exec {
		if len(r.commands) == 0 || !j.covered(func(args []workspace.Word, _ approval.RiskClass) bool { return e.named(r, j, args) }) {
			return false
		}
	} else if len(r.commands) > 0 || len(r.paths) > 0 && !e.allPaths(r, j, e.files(j)) {
		return false
	}
	if len(r.hosts) == 0 {
		return true
	}
	list := e.hosts(j)
	for _, h := range list {
		if !slices.ContainsFunc(r.hosts, func(p string) bool { return pattern.HostFits(p, h) }) {
			return false
		}
	}
	return len(list) > 0 && !j.facts.machines.Odd
}

// named reports whether a command is one that the rule permits, with operands in
// the rule's paths.
func (e *Engine) named(r *opRule, j *judging, args []workspace.Word) bool {
	for _, p := range r.commands {
		if !p.Covers(args) {
			continue
		}
		if len(r.paths) == 0 {
			return true
		}
		var files []workspace.File
		for _, w := range args[len(p.Words):] {
			switch {
			case strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "/="):
				return false
			case !strings.HasPrefix(w.Text, "-"):
				j.place.Resolve(w, func(name string, open bool) {
					files = append(files, workspace.File{Path: name, Kind: w.Kind, Open: open, Climb: workspace.Climbs(w.Text)})
				})
			}
		}
		if e.allPaths(r, j, files) {
			return true
		}
	}
	return false
}

func (e *Engine) allPaths(r *opRule, j *judging, files []workspace.File) bool {
	for _, f := range files {
		if !slices.ContainsFunc(r.paths, func(p pattern.Path) bool { return p.Covers(f, j.agent.roots) }) {
			return false
		}
	}
	return len(files) > 0
}

// maybe reports whether any part of the call could be what the rule names.
func (e *Engine) maybe(r *opRule, j *judging) bool {
	if r.tools != nil && !r.tools.Has(j.Tool) {
		return false
	}
	if len(r.commands) > 0 && !e.maybeCommand(r, j) {
		return false
	}
	if len(r.paths) > 0 && !j.Found.Has(finding.MalformedCall) {
		roots := j.agent.roots
		some := slices.ContainsFunc(e.files(j), func(f workspace.File) bool {
			return slices.ContainsFunc(r.paths, func(p pattern.Path) bool { return p.MayBe(f, roots) })
		})
		if !some && !(j.Tool.Kind == tool.Exec && j.Found.Any(unseen)) {
			return false
		}
	}
	if len(r.hosts) == 0 {
		return true
	}
	list := e.hosts(j)
	if j.facts.machines.Odd || j.Tool.Kind == tool.Exec && j.Found.Any(unseen) {
		return true
	}
	return slices.ContainsFunc(list, func(h string) bool {
		return slices.ContainsFunc(r.hosts, func(p string) bool { return pattern.HostFits(p, h) })
	})
}

func (e *Engine) maybeCommand(r *opRule, j *judging) bool {
	if j.Tool.Kind != tool.Exec {
		return false
	}
	if j.Found.Any(unseen) {
		return true
	}
	if j.Found.Has(finding.UnusualShell) && slices.ContainsFunc(r.commands, func(p pattern.Command) bool { return p.In(j.text()) }) {
		return true
	}
	fits := func(args []workspace.Word) bool {
		return slices.ContainsFunc(r.commands, func(p pattern.Command) bool { return p.MayBe(args) })
	}
	for _, c := range j.seen.Commands {
		args := j.seen.Args(c)
		if fits(args) || e.lines.MayHide(args) && line.InsideWords(args, fits) {
			return true
		}
	}
	return false
}

// text is the line, or the words of a command that no shell sees.
func (j *judging) text() string {
	text := strings.Join(j.argv, " ")
	if j.line != nil {
		text = *j.line + " " + text
	}
	return text
}
