package policy

import (
	"path"
	"slices"
	"strings"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// extent adds to a scope what a session's yes for the call is bound to beside its program or tool,
// in the form of the subject and as people read it: all params of a tool, or the places and
// machines that a call names, so that a yes for README.md does not cover .env. files are the
// operands of a command that is covered with other files. It reports false if every such call
// asks; a command is then covered word for word.
// then covered word for word.
func (e *Engine) extent(j *judging, s scope, files []string) (scope, bool) {
	k := placeKinds{place: &j.place}
	if j.Tool.Kind == tool.Exec {
		for _, o := range files {
			k.add(workspace.Word{Text: o, Tilde: strings.HasPrefix(o, "~")})
			if strings.HasPrefix(o, ":") || strings.ContainsAny(o, "*?[") {
				k.whole = true // a pattern, as git's ":/", may be all of it
			}
		}
		return s.places(&k, j), !k.open && len(k.named) <= maxNamed
	}
	what := j.Extent()
	for _, w := range what.Places {
		k.add(w)
	}
	if j.Tool.Kind == tool.Patcher { // which names its files in its text
		list, _ := j.Fields()
		var files []workspace.File
		r := workspace.Reader{Own: &e.desk, Place: j.place, Found: &finding.Set{}, Paths: &files}
		(&tool.Params{Reader: r}).Patch(list)
		for _, f := range files {
			k.file(f.Path, f.Open)
		}
	}
	if len(k.named) > 0 && j.Tool.Changes() {
		what = j.Whole() // another content there may be worse
	}
	if what.Bound != "" {
		s = s.limit("of "+what.Bound, "")
	}
	if what.Exact {
		s.words = "exactly this call of " + strings.TrimSuffix(s.words, ", ")
		return s.at(j), !what.Each
	}
	for _, said := range what.Said {
		key := program.Quoted(said)
		if what.Bound != "" {
			key = "" // it is in the hash
		}
		s = s.limit(key, "with "+said+", ")
	}
	s = s.places(&k, j)
	hosts := what.Hosts
	if j.Tool.Kind != tool.Web {
		hosts = slices.Clone(e.hosts(j))
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(hosts) > 0 {
		s = s.limit("with "+strings.Join(hosts, " "), ", with "+strings.Join(hosts, ", "))
	}
	return s, !what.Each && !k.open && len(k.named) <= maxNamed
}

// maxNamed is how many places outside the workspace's ordinary files people are shown.
const maxNamed = 4

// placeKinds are the places that a call names beside its workspace's ordinary files: the whole
// workspace by its kind, all others by themselves.
type placeKinds struct {
	place *workspace.Place
	whole bool
	named []string
	open  bool // one of them may be anywhere
}

// add notes a word that may name files.
func (k *placeKinds) add(w workspace.Word) { k.place.Resolve(w, k.file) }

// known notes by its name alone what usually holds secrets, or is obeyed.
func (k *placeKinds) known(text string) {
	file := path.Clean(text)
	if below := k.place.Below(file); below != file {
		file = strings.TrimPrefix(below, "/")
	}
	lower := workspace.FoldPath(file)
	if workspace.Apart(lower) {
		k.name(file)
	}
}

// file notes a file that a word resolved to.
func (k *placeKinds) file(file string, open bool) {
	switch {
	case open, workspace.WindowsPath(path.Base(file)), strings.ContainsAny(file, "$`%\\"), strings.Contains(file, ":/"):
		k.open = true
	case k.place.RootPath(file):
		k.whole = true
	case !k.place.Inside(file):
		k.name(file)
	}
	k.known(file)
}

func (k *placeKinds) name(place string) {
	if !slices.Contains(k.named, place) {
		k.named = append(k.named, place)
	}
}
