package policy

import (
	"encoding/json"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/words"
)

// A command that is only not understood may run confined instead of asking, because there it can
// change only its workspace (internal/confine enforces that). A command that is recognised and needs
// more (a network, secrets, files that others obey, another machine, …) asks as before. So does
// everything that a rule, a mode, a signature or the words for commands want asked. The asker must
// be able to confine the command (CallContext.Confine), and its token may say so (the operator's
// mayConfine).

var confineModes = []string{"off", "unsure", "always"}

// notUnderstood are the findings which mean only that policy does not know what a command does.
var notUnderstood = finding.Of(finding.UnknownCommand, finding.UnknownOption, finding.ProgramByPath, finding.DynamicCommand,
	finding.DynamicArgument, finding.DynamicPath, finding.MayReadSecret, finding.DefinesFunction, finding.UnusualShell, finding.UnparsableCommand,
	finding.InterpreterCode, finding.InterpreterInput, finding.EvaluatesText, finding.RunsScript, finding.RunsWorkspaceCode, finding.WritesAndRuns, finding.SetsEnvironment)

// otherCommands are those of them with which a line may run other commands than those that were read, or what others wrote.
var otherCommands = finding.Of(finding.DynamicCommand, finding.DefinesFunction, finding.UnusualShell, finding.UnparsableCommand, finding.InterpreterInput,
	finding.EvaluatesText, finding.WritesAndRuns, finding.WorkspaceWrite, finding.ScratchWrite, finding.WritesOutside)

// confinedLocally are the findings beside them that a confined call can have: it works, and changes its workspace alone.
// The desk's own loopback is not there.
var confinedLocally = finding.OfClass[approval.R0].Or(finding.OfClass[approval.R1]).Or(finding.Of(finding.RemovesBuildOutput)).
	Without(finding.Of(finding.LoopbackRead))

// removing finds resets and force, and what rebuilds a database, beside [line.Phrases]. What else takes files away is found when
// the command has ended (internal/confine, lost.go), by any words. This spares a run whose work would be refused, and
// asks about what that does not see: a database is one file, which is only written to.
var removing = lazy.Pattern(`(?:^|[^a-zA-Z]|[a-z])(?i:` + removalWords + `)(?:$|[^a-z])|(?i:[:.\s]drop|:(?:fresh|undo|refresh|revert|redo|replant)|db:schema:load|[\s:](?:flush|revert|discard)|--(?:fresh|recreate))(?:$|[\s"':])` +
	`|(?i:(?:drop|delete|truncate)[-_]?all(?:\b[^-]|$)|\.(?:objects|query)\b[^;\n]*\.delete\(\)|flyway\s*clean|\bmigrate\s.*\bzero\b|\bdown\s+--?all\b|database\s+update\s+0\b|goose\s.*\bdown\b|goose\s+down)` +
	`|(?:^|[\s"'])-(?:[rRdx]+f[rRdxf]*|f[rRdxf]+)(?:$|[\s"'])|(?:^|[\s"'])-f(?:["']|\s*(?:$|[;|&)])|\s+-)` + // -f x is a file
	`|--(?:mirror|replace|no-preserve-root|accept-data-loss)`)

// not finds what says not to, and what pandas calls so.
var not = lazy.Pattern(`--no-(?:` + removalWords + `)(?:$|\s)|\.reset_index\(`)

const removalWords = `reset|resetdb|force|destroy|overwrite|wipe|nuke|purge|clobber|obliterate|downgrade|rollback|teardown|cleanall|deleteall`

// outlives finds what may go on behind the answer: a confined call ends with all that it started.
var outlives = lazy.Pattern(`(?:^|[^&>|<0-9(])&(?:[^&>]|$)|(?:^|[^a-zA-Z])(?:nohup|setsid|disown|coproc|tmux|screen|daemonize|start-stop-daemon)(?:$|[^a-zA-Z])|--(?:daemon|detach|background)`)

// holdsPaths reports whether some rule that tightens names paths for such a call: code that is not read could lie there.
func (e *Engine) holdsPaths(j *judging) bool {
	for i := range e.rules {
		if r := &e.rules[i]; (len(r.paths) > 0 || r.when != nil && r.when.Paths) && !r.mayLoosen() && r.concerns(&j.Call) {
			return true
		}
	}
	return false
}

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
	for _, root := range place.Roots {
		if e.desk.Below(root, false) { // the desk's own files
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
	return j.Call.Context.Confine == approval.ConfineV1 && here && !j.bound && (j.Call.ToolName == "exec" || replaceable(&j.Call))
}

// replaceable reports a call of Claude Code's Bash whose command its hook can replace: it ends with its answer, and has
// nothing beside the command that could change how that runs.
func replaceable(c *approval.Call) bool {
	var members map[string]json.RawMessage
	if c.ToolName != "Bash" || json.Unmarshal(c.Params, &members) != nil {
		return false
	}
	for name, value := range members {
		if !words.Any(name, "command", "timeout", "description") && string(value) != "false" {
			return false
		}
	}
	return true
}

// mayConfine reports whether the call asks only because it is not known what the call does.
// With the mode always it also reports a call that is allowed and local.
func (j *judging) mayConfine(e *Engine) bool {
	t := j.agent.terms
	settled := j.Call.MustAsk || j.cut || j.malformed || j.once || j.onMiss != "" || j.heard || j.opened || j.excused || j.extra != 0
	if t.confine == "off" || t.mode != "adaptive" || settled || j.class != j.static || j.class >= min(t.stepUp, t.deny, approval.R4) || t.quorum[j.class] > 1 {
		return false
	}
	rest := j.Found.Without(notUnderstood)
	if rest.Any(outsideIt) {
		if !usesOwnTmp(j.text(), !j.Found.Has(finding.DynamicPath)) {
			return false
		}
		rest = rest.Without(outsideIt)
	}
	runs := rest.Any(finding.ProjectCode)
	if rest.Without(confinedLocally) != (finding.Set{}) || max(rest.Class(), approval.R1) >= t.ask { // it may change its workspace
		return false
	}
	if outlives.MatchString(j.text()) {
		return false
	}
	if j.outcome == approval.OutcomeAllow {
		return t.confine == "always" && rest.Class() == approval.R1 // what only reads says what is there
	}
	if rest.Has(finding.LocalGit) || e.holdsPaths(j) || runs && e.cfg.ProjectCode == "ask" || e.cfg.ExecStrict {
		return false
	}
	doubt := j.doubtful()
	return !line.Destructive(line.WordsOf(doubt)) && !removing.MatchString(not.ReplaceAllString(doubt, " "))
}

// doubtful is the text of a call's commands that are not understood.
func (j *judging) doubtful() string {
	if j.Found.Any(otherCommands) || len(j.seen.Commands) == 0 {
		return j.text()
	}
	var b strings.Builder
	for _, c := range j.seen.Commands {
		if c.Class <= approval.R2 {
			continue
		}
		for _, w := range j.seen.Args(c) {
			b.WriteString(w.Text)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// outsideIt are what a command does outside its workspace and can do in a confined call's own /tmp, see [usesOwnTmp].
var outsideIt = finding.Of(finding.ScratchWrite, finding.WritesOutside, finding.OutsideProject)

// usesOwnTmp reports a line that names each of its files in /tmp at least twice, and no other place outside the
// workspace: what it writes there it also uses. A confined call has its own /tmp, which is gone with it. If named is
// false, it may name no file there: what it writes is computed, and in the workspace if it works at all.
func usesOwnTmp(text string, named bool) bool {
	times := map[string]int{}
	for _, file := range inTmp.FindAllString(text, -1) {
		times[file]++
	}
	for _, n := range times {
		if n < 2 {
			return false
		}
	}
	text = harmlessPlaces.Replace(inTmp.ReplaceAllString(text, ""))
	return (len(times) > 0 || !named) && !elsewhere.MatchString(text)
}

var (
	inTmp     = lazy.Pattern("/tmp/[^\\s\"'`;|&<>(),]*")
	elsewhere = lazy.Pattern(`(?:^|[\s"'=:,(<>])(?:~|/|\.\.(?:/|$|\s))|/\.\.(?:/|$|\s)|(?i:\$\{?[a-z]*(?:home|dir|tmp|pwd))|mktemp`)

	harmlessPlaces = strings.NewReplacer("/dev/null", "", "$PWD/", "")
)

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
