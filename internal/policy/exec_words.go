package policy

import (
	"cmp"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/pattern"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// execWords are the words security and ask, of the configuration or of a call.
type execWords struct{ security, ask string }

// execVerdict is what the words say, further right is stricter.
type execVerdict int

const (
	execPasses execVerdict = iota
	execAsks
	execAsksAlways
	execRefuses // nobody is to be asked; a grant still counts
	execDenies
)

// judge says what the words mean for a command. A hit is what the allowlist names, and what
// the table recognises up to R2 (R1 with exec.strict).
func (w execWords) judge(hit bool) execVerdict {
	switch {
	case w.security == "deny":
		return execDenies
	case w.ask == "always":
		return execAsksAlways
	case w.security != "allowlist" || hit:
		return execPasses
	case w.ask == "off":
		return execRefuses
	}
	return execAsks
}

// execStage applies the words to tools that run commands. The call's own words
// count beside the configured ones, and the stricter answer of the two wins, so
// that a caller can only tighten.
func execStage(e *Engine, j *judging) approval.Outcome {
	if j.Tool.Kind != tool.Exec {
		return approval.OutcomeAllow
	}
	listed := j.class <= j.static && e.listed(j)
	confined := j.bound && j.class <= approval.R2 && j.certain(finding.Set{}).Class() <= approval.R1
	known := approval.R2
	if e.cfg.ExecStrict {
		known = approval.R1
	}
	harmless := j.class <= known && (j.class <= approval.R1 || j.static <= known) || confined
	j.hit = harmless || listed || j.excused
	configured := execWords{e.cfg.ExecSecurity, e.cfg.ExecAsk}
	own := execWords{cmp.Or(j.exec.security, configured.security), cmp.Or(j.exec.ask, configured.ask)}
	v := max(configured.judge(j.hit), own.judge(j.hit))
	j.once = v == execAsksAlways
	switch {
	case v == execDenies:
		return j.refuse("exec", finding.ExecDenied, "Commands are denied (exec security deny); use another tool or ask the operator.")
	case v == execRefuses:
		j.onMiss = "The command is not on the allowlist and nobody is to be asked (exec ask off); use a reading command or ask the operator."
		return j.because("exec", finding.ExecNotAllowed, approval.OutcomeAsk)
	case v == execAsksAlways:
		return j.because("exec", finding.ExecAlwaysAsks, approval.OutcomeAsk)
	case v == execAsks && j.agent.terms.mode != "off":
		if j.class >= j.agent.terms.ask { // its class asks anyway and says more
			return j.say("exec", finding.Reasons[finding.ExecNotAllowed].Name, approval.OutcomeAsk,
				finding.Reasons[finding.ExecNotAllowed].Text)
		}
		return j.because("exec", finding.ExecNotAllowed, approval.OutcomeAsk)
	case listed:
		j.excused = true
		return j.say("exec", "allowlist", approval.OutcomeAllow, "Every command is on the allowlist, or harmless.")
	}
	return j.say("exec", "exec", approval.OutcomeAllow, "The words security and ask have no objection.")
}

// listed reports whether the operator's allowlist names every command that is
// not harmless by itself.
func (e *Engine) listed(j *judging) bool {
	if len(e.allowlist) == 0 && len(e.safeBins) == 0 || j.static >= approval.R4 {
		return false
	}
	return j.covered(func(args []workspace.Word, class approval.RiskClass) bool {
		return slices.ContainsFunc(e.allowlist, func(p pattern.Command) bool { return p.Covers(args) }) || e.safe(args, class)
	})
}

// safe reports a program of safeBins, a command of that class, that is given options and
// numbers only: any other word could be the name of a file. Of a program in the table every
// option must be known; an option of another one must be spelled so that no value is in it.
func (e *Engine) safe(args []workspace.Word, class approval.RiskClass) bool {
	name, words := args[0].Text, bareWord
	if e.lines.Rules(name) != nil {
		words = plainWord
	}
	if !e.safeBins[name] || words == plainWord && class > approval.R2 {
		return false
	}
	return !slices.ContainsFunc(args[1:], func(w workspace.Word) bool { return !w.Exact() || !words.MatchString(w.Text) })
}

var (
	plainWord = lazy.Pattern(`^(?:[0-9]+|-[^/~@=.]*)$`)
	bareWord  = lazy.Pattern(`^(?:[0-9]+|-[0-9]+|-[A-Za-z][0-9]*|--[A-Za-z][A-Za-z0-9-]*)$`)
)

// allowlist reads the operator's lists for commands.
func allowlist(c *Config) (list []pattern.Command, safe map[string]bool, bad Mistakes) {
	at := func(list string, i int) []string { return []string{"approvals", "exec", list, entry(i)} }
	for i, text := range c.ExecAllowlist {
		p, err := pattern.NewCommand(text)
		if err == nil {
			err = p.Trusted()
		}
		if err != nil {
			bad.add(at("allowlist", i), "exec.allowlist: ", "%s", err)
			continue
		}
		p.Open = true
		list = append(list, p)
	}
	safe = map[string]bool{}
	for i, name := range c.ExecSafeBins {
		switch {
		case !program.SimpleName(name) || strings.Contains(name, "/"):
			bad.add(at("safeBins", i), "exec.safeBins: ", "%q must be a program's name", name)
		case program.Unsafe(name) != "":
			bad.add(at("safeBins", i), "exec.safeBins: ", "%s %s and is never safe; take it out of the list", name, program.Unsafe(name))
		}
		safe[name] = true
	}
	return list, safe, bad
}
