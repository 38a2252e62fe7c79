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
		place.Resolve(w, func(file string, open bool) { kinds.add(place.Kind(file, open)) })
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
				kinds.add(workspace.ASecret)
			}
			if workspace.StartupPath(workspace.FoldPath(place.Below(path.Clean(file)))) {
				kinds.add(workspace.Settings)
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
				kinds.add(place.Kind(f.Path, f.Open))
			}
		}
	}
	s = s.places(&kinds, j)
	hosts := slices.Clone(e.hosts(j))
	if j.Tool.Kind == tool.Exec {
		hosts = command.Machines(base, operands)
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(hosts) > 0 {
		s = s.limit("with "+strings.Join(hosts, " "), ", with "+strings.Join(hosts, ", "))
	}
	return s
}

// placeKinds are those that a call names.
type placeKinds struct {
	named     [workspace.Settings + 1]bool
	fromThere bool // a copy goes from another machine to this one
}

func (k *placeKinds) add(kind workspace.PlaceKind) { k.named[kind] = true }

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
