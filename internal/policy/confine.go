package policy

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// A command that is only not understood may run confined instead of asking: where it can hurt
// nothing but its workspace (internal/confine holds it to that). What is recognised and needs more
// (a network, secrets, files that others obey, another machine, …) asks as before, and so does
// everything that a rule, a mode, a signature or the words for commands want asked. Its asker must
// be able to confine it (CallContext.Confine), and its token may say so (the operator's mayConfine).

var confineModes = []string{"off", "unsure", "always"}

// notUnderstood are the findings of which each says no more than that policy does not know what a
// command does.
var notUnderstood = finding.Of(finding.UnknownCommand, finding.UnknownOption, finding.ProgramByPath, finding.DynamicCommand,
	finding.DynamicArgument, finding.DynamicPath, finding.DefinesFunction, finding.UnusualShell, finding.UnparsableCommand,
	finding.InterpreterCode, finding.InterpreterInput, finding.EvaluatesText, finding.RunsScript, finding.RunsWorkspaceCode)

// confinedLocally are the findings beside them that a confined call can have: it works, and changes its workspace alone.
var confinedLocally = finding.OfClass[approval.R0].Or(finding.OfClass[approval.R1]).Without(finding.Of(finding.LoopbackRead))

// removing finds words of removals, resets and force. A confined call may do these in its workspace, so a command that
// is not understood and has one asks. In doubt it does: these are words of any language in any place.
var removing = lazy.Pattern(`(?i)(?:^|[^a-z])(?:rm|rmdir|rmtree|del|unlink|shred|truncate|reset|force|delete|destroy|discard|drop|erase|` +
	`overwrite|prune|purge|remove|removedirs|removesync|wipe|clean|clear|kill|killall|pkill)(?:$|[^a-z])|(?:^|\s)-[a-zA-Z]*[rR]?[fF](?:\s|$)`)

// confinement says how the call runs if it runs confined, for what its stages said; nil: it does not.
func (j *judging) confinement(e *Engine) *approval.Confined {
	switch {
	case j.outcome == approval.OutcomeDeny || !j.canConfine():
		return nil
	case j.rule != nil:
		if !j.rule.confined || j.outcome != approval.OutcomeAsk {
			return nil
		}
	case !j.mayConfine(e):
		return nil
	}
	place := j.agent.place(&j.Call, j.dirs[0], j.host)
	if place.Away || len(place.Roots) == 0 || len(place.Dirs) == 0 {
		return nil
	}
	for _, dir := range place.Dirs {
		if !place.LocalPath(dir) {
			return nil
		}
	}
	return &approval.Confined{Profile: j.Call.Context.Confine, Writable: place.Roots,
		Readonly: append(append([]string{}, e.cfg.Confine.Toolchains...), e.cfg.Confine.Readable...)}
}

// canConfine reports a command whose asker can confine it, on its own machine.
func (j *judging) canConfine() bool {
	_, bound, _ := j.Call.Bind.Fields()
	here := j.host == "" && bound == ""
	return j.Call.Context.Confine == approval.ConfineV1 && j.Tool.Kind == tool.Exec && here && !j.bound
}

// mayConfine reports whether nothing but not knowing what the call does makes it ask; with the
// mode always, also whether it is allowed and local.
func (j *judging) mayConfine(e *Engine) bool {
	t := j.agent.terms
	settled := j.Call.MustAsk || j.cut || j.malformed || j.once || j.onMiss != "" || j.heard || j.opened || j.excused || j.extra != 0
	if t.confine == "off" || t.mode != "adaptive" || settled || j.class != j.static || j.class >= min(t.stepUp, t.deny, approval.R4) {
		return false
	}
	rest := j.Found.Without(notUnderstood)
	runs := rest.Has(finding.RunsProjectCode)
	if rest.Without(confinedLocally) != (finding.Set{}) || rest.Class() >= t.ask {
		return false
	}
	if j.outcome == approval.OutcomeAllow {
		return t.confine == "always"
	}
	return !(runs && e.cfg.ProjectCode == "ask") && !e.cfg.ExecStrict && !removing.MatchString(j.text())
}

// confined makes the call's outcome that it runs confined, or runs so after a yes.
func (j *judging) confined(e *Engine) *approval.Confined {
	c := j.confinement(e)
	if c == nil {
		return nil
	}
	if j.rule == nil {
		j.outcome = approval.OutcomeAllow
		j.policy = j.policy.Without(finding.Of(finding.ExecNotAllowed, finding.ProjectCodeAsks))
	}
	j.because("confine", finding.RunsConfined, j.outcome)
	return c
}
