package policy

import (
	"path"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/policy/finding"
	"approvalbot/policy/program"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// extent says where a call acts beside its workspace: the kinds of places and the
// machines that it names, and which way a copy goes. It is a part of what a session's
// yes covers, so that a yes for a copy to /tmp is none for a copy to /etc, and one for
// sending a build none for sending .env, or for fetching a hook.
func (e *Engine) extent(j *judging, base string, operands []string) string {
	kinds := map[string]bool{}
	r := workspace.Reader{Own: &e.desk, Place: j.place, Found: &finding.Set{}}
	note := func(w workspace.Word) {
		r.Place.Resolve(w, func(file string, open bool) { kinds[kindOf(&r.Place, file, open)] = true })
	}
	if j.tool.kind == execTool {
		there := false
		for i, o := range operands {
			file := program.AfterEquals(o)
			name, rest, remote := strings.Cut(file, ":")
			if remote = remote && (rest == "" || !strings.Contains(name, "/")); remote { // a machine, an image, a port
				file, there = rest, true
			} else {
				note(workspace.Word{Text: file, Tilde: strings.HasPrefix(o, "~")})
			}
			lower := workspace.FoldPath(path.Clean(file))
			kinds["a secret"] = kinds["a secret"] || workspace.SecretPath(lower) || workspace.AccessPath(lower)
			kinds["settings"] = kinds["settings"] || workspace.StartupPath(workspace.FoldPath(r.Place.Below(path.Clean(file))))
			if copying[base] && !(i > 1 && words.Digits(o)) { // no port
				kinds["from there"] = there && !remote
			}
		}
	} else {
		r.Place = j.agent.place(&j.call, "", "")
		list, _ := j.fields()
		for i := range list {
			if f := &list[i]; f.str && f.text != "" && pathKeys[f.key] {
				note(workspace.PathWord(f.text))
			}
		}
	}
	var where []string
	for _, kind := range [...]string{"all of it", "in /tmp", "elsewhere", "a secret", "settings", "from there"} {
		if kinds[kind] {
			where = append(where, kind)
		}
	}
	hosts := slices.Clone(e.hosts(j))
	if j.tool.kind == execTool {
		hosts = machines(base, operands)
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(hosts) > 0 {
		where = append(where, "with "+strings.Join(hosts, " "))
	}
	return strings.Join(where, ", ")
}

// kindOf says in which kind of place a file lies; "" for a part of the workspace.
func kindOf(p *workspace.Place, file string, open bool) string {
	switch {
	case open || p.Inside(file):
		return ""
	case p.RootPath(file):
		return "all of it"
	case workspace.Under(file, "/tmp"), workspace.Under(file, "/var/tmp"), workspace.Under(file, "/private/tmp"):
		return "in /tmp"
	}
	return "elsewhere"
}

// machines gives the machines among the operands of a command: of addresses, and
// of "user@host:path". A file of the workspace with a dot is none.
func machines(base string, operands []string) (hosts []string) {
	f := facts{}
	for _, o := range operands {
		o = program.AfterEquals(o)
		colon, slash := strings.IndexByte(o, ':'), strings.IndexByte(o, '/')
		switch {
		case strings.Contains(o, "://"):
			f.address(o)
		case copiers[base] && colon > 0 && (slash < 0 || colon < slash):
			f.address(o[strings.LastIndexByte(o[:colon], '@')+1 : colon])
		case (base == "curl" || base == "wget") && (strings.ContainsAny(o, ".:") || o == "localhost"):
			f.address(words.CutAny(o, "/"))
		}
	}
	return f.hosts
}

// copiers are the programs to which "host:path" is another machine's.
var copiers = words.Set("scp rsync sftp git")

// copying are the programs whose last operand is where they copy to.
var copying = words.Set("scp rsync docker podman nerdctl kubectl oc aws")

// kept gives the words of a command that are neither its base and subcommand nor
// spelled out in its subject.
func kept(words []string, verbs int) (operands []string) {
	for _, w := range words[min(1+verbs, len(words)):] {
		if w != "" && (w[0] != '-' || strings.Contains(w, "=")) {
			operands = append(operands, w)
		}
	}
	return operands
}

// reachOfTool is what a yes for a tool that runs no command may cover.
func (j *judging) reachOfTool(e *Engine) core.Reach {
	where := e.extent(j, "", nil)
	if j.facts.oddHosts {
		return core.Reach{} // it cannot be said which machine it is
	}
	name := j.tool.name
	if server := j.call.Context.Tool.Server; server != "" {
		name += " of " + server // another server's tool of that name is another one
	}
	return core.Reach{Subject: bound(name, where, j.call.Bind)}
}

// reach says what a grant for the call may cover.
func (j *judging) reach(e *Engine, class core.RiskClass) core.Reach {
	if class >= core.R4 {
		return core.Reach{}
	}
	if j.tool.kind != execTool {
		return j.reachOfTool(e)
	}
	v := &j.seen
	if !v.Alone || v.Apart || len(v.Commands) != 1 || !j.stays || j.found.Any(uncovered) {
		return core.Reach{}
	}
	args := v.Args(v.Commands[0])
	name, prefix, ok := program.ProgramIn(args)
	if !ok {
		return core.Reach{}
	}
	words := make([]string, len(args))
	for i, w := range args {
		words[i] = w.Text
	}
	r := core.Reach{Program: bound(prefix, "", j.call.Bind), Words: words}
	subject, how := program.SubjectOf(name, words)
	if o, verbs := program.DataOf(name, words); o != nil {
		how = e.extent(j, name, kept(words, verbs))
	}
	if subject = bound(subject, how, j.call.Bind); len(subject) <= core.MaxSubject {
		r.Subject = subject
	}
	return r
}

// bound adds to a subject how it is meant, and the machine and the environment
// that a call is bound to: a grant for one of them is none for another. No word
// of a subject has parentheses outside quotes.
func bound(subject, how string, b *core.Bind) string {
	_, host, envHash := b.Says()
	if !workspace.LocalHosts[host] {
		how = commas(how, "on "+program.Quoted(host))
	}
	if envHash != "" {
		how = commas(how, "with environment "+program.Quoted(envHash))
	}
	if how == "" {
		return subject
	}
	return subject + " (" + how + ")"
}

func commas(list, more string) string {
	if list == "" {
		return more
	}
	return list + ", " + more
}
