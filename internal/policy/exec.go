package policy

import (
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
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
	s.AsksCode = e.cfg.ProjectCode == "ask" && !j.bound
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
