package policy

import (
	"cmp"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/pattern"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// assessExec reads a call that runs a command: as a shell line, or as the words
// of one program, which no shell sees.
func (e *Engine) assessExec(j *judging) {
	x, ok := e.execOf(j)
	s := e.lines.Read(&j.steps, j.agent.place(&j.Call, x.Workdir, x.Host), &j.seen, j.Wanted())
	j.bound = j.sandboxed(x.Host)
	terminal := j.Call.Context.Terminal
	if terminal != "" && terminal != approval.TerminalPossible {
		j.Found.Add(finding.OpensTerminal)
	}
	s.Terminal = terminal != "" || j.Found.Has(finding.OpensTerminal)
	s.Untracked = j.Call.Context.Untracked
	for _, program := range j.Call.Context.Programs {
		if strings.HasPrefix(program, "/") {
			s.Programs = append(s.Programs, program)
		} else {
			s.OfProject = append(s.OfProject, program)
		}
	}
	s.AsksCode = e.cfg.ProjectCode != "allow" && !j.bound
	if !ok {
		s.Found.Add(finding.MalformedCall)
	}
	for name, value := range x.Env {
		s.Set(name, workspace.Word{Text: value}, true)
	}
	text, words := "", strings.Join(x.Argv, " ")
	if x.Command != nil {
		text = *x.Command
	}
	if len(s.Programs) > 0 {
		s.Text = line.Unquoted(text + words)
	}
	whole := j.steps.Within(func() {
		if x.Command != nil {
			s.Line(text)
		}
		if len(x.Argv) > 0 {
			s.Argv(x.Argv, len(words))
		}
	})
	if text += words; !whole {
		j.cutShort(&s.Found)
	}
	j.came(x, s)
	found := s.Finish(text)
	j.unsure, j.outsideProgram = s.Unsure.String(), s.OutsideProgram
	j.Found = j.Found.Or(found)
	j.leavesWorkspace = j.bound && found.Has(finding.UnusualShell) && s.LeavesWorkspace(text)
}

// execOf reads the params of tool exec, or of a tool of another runtime that
// runs commands.
func (e *Engine) execOf(j *judging) (approval.Exec, bool) {
	if j.Call.ToolName != "exec" {
		return j.Command()
	}
	x, bad := j.Call.ParseExec()
	j.exec = execWords{x.Security, x.Ask}
	if len(bad) > 0 {
		if list, ok := j.Fields(); ok {
			x = tool.GatherCommand(list, &j.Found)
		}
	}
	return x, len(bad) == 0
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
		j.onMiss = "The command is not on the allowlist, and approvers are not asked about it (exec ask off); use a reading command or ask the operator."
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
	return j.say("exec", "exec", approval.OutcomeAllow, "The keys security and ask have no objection.")
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
