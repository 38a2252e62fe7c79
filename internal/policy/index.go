package policy

import (
	"maps"
	"slices"
	"strings"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

func newIndex(rules []opRule) (x index) {
	x.tools, x.programs, x.agents, x.sessions = map[string][]int{}, map[string][]int{}, map[string][]int{}, map[string][]int{}
	add := func(m map[string][]int, key string, i int) {
		if list := m[key]; len(list) == 0 || list[len(list)-1] != i {
			m[key] = append(list, i)
		}
	}
	for i := range rules {
		r := &rules[i]
		switch {
		case len(r.commands) > 0 && r.programs() != nil:
			for _, name := range r.programs() {
				add(x.programs, name, i)
			}
			x.commands = append(x.commands, i)
		case r.tools != nil && !r.tools.Every && len(r.tools.Globs) == 0:
			names := maps.Clone(r.tools.Exact)
			if r.tools.Commands {
				for name, kind := range tool.Kinds() {
					names[name] = names[name] || kind == tool.Exec
				}
			}
			for name, named := range names {
				if named {
					add(x.tools, name, i)
				}
			}
		case len(r.agents) > 0:
			for _, name := range r.agents {
				add(x.agents, name, i)
			}
		case len(r.sessions) > 0 && !slices.ContainsFunc(r.sessions, func(s string) bool { return strings.HasSuffix(s, "*") }):
			for _, name := range r.sessions {
				add(x.sessions, name, i)
			}
		default:
			x.others = append(x.others, i)
		}
	}
	return x
}

// programs names the programs of the rule's commands; nil if a pattern leaves the program
// open.
func (r *opRule) programs() (names []string) {
	for _, p := range r.commands {
		name := program.ProgramOf(workspace.Word{Text: p.Words[0]})
		if strings.ContainsAny(name, "*?[{") {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// candidates gives the rules that could be about the call, in the operator's
// order.
func (e *Engine) candidates(j *judging, out []int) []int {
	x := &e.index
	out = append(out, x.others...)
	out = append(out, x.tools[strings.ToLower(j.Tool.Name)]...)
	if len(x.agents) > 0 {
		out = append(out, x.agents[j.Call.AgentID]...)
	}
	if len(x.sessions) > 0 {
		out = append(out, x.sessions[j.Call.SessionKey]...)
	}
	if j.Tool.Kind == tool.Exec && len(x.commands) > 0 {
		out = e.commandCandidates(j, out)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (e *Engine) commandCandidates(j *judging, out []int) []int {
	x := &e.index
	if j.Found.Any(unread) {
		return append(out, x.commands...)
	}
	for i := range j.seen.Commands {
		args := j.seen.Args(j.seen.Commands[i])
		if args[0].Kind != workspace.Literal {
			return append(out, x.commands...)
		}
		out = append(out, x.programs[program.ProgramOf(args[0])]...)
		if e.lines.MayHide(args) {
			line.InsideWords(args, func(inside []workspace.Word) bool {
				out = append(out, x.programs[program.ProgramOf(inside[0])]...)
				return false
			})
		}
	}
	return out
}

// unread are the findings after which a line may hold commands that were not
// seen.
var unread = unseen.Or(finding.Of(finding.UnusualShell))

// unseen are those of them after which what tightens counts as found. A line that is merely
// unusual was read in full: it asks, and a rule counts for what is seen or spelled in it.
var unseen = finding.Of(finding.DynamicCommand, finding.ControlCharacters,
	finding.UnparsableCommand, finding.CommandTooLong, finding.NestedTooDeep, finding.TooComplex,
	finding.WindowsShell, finding.InterpreterInput, finding.EvaluatesText, finding.MalformedCall)
