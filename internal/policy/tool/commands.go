package tool

import (
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
)

// Command reads params that run a command without a fixed form. What is not known to be
// harmless beside the command may change how it runs.
func (r *Reading) Command() (approval.Exec, bool) {
	list, ok := r.Fields()
	if !ok {
		return approval.Exec{}, false
	}
	if r.Tool.Name == "runcommands" {
		list = linesOf(list, &r.Found)
	}
	x := GatherCommand(list, &r.Found)
	if x.Argv != nil && !argvTools.Has(r.Tool.Name) {
		return x, false // whether these are words or lines is the tool's to say
	}
	return x, (x.Command == nil) != (x.Argv == nil)
}

// linesOf gives the params of a tool that takes a list of shell lines as if each were a
// command. If there are several, it is not known in which directory each of them begins.
func linesOf(list []field, found *finding.Set) []field {
	out, lines := make([]field, 0, len(list)), 0
	for _, f := range list {
		listed := f.nest == 1 && f.Key == "commands" && f.root == "commands"
		if listed && f.Str {
			f = field{Key: "command", root: "command", Text: f.Text, Str: true, top: true}
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
var argvTools = lazy.Words("shell localshell exec")

// quietKeys are members beside a command that do not change what it does.
var quietKeys = lazy.Words(`description explanation title timeout timeoutms timeoutseconds runinbackground
	isbackground background justification yieldtimems
	maxoutputtokens blocking waitforprevious reason name toolcallid`)

// terminalKeys are members, true or false, that say whether the command has a terminal.
var terminalKeys = lazy.Words("tty pty usepty interactive isinteractive")

// spokenKeys are those of them that are free text.
var spokenKeys = lazy.Words("description explanation title justification reason name toolcallid")

// truth reports a member that is true, or as good as false.
func (f *field) truth() bool { return !f.Str && (f.off() || f.Text == "true") }

// quiet reports such a member with a value that does no more either.
func (f *field) quiet() bool {
	if !quietKeys.Has(f.Key) || f.Key != f.root {
		return false
	}
	return spokenKeys.Has(f.Key) || f.harmless()
}

// GatherCommand collects a command, its directory and its machine. If there are several
// commands, all count; if there are several lists of words, it is not known what runs.
func GatherCommand(list []field, found *finding.Set) (x approval.Exec) {
	var lines []string
	words := ""
	for _, f := range list {
		switch {
		case f.top && !f.odd && f.null(): // as if it were not there
		case commandKeys.Has(f.Key):
			switch {
			case !f.Str:
				found.Add(finding.MalformedCall)
			case f.top:
				lines = append(lines, f.Text)
			default:
				if words == "" {
					words = f.root
				}
				if f.root != words || f.Key != words || f.nest != 1 {
					found.Add(finding.MalformedCall)
				}
				x.Argv = append(x.Argv, f.Text)
			}
		case f.Str && workdirKeys.Has(f.Key):
			if x.Workdir != "" && x.Workdir != f.Text {
				found.Add(finding.UnknownParameters)
			}
			x.Workdir = f.Text
		case terminalKeys.Has(f.Key) && f.top && f.truth():
			if !f.off() {
				found.Add(finding.OpensTerminal)
			}
		case f.quiet():
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
