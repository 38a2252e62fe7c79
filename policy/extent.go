package policy

import (
	"path"
	"slices"
	"strings"

	"approvalbot/policy/command"
	"approvalbot/policy/finding"
	"approvalbot/policy/tool"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// extent says where a call acts beside its workspace: the kinds of places and the
// machines that it names, and which way a copy goes. It is a part of what a session's
// yes covers, so that a yes for a copy to /tmp is none for a copy to /etc, and one for
// sending a build none for sending .env, or for fetching a hook.
//
// It adds all that to a scope, as the subject has it and as people read it.
func (e *Engine) extent(j *judging, s scope, base string, operands []string) scope {
	kinds := map[string]bool{}
	r := workspace.Reader{Own: &e.desk, Place: j.place, Found: &finding.Set{}}
	note := func(w workspace.Word) {
		r.Place.Resolve(w, func(file string, open bool) { kinds[kindOf(&r.Place, file, open)] = true })
	}
	if j.Tool.Kind == tool.Exec {
		there := false
		for i, o := range operands {
			file := command.AfterEquals(o)
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
		j.place = j.agent.place(&j.Call, "", "")
		r.Place = j.place
		list, _ := j.Fields()
		for i := range list {
			if f := &list[i]; f.Str && f.Text != "" && tool.PathKeys[f.Key] {
				note(workspace.PathWord(f.Text))
			}
		}
		if j.Tool.Kind == tool.Patcher { // which names its files in its text
			var files []workspace.File
			r.Paths = &files
			(&tool.Params{Reader: r}).Patch(list)
			for _, f := range files {
				kinds[kindOf(&r.Place, f.Path, f.Open)] = true
			}
		}
	}
	s = s.places(kinds, j)
	hosts := slices.Clone(e.hosts(j))
	if j.Tool.Kind == tool.Exec {
		hosts = machines(base, operands)
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(hosts) > 0 {
		s = s.limit("with "+strings.Join(hosts, " "), ", with "+strings.Join(hosts, ", "))
	}
	return s
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
		o = command.AfterEquals(o)
		colon, slash := strings.IndexByte(o, ':'), strings.IndexByte(o, '/')
		switch {
		case strings.Contains(o, "://"):
			f.address(o)
		case registries[base] && slash > 0 && o[0] != '.' && (o[:slash] == "localhost" || strings.ContainsAny(o[:slash], ".:")):
			f.address(o[:slash])
		case copiers[base] && colon > 0 && (slash < 0 || colon < slash):
			f.address(o[strings.LastIndexByte(o[:colon], '@')+1 : colon])
		case (base == "curl" || base == "wget") && (strings.ContainsAny(o, ".:") || o == "localhost"):
			f.address(words.CutAny(o, "/"))
		}
	}
	return f.hosts
}

// copiers are the programs to which "host:path" is another machine's.
var copiers = words.Set("scp rsync sftp git tar bsdtar")

// registries are the programs to which "host/name" is an image of another machine's.
var registries = words.Set("docker podman nerdctl")

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
