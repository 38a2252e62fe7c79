package policy

import (
	"net/url"
	"strings"

	"approvalbot/policy/command"
	"approvalbot/policy/finding"
	"approvalbot/policy/tool"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// facts are what rules ask about a call beside its commands; each is computed
// when the first rule asks.
type facts struct {
	haveFiles, haveHosts bool
	files                []workspace.File
	hosts                []string
	oddHosts             bool // some address cannot be read
	paths                []string
	params               map[string]any
	programs             []string
}

// files gives the paths that a call names.
func (e *Engine) files(j *judging) []workspace.File {
	f := &j.facts
	if f.haveFiles {
		return f.files
	}
	f.haveFiles, f.files = true, j.Paths
	if j.Tool.Kind.Group() == "fs" || j.Tool.Kind == tool.Exec {
		return f.files // noted while they were read
	}
	list, _ := j.Fields()
	r := j.Params(&finding.Set{}, &f.files)
	for _, p := range list {
		if p.Str && mayBePath(p.Key, p.Text) {
			r.Path(workspace.PathWord(p.Text))
		}
	}
	return f.files
}

// mayBePath reports text that a tool may take for a path, by the member's name or by its
// own form.
func mayBePath(key, text string) bool {
	if len(text) > 4096 || strings.Contains(text, "://") {
		return false
	}
	return tool.PathKeys[key] || strings.Contains(text, "/") && !strings.ContainsAny(text, " \n")
}

// hosts gives the names of the machines that a call names.
func (e *Engine) hosts(j *judging) []string {
	f := &j.facts
	if f.haveHosts {
		return f.hosts
	}
	f.haveHosts = true
	f.oddHosts = j.Found.Has(finding.OddAddress) || j.Found.Has(finding.MalformedCall)
	if j.Tool.Kind == tool.Exec {
		for _, w := range j.seen.Words {
			f.word(w)
		}
		return f.hosts
	}
	list, _ := j.Fields()
	for _, p := range list {
		switch {
		case !p.Str:
		case tool.HostKeys[p.Key]:
			f.address(p.Text)
		case strings.Contains(p.Text, "://"):
			for t := range strings.FieldsSeq(p.Text) {
				if strings.Contains(t, "://") {
					f.address(strings.Trim(t, `"'<>(),;`))
				}
			}
		}
	}
	return f.hosts
}

// word takes every word of a command for a host that could be one.
func (f *facts) word(w workspace.Word) {
	text := command.AfterEquals(w.Text)
	at := strings.LastIndexByte(text, '@')
	switch {
	case w.Kind != workspace.Literal:
		f.oddHosts = true
	case strings.Contains(text, "://"):
		f.address(text)
	case at > 0:
		f.address(words.CutAny(text[at+1:], ":/"))
	case strings.IndexByte(text, '.') > 0 && text[0] != '-' && text[0] != '/':
		f.address(words.CutAny(text, ":/"))
	}
}

func (f *facts) address(s string) {
	if !strings.Contains(s, "://") {
		s = "//" + s
	}
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Hostname() == "" {
		f.oddHosts = true
		return
	}
	f.hosts = append(f.hosts, strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")))
}
