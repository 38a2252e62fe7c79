package tool

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/workspace"
)

// ReadRow reads a call of a tool that a row describes.
func (x *Reading) ReadRow(row *Row) {
	list, ok := x.Fields()
	if !ok {
		x.Found.Add(finding.MalformedCall)
		return
	}
	x.Found.Add(row.Code)
	r := rowReader{Params: x.Params(&x.Found, x.Wanted()), lines: x.Lines, steps: x.Steps, row: row}
	r.asks = finding.Reasons[row.Code].Class >= approval.R3
	for i := range list {
		r.field(&list[i])
	}
	r.chosen(list)
	switch {
	case !row.Judged:
		x.assessText()
	case !r.judged:
		x.Found.Add(finding.MalformedCall)
	}
}

// rowReader reads the params of a tool as its row says.
type rowReader struct {
	Params
	lines  *line.Wide
	steps  *budget.Budget
	row    *Row
	asks   bool // the call asks, with all params
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
	within := f.Str && f.direct()
	switch {
	case p.Role == Plain:
		if f.Str && r.row.Code == finding.NetworkRead {
			r.plain(f.Text)
		}
	case p.Role == Only:
		if !within || !p.Values[strings.ToLower(f.Text)] {
			r.Found.Add(p.Else)
		}
	case p.Role == Opaque:
		if !within || !isMark(f.Text) {
			r.Found.Add(finding.UnknownParameters)
		}
	case !within:
		r.Found.Add(finding.UnknownParameters)
	default:
		r.judged = true
		r.judge(p.Role, f)
	}
}

// isMark reports one short word that is no secret by its form.
func isMark(text string) bool {
	return len(text) <= maxMark && !strings.ContainsAny(text, " \t\n") && display.Redact(text) == text
}

// chosen asks if a param that says which of several things is done is not there.
func (r *rowReader) chosen(list []field) {
	for name, p := range r.row.Params {
		given := func(f field) bool { return f.root == name && !f.absent() }
		if p.Role == Only && !slices.ContainsFunc(list, given) {
			r.Found.Add(p.Else)
		}
	}
}

// maxMark bounds a mark that a server gave out, in bytes.
const maxMark = 200

// judge reads a param that says what the call does.
func (r *rowReader) judge(role Role, f *field) {
	switch role {
	case Reads:
		r.contents(f.Text, Reader)
	case Searches:
		r.contents(f.Text, Searcher)
	case Names:
		r.contents(f.Text, Lister)
	case Writes:
		r.absolute(f.Text)
		r.Write(workspace.PathWord(f.Text))
	case Removes:
		r.absolute(f.Text)
		r.Remove(workspace.PathWord(f.Text))
	case Fetches:
		r.urls(f)
	case Statements:
		r.Found.Add(finding.DatabaseClient)
		if line.Destructive(line.WordsOf(line.Uncompared(f.Text))) {
			r.Found.Add(finding.DestructiveWord)
		}
	case Runs:
		sh := r.lines.Read(r.steps, r.Place, nil, nil)
		sh.Line(f.Text)
		*r.Found = r.Found.Or(sh.Finish(f.Text))
	}
}

// absolute asks for a path that counts from the server's own directory, which is not known.
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

// ReadDeclared replaces what was found by rest, and reads the params as those of a tool of
// which it is only known that it reads.
func (x *Reading) ReadDeclared(rest finding.Set) {
	list, ok := x.Fields()
	if !ok {
		return
	}
	x.Found = rest
	x.Found.Add(finding.DeclaredReadOnly)
	r := x.Params(&x.Found, nil)
	for i := range list {
		r.ReadAny(&list[i])
	}
	if x.Call.Context.Tool.Hints.OpenWorld != approval.HintNo && carriesData(x.Call.Params, list) {
		x.Found.Add(finding.SendsData)
	}
}

// ReadAny reads a param of a tool of which it is only known that it reads.
func (r *Params) ReadAny(f *field) {
	switch {
	case codeKeys.Has(f.Key),
		codeKeys.Has(f.root),
		outKeys.Has(f.Key) && !f.off(),
		bodyKeys.Has(f.Key) && !f.Str && !f.off():
		r.Found.Add(finding.UnknownParameters)
	case deedKeys.Has(f.Key) && f.Str:
		if d, _ := foldKey(f.Text); !readingDeeds.Has(d) {
			r.Found.Add(finding.UnknownParameters)
		}
	case methodKeys.Has(f.Key) && f.Str && !onlyReads(f.Text):
		r.Found.Add(finding.SendsData)
	}
	if !f.Str || f.Text == "" {
		return
	}
	r.AddressesIn(f.Text)
	r.hostsIn(f.Text, HostKeys.Has(f.Key) || urlKeys.Has(f.Key))
	for w := range strings.FieldsSeq(f.Text) {
		w = strings.TrimRight(strings.Trim(w, "\"'`<>(),;"), ".!?:")
		if pathLike(w) {
			r.contents(w, Reader)
		}
	}
	if placeKeys.Has(f.Key) {
		r.contents(f.Text, Reader)
	}
}

// pathLike reports a word of free text that could be a path.
func pathLike(w string) bool {
	_, variable, _ := strings.Cut(w, "$")
	named := variable != "" && (variable[0] == '{' || variable[0] >= 'A')
	return !strings.Contains(w, "://") && (named || strings.ContainsAny(w, `/\~.`))
}

// carriesData reports params that could hand data to the tool's server, in their values or
// in their names.
func carriesData(params []byte, list []field) bool {
	carries := func(f field) bool { return f.Str && workspace.Carries(f.Text) }
	return workspace.Carries(jsonSigns.Replace(string(params))) || slices.ContainsFunc(list, carries)
}

var jsonSigns = strings.NewReplacer(`"`, " ", "{", " ", "}", " ", "[", " ", "]", " ")
