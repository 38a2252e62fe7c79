package policy

import (
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/display"
	"approvalbot/policy/finding"
	"approvalbot/policy/line"
	rows "approvalbot/policy/tool"
	"approvalbot/policy/workspace"
)

// trusts reports whether what the call says of its tool may lower its class.
func (e *Engine) trusts(c *core.Call) bool {
	return c.Owner != "" && slices.Contains(e.cfg.TrustToolHints, c.Owner)
}

// known gives the rows of the call's server, if it is a well-known one and whoever
// asks is trusted to say so.
func (e *Engine) known(c *core.Call) map[string]*rows.Row {
	if c.Context.Tool.Server == "" || !e.trusts(c) {
		return nil
	}
	return e.servers[c.Context.Tool.Server]
}

// atServer gives the tool's name at its server: mcp__github__list_issues,
// github.list_issues and list_issues are one tool of the server github. What people
// see and what is bound is the call's own name, so nothing but that says which it is.
func atServer(name, server string) string {
	name, _ = strings.CutPrefix(name, "mcp__")
	rest, own := strings.CutPrefix(name, server)
	if !own {
		return name
	}
	for _, between := range [...]string{"__", ".", "/", ":"} {
		if inner, ok := strings.CutPrefix(rest, between); ok {
			return inner
		}
	}
	return name
}

// assessServer reads what is said of the tool and the server it is of. It reports
// whether a row of a well-known server says all of the call.
func (e *Engine) assessServer(j *judging) bool {
	said := &j.call.Context.Tool
	row := e.known(&j.call)[atServer(j.call.ToolName, said.Server)]
	if said.Hints.Destructive == core.HintYes && (row == nil || !row.Overwrites) {
		j.found.Add(finding.DeclaredDestructive)
	}
	switch {
	case row != nil:
		j.policy.Add(finding.KnownServer)
		e.assessRow(j, row)
		return true
	case said.Server != "" && j.tool.kind != otherTool:
		j.found.Add(finding.UnknownTool) // a server's tool is not the runtime's own of that name
	}
	return false
}

// assessRow reads a call of a tool that a row describes.
func (e *Engine) assessRow(j *judging, row *rows.Row) {
	list, ok := j.fields()
	if !ok {
		j.found.Add(finding.MalformedCall)
		return
	}
	j.found.Add(row.Code)
	r := rowReader{paramReader: e.params(j, &j.found, j.wanted()), eng: e, row: row}
	r.asks = finding.Reasons[row.Code].Class >= core.R3
	for i := range list {
		r.field(&list[i])
	}
	r.chosen(list)
	switch {
	case !row.Judged:
		e.assessText(j)
	case !r.judged:
		j.found.Add(finding.MalformedCall)
	}
}

// rowReader reads the params of a tool as its row says.
type rowReader struct {
	paramReader
	eng    *Engine
	row    *rows.Row
	asks   bool // the call asks, whatever its params are
	judged bool // one of them said what it does
}

func (r *rowReader) field(f *field) {
	if !f.odd && f.absent() {
		return
	}
	p, listed := r.row.Params[f.root]
	if !listed || f.odd {
		if !r.asks {
			r.Found.Add(finding.UnknownParameters)
		}
		return
	}
	within := f.str && (f.top || f.key == f.root) // no part of an object
	switch {
	case p.Role == rows.Plain:
		if f.str && r.row.Code == finding.NetworkRead {
			r.plain(f.text)
		}
	case p.Role == rows.Only:
		if !within || !p.Values[strings.ToLower(f.text)] {
			r.Found.Add(p.Else)
		}
	case p.Role == rows.Opaque:
		if !within || len(f.text) > maxMark || strings.ContainsAny(f.text, " \t\n") || display.Redact(f.text) != f.text {
			r.Found.Add(finding.UnknownParameters)
		}
	case !within:
		r.Found.Add(finding.UnknownParameters)
	default:
		r.judged = true
		r.judge(p.Role, f)
	}
}

// chosen asks where a param that says which of several things is done is not there.
func (r *rowReader) chosen(list []field) {
	for name, p := range r.row.Params {
		given := func(f field) bool { return f.root == name && !f.absent() }
		if p.Role == rows.Only && !slices.ContainsFunc(list, given) {
			r.Found.Add(p.Else)
		}
	}
}

// maxMark bounds a mark that a server gave out, in bytes.
const maxMark = 200

// judge reads a param that says what the call does.
func (r *rowReader) judge(role rows.Role, f *field) {
	switch role {
	case rows.Reads:
		r.contents(f.text, readerTool)
	case rows.Searches:
		r.contents(f.text, searchTool)
	case rows.Names:
		r.contents(f.text, namesTool)
	case rows.Writes:
		r.absolute(f.text)
		r.Write(workspace.PathWord(f.text))
	case rows.Removes:
		r.absolute(f.text)
		r.Remove(workspace.PathWord(f.text))
	case rows.Fetches:
		r.urls(f)
	case rows.Statements:
		r.Found.Add(finding.DatabaseClient)
		if line.Destructive(line.WordsOf(f.text)) {
			r.Found.Add(finding.DestructiveWord)
		}
	case rows.Runs:
		sh := r.eng.lines.Read(r.Place, nil, nil)
		sh.Line(f.text)
		*r.Found = r.Found.Or(sh.Finish(f.text))
	}
}

// absolute asks for a path that counts from where the server stands, which nobody says.
func (r *rowReader) absolute(text string) {
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "file:///") {
		r.Found.Add(finding.DynamicPath)
	}
}

// plain reads words that a server beyond this machine is given: addresses among them
// are judged, and they may not carry data out.
func (r *rowReader) plain(text string) {
	r.AddressesIn(text)
	r.hostsIn(text, false)
	if workspace.Carries(text) {
		r.Found.Add(finding.SendsData)
	}
}

// declared lets a tool that policy merely does not know be what its server declares,
// where the operator trusts whoever passes that on: one that only reads. Its params
// are read all the same, as those of a tool that may take any of them for a path or
// an address. A server with rows declares nothing: what they do not list asks.
func (e *Engine) declared(j *judging) {
	said := &j.call.Context.Tool
	rest := j.found.Without(finding.Of(finding.UnknownTool))
	merelyUnknown := j.found.Has(finding.UnknownTool) && rest.Class() <= core.R2
	if said.Hints.ReadOnly != core.HintYes || said.Hints.Destructive == core.HintYes || !merelyUnknown {
		return
	}
	if said.Server == "" || !e.trusts(&j.call) || e.servers[said.Server] != nil {
		return
	}
	list, ok := j.fields()
	if !ok {
		return
	}
	j.found = rest
	j.found.Add(finding.DeclaredReadOnly)
	r := e.params(j, &j.found, nil)
	for i := range list {
		r.anything(&list[i])
	}
	if said.Hints.OpenWorld != core.HintNo && carriesData(j.call.Params, list) {
		j.found.Add(finding.SendsData)
	}
}

// anything reads a param of which nothing is known but that the tool only reads.
func (r *paramReader) anything(f *field) {
	switch {
	case codeKeys[f.key], codeKeys[f.root], outKeys[f.key] && !f.off(), bodyKeys[f.key] && !f.str && !f.off():
		r.Found.Add(finding.UnknownParameters)
	case deedKeys[f.key] && f.str:
		if d, _ := foldKey(f.text); !readingDeeds[d] {
			r.Found.Add(finding.UnknownParameters)
		}
	case methodKeys[f.key] && f.str && !strings.EqualFold(f.text, "GET") && !strings.EqualFold(f.text, "HEAD"):
		r.Found.Add(finding.SendsData)
	}
	if !f.str || f.text == "" {
		return
	}
	r.AddressesIn(f.text)
	r.hostsIn(f.text, hostKeys[f.key] || urlKeys[f.key])
	for w := range strings.FieldsSeq(f.text) {
		w = strings.TrimRight(strings.Trim(w, "\"'`<>(),;"), ".!?:")
		if pathLike(w) {
			r.contents(w, readerTool)
		}
	}
	if pathKeys[f.key] || dirKeys[f.key] || sourceKeys[f.key] {
		r.contents(f.text, readerTool)
	}
}

// pathLike reports a word of free text that could be a path.
func pathLike(w string) bool {
	_, variable, _ := strings.Cut(w, "$")
	named := variable != "" && (variable[0] == '{' || variable[0] >= 'A')
	return !strings.Contains(w, "://") && (named || strings.ContainsAny(w, `/\~.`))
}

// carriesData reports params that could hand data to whoever the tool speaks with, in
// their values or in their names.
func carriesData(params []byte, list []field) bool {
	carries := func(f field) bool { return f.str && workspace.Carries(f.text) }
	return workspace.Carries(jsonSigns.Replace(string(params))) || slices.ContainsFunc(list, carries)
}

var jsonSigns = strings.NewReplacer(`"`, " ", "{", " ", "}", " ", "[", " ", "]", " ")
