package policy

import (
	"strings"

	"approvalbot/core"
	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// assessExec reads a call that runs a command: as a shell line, or as the words
// of one program, which no shell sees.
func (e *Engine) assessExec(j *judging) {
	x, ok := e.execOf(j)
	s := e.lines.Read(j.agent.place(&j.call, x.Workdir, x.Host), &j.seen, j.wanted())
	j.bound = j.sandboxed(x.Host)
	s.AsksCode = e.cfg.ProjectCode == "ask" && !j.bound
	if !ok {
		s.Found.Add(finding.MalformedCall)
	}
	for name, value := range x.Env {
		s.Set(name, true)
		s.Value(name, workspace.Word{Text: value})
	}
	text := ""
	if x.Command != nil {
		text = *x.Command
		s.Line(text)
	}
	if len(x.Argv) > 0 {
		words := strings.Join(x.Argv, " ")
		s.Argv(x.Argv, len(words))
		text += words
	}
	j.came(x, s)
	found := s.Finish(text)
	j.unsure, j.foreign = s.Unsure.String(), s.Foreign
	j.outward = j.bound && found.Has(finding.UnusualShell) && s.Outward(text)
	j.found = j.found.Or(found)
}

// execOf reads the params of tool exec, or of a tool of another runtime that
// runs commands.
func (e *Engine) execOf(j *judging) (core.Exec, bool) {
	if j.call.ToolName != "exec" {
		return e.execLike(j)
	}
	x, bad := core.ParseExec(j.call.Params)
	j.exec = execWords{x.Security, x.Ask}
	if len(bad) > 0 {
		if list, ok := j.fields(); ok {
			x = gather(list, &j.found)
		}
	}
	return x, len(bad) == 0
}

// execLike reads such params without a fixed form. What is not known to be
// harmless beside the command may change how it runs.
func (e *Engine) execLike(j *judging) (core.Exec, bool) {
	list, ok := j.fields()
	if !ok {
		return core.Exec{}, false
	}
	if j.tool.name == "runcommands" {
		list = linesOf(list, &j.found)
	}
	x := gather(list, &j.found)
	if x.Argv != nil && !argvTools[j.tool.name] {
		return x, false // whether these are words or lines is the tool's to say
	}
	return x, (x.Command == nil) != (x.Argv == nil)
}

// linesOf gives the params of a tool that takes a list of shell lines as if each were a
// command. Of several it is not known whether one begins where the one before ended.
func linesOf(list []field, found *finding.Set) []field {
	out, lines := make([]field, 0, len(list)), 0
	for _, f := range list {
		if f.str && f.nest == 1 && f.key == "commands" && f.root == "commands" {
			f = field{key: "command", root: "command", text: f.text, str: true, top: true}
			lines++
		}
		out = append(out, f)
	}
	if lines > 1 {
		found.Add(finding.UnknownParameters)
	}
	return out
}

// argvTools take the words of a program as a list.
var argvTools = words.Set("shell localshell exec")

// quietKeys are members beside a command that do not change what it does.
var quietKeys = words.Set(`description explanation title timeout timeoutms timeoutseconds runinbackground isbackground background justification yieldtimems
	maxoutputtokens blocking waitforprevious reason name toolcallid`)

// spokenKeys are those of them that are free text.
var spokenKeys = words.Set("description explanation title justification reason name toolcallid")

// gather collects a command and where it runs. Of several commands all count; of
// several lists of words it is not known what runs.
func gather(list []field, found *finding.Set) (x core.Exec) {
	var lines []string
	words := ""
	for _, f := range list {
		switch {
		case f.top && !f.odd && !f.str && f.text == "null": // as if it were not there
		case f.key == "command" || f.key == "cmd" || f.key == "script" || f.key == "argv" || f.key == "args":
			switch {
			case !f.str:
				found.Add(finding.MalformedCall)
			case f.top:
				lines = append(lines, f.text)
			default:
				if words == "" {
					words = f.root
				}
				if f.root != words || f.key != words || f.nest != 1 {
					found.Add(finding.MalformedCall)
				}
				x.Argv = append(x.Argv, f.text)
			}
		case f.str && (f.key == "workdir" || f.key == "cwd" || f.key == "dirpath" || f.key == "directory" || f.key == "workingdirectory"):
			if x.Workdir != "" && x.Workdir != f.text {
				found.Add(finding.UnknownParameters)
			}
			x.Workdir = f.text
		case quietKeys[f.key] && f.key == f.root && (spokenKeys[f.key] || f.harmless()):
		default:
			found.Add(finding.UnknownParameters)
		}
	}
	if len(lines) > 0 {
		line := strings.Join(lines, "\n")
		x.Command = &line
	}
	return x
}
