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
	var kinds placeKinds
	place := &j.place
	note := func(w workspace.Word) {
		place.Resolve(w, func(file string, open bool) { kinds.add(kindOf(place, file, open)) })
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
			if workspace.SecretPath(lower) || workspace.AccessPath(lower) {
				kinds.add(aSecret)
			}
			if workspace.StartupPath(workspace.FoldPath(place.Below(path.Clean(file)))) {
				kinds.add(settings)
			}
			if copying[base] && !(i > 1 && words.Digits(o)) { // no port
				kinds.fromThere = there && !remote
			}
		}
	} else {
		j.place = j.agent.place(&j.Call, "", "")
		list, _ := j.Fields()
		for i := range list {
			if f := &list[i]; f.Str && f.Text != "" && tool.PathKeys[f.Key] {
				note(workspace.PathWord(f.Text))
			}
		}
		if j.Tool.Kind == tool.Patcher { // which names its files in its text
			var files []workspace.File
			r := workspace.Reader{Own: &e.desk, Place: *place, Found: &finding.Set{}, Paths: &files}
			(&tool.Params{Reader: r}).Patch(list)
			for _, f := range files {
				kinds.add(kindOf(place, f.Path, f.Open))
			}
		}
	}
	s = s.places(&kinds, j)
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

// placeKind is a kind of place in which a file may lie.
type placeKind uint8

const (
	inWorkspace placeKind = iota // a part of it
	allOfIt                      // the workspace itself
	inTmp
	elsewhere
	aSecret
	settings
)

// placeKinds are those that a call names.
type placeKinds struct {
	named     [settings + 1]bool
	fromThere bool // a copy goes from another machine to this one
}

func (k *placeKinds) add(kind placeKind) { k.named[kind] = true }

// kindOf says in which kind of place a file lies.
func kindOf(p *workspace.Place, file string, open bool) placeKind {
	switch {
	case open || p.Inside(file):
		return inWorkspace
	case p.RootPath(file):
		return allOfIt
	case workspace.Under(file, "/tmp"), workspace.Under(file, "/var/tmp"), workspace.Under(file, "/private/tmp"):
		return inTmp
	}
	return elsewhere
}

// machines gives the machines among the operands of a command: of addresses, and
// of "user@host:path". A file of the workspace with a dot is none.
func machines(base string, operands []string) (hosts []string) {
	f := facts{}
	for _, o := range operands {
		o = command.AfterEquals(o)
		colon, slash := strings.IndexByte(o, ':'), strings.IndexByte(o, '/')
		host := slash > 0 && o[0] != '.' && hostLike(o[:slash])
		switch {
		case strings.Contains(o, "://"):
			f.address(o)
		case registries[base] && host:
			f.address(o[:slash])
		case copiers[base] && colon > 0 && !strings.Contains(o[:colon], "/"):
			f.address(o[strings.LastIndexByte(o[:colon], '@')+1 : colon])
		case fetchers[base] && hostLike(o):
			f.address(words.CutAny(o, "/"))
		}
	}
	return f.hosts
}

// hostLike reports what could begin with the name of a machine.
func hostLike(text string) bool { return text == "localhost" || strings.ContainsAny(text, ".:") }

// fetchers are the programs to which a word without a scheme is an address.
var fetchers = words.Set("curl wget")

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
