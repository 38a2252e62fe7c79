package policy

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// reach says what a grant for the call may cover.
func (j *judging) reach(e *Engine, class approval.RiskClass) (r approval.GrantScope) {
	each := j.once || j.Found.Any(eachAsks)
	if class >= approval.R4 || each || j.cut {
		return r
	}
	if j.Tool.Kind == tool.Exec {
		r = j.reachOfCommand(e)
	} else {
		r = j.reachOfTool(e)
	}
	r.Always = j.always(e)
	return r
}

// obeyed are the findings of files that others run or obey: a yes for the session would cover
// other contents too, which people did not see.
var obeyed = finding.Of(finding.WritesStartup, finding.WritesSystem, finding.WritesAccess, finding.WritesInstructions)

// reachOfTool is what a yes for a tool that runs no command may cover.
func (j *judging) reachOfTool(e *Engine) approval.GrantScope {
	name := j.Tool.Name
	if server := j.Call.Context.Tool.Server; server != "" {
		name += " of " + server // another server's tool of that name is another one
	}
	j.place = j.agent.place(&j.Call, "", "")
	j.dirs[1], _, _ = j.Call.Bind.Fields()
	s, ok := e.extent(j, scope{subject: name, words: "the tool " + name + ", "}, nil)
	if !ok || j.facts.machines.Odd || j.Found.Any(obeyed) { // or it cannot be said which machine it is
		return approval.GrantScope{}
	}
	return j.within(s, approval.GrantScope{})
}

func (j *judging) reachOfCommand(e *Engine) approval.GrantScope {
	v := &j.seen
	if !v.Alone || len(v.Commands) != 1 || !j.plain() {
		return approval.GrantScope{}
	}
	args := v.Args(v.Commands[0])
	name, prefix, ok := program.ProgramIn(args)
	if !ok {
		return approval.GrantScope{}
	}
	words := make([]string, len(args))
	for i, w := range args {
		words[i] = w.Text
	}
	r := approval.GrantScope{Program: scope{subject: prefix}.on(j.Call.Bind).String(), Words: words} // in any environment
	if j.changing(e, args) || j.Found.Any(obeyed) {
		return r // an operator's pattern may name it still
	}
	if subject, files, ok := program.FilesOf(name, words); ok {
		s := scope{subject: subject, words: "“" + strings.TrimPrefix(subject, "exec ") + "” without other options, "}
		if s, ok = e.extent(j, s, files); ok {
			return j.within(s, r)
		}
	}
	all := program.Line(words)
	return j.within(scope{subject: "exec " + all, words: "exactly “" + all + "”"}.at(j), r)
}

// at makes the scope that of exactly these words, which mean the same files in the same directory
// alone.
func (s scope) at(j *judging) scope {
	s.exact = true
	s = s.limit("exactly", "")
	for i, dir := range j.dirs {
		if dir != "" && (i == 0 || dir != j.dirs[0]) {
			s = s.limit("in "+program.Quoted(dir), ", in "+dir)
		}
	}
	return s
}

// within gives the reach of a scope that people can read, bound to the place in which the
// call's commands run.
func (j *judging) within(s scope, r approval.GrantScope) approval.GrantScope {
	anywhere := !j.place.Known()
	if s.exact {
		anywhere = j.dirs == [2]string{}
	}
	switch p := &j.place; {
	case !j.Tool.HasFiles():
	case anywhere:
		s = s.limit("", ", in any directory")
	case p.Own && !s.exact:
		s = s.limit("in "+program.Quoted(p.Roots[0]), ", which is "+p.Roots[0])
	}
	_, bound, _ := j.Call.Bind.Fields()
	for i, host := range [...]string{j.host, bound} {
		again := i > 0 && host == j.host
		if host != "" && workspace.LocalHosts()[host] && !again {
			s = s.limit("on "+host, ", on "+host) // a sandbox is not what is around it
		}
	}
	s = s.bind(j.Call.Bind)
	subject := s.String()
	readable := words.ASCII(subject) || !strings.ContainsAny(subject, "“”") // with which the words for people quote it
	if readable && len(subject) <= approval.MaxSubject {
		r.Subject, r.Session = subject, s.words
	}
	return r
}

// scope is what a session's yes covers: the subject with its limits, by which grants
// are found, and the same in words for people. Both grow together.
type scope struct {
	subject string
	limits  string
	words   string
	exact   bool // exactly the words, or the call
}

// limit adds a limit, and what people read of it.
func (s scope) limit(key, words string) scope {
	if s.limits != "" && key != "" {
		s.limits += ", "
	}
	s.limits, s.words = s.limits+key, s.words+words
	return s
}

// on adds the machine that a call is bound to, if it is not the desk's: a grant for one machine
// does not cover another.
func (s scope) on(b *approval.Bind) scope {
	if _, host, _ := b.Fields(); !workspace.LocalHosts()[host] {
		s = s.limit("on "+program.Quoted(host), ", on "+host)
	}
	return s
}

// bind adds the machine and the environment that a call is bound to.
func (s scope) bind(b *approval.Bind) scope {
	s = s.on(b)
	if _, _, envHash := b.Fields(); envHash != "" {
		s = s.limit("with environment "+program.Quoted(envHash), ", with this environment")
	}
	return s
}

// String is the subject with its limits. No word of a subject has parentheses outside
// quotes.
func (s scope) String() string {
	if s.limits == "" {
		return s.subject
	}
	return s.subject + " (" + s.limits + ")"
}

// places adds the places that a call names.
func (s scope) places(k *placeKinds, j *judging) scope {
	var also []string
	add := func(key, words string) {
		also = append(also, words)
		s = s.limit(key, "")
	}
	if k.whole {
		add("all of it", "all of it")
	}
	slices.Sort(k.named)
	for _, place := range k.named {
		words := place
		if strings.HasSuffix(place, "/") {
			words = "files in " + strings.TrimSuffix(place, "/")
		}
		add(program.Quoted(place), words)
	}
	switch {
	case len(also) > 0:
		s.words += "on anything in " + called(&j.place) + ", and also " + strings.Join(also, ", ")
	case j.Tool.HasFiles() && j.place.Known():
		s.words += "on anything except files outside " + called(&j.place) + ", secrets and settings"
	default:
		s.words += "on anything"
	}
	return s
}

// called is what people read of the workspaces.
func called(p *workspace.Place) string {
	if len(p.Roots) > 1 {
		return "its workspaces"
	}
	return "the workspace"
}
