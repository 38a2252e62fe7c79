package policy

import (
	"net/url"
	"strings"

	"approvalbot/policy/command"
	"approvalbot/policy/finding"
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
	f.haveFiles, f.files = true, j.paths
	if groupOf(j.tool.kind) == "fs" || j.tool.kind == execTool {
		return f.files // noted while they were read
	}
	list, _ := j.fields()
	r := e.params(j, &finding.Set{}, &f.files)
	for _, p := range list {
		if p.str && len(p.text) <= 4096 && (pathKeys[p.key] || strings.Contains(p.text, "/") && !strings.ContainsAny(p.text, " \n")) && !strings.Contains(p.text, "://") {
			r.Path(workspace.PathWord(p.text))
		}
	}
	return f.files
}

// hostKeys are members whose text is an address even without a scheme.
var hostKeys = words.Set(`host hostname url urls uri domain server address endpoint baseurl link href target to origin ip proxy httpproxy httpsproxy socks
	unixsocket socketpath socket resolve connectto gateway upstream fallback mirror destination dest remote`)

// hosts gives the names of the machines that a call names.
func (e *Engine) hosts(j *judging) []string {
	f := &j.facts
	if f.haveHosts {
		return f.hosts
	}
	f.haveHosts = true
	f.oddHosts = j.found.Has(finding.OddAddress) || j.found.Has(finding.MalformedCall)
	if j.tool.kind == execTool {
		for _, w := range j.seen.Words {
			f.word(w)
		}
		return f.hosts
	}
	list, _ := j.fields()
	for _, p := range list {
		switch {
		case !p.str:
		case hostKeys[p.key]:
			f.address(p.text)
		case strings.Contains(p.text, "://"):
			for t := range strings.FieldsSeq(p.text) {
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
