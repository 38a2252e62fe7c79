package policy

import (
	"path"
	"strconv"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/language"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// files reads every string that may be a path as the tools of that kind do.
func (r *paramReader) files(list []field, kind toolKind) {
	r.Found.Add(finding.ReadOnlyTool)
	r.standsIn(list, finding.MayReadSecret)
	globs := *r // globs count from the directories that are searched as well
	if kind == searchTool || kind == manyTool {
		for i := range list {
			if f := &list[i]; f.str && f.text != "" && (pathKeys[f.key] || sourceKeys[f.key]) {
				globs.standIn(workspace.PathWord(f.text))
			}
		}
	}
	for i := range list {
		f := &list[i]
		if !f.odd && f.absent() {
			continue
		}
		if !f.str && !f.off() && (outKeys[f.key] || machineKeys[f.key] || f.key != "type" && doesMore(f.key)) {
			r.Found.Add(finding.UnknownParameters)
			continue
		}
		within := f.top || f.key == f.root || pathKeys[f.root] || sourceKeys[f.root] || dirKeys[f.root] || textKeys[f.root] || globKeys[f.root] || deedKeys[f.root]
		switch {
		case f.odd, codeKeys[f.key] && !(kind == editorTool && f.key == "command"), codeKeys[f.root] && !f.top, outKeys[f.key]:
			r.Found.Add(finding.UnknownParameters)
			if f.str && outKeys[f.key] {
				r.Write(workspace.PathWord(f.text))
			}
		case !f.str:
		case kind == editorTool && f.key == "command": // it is "view", or this would not be reading
		case machineKeys[f.key]:
			r.Found.Add(finding.UnknownParameters)
		case within && textKeys[f.key]:
			if kind == readerTool && !strings.ContainsAny(f.text, " \t\n") { // a tool that is given no other path could take it for one
				r.Read(workspace.PathWord(f.text))
			}
		case strings.HasPrefix(f.text, "-"):
			r.Found.Add(finding.UnknownParameters)
		case strings.Contains(f.text, "://"):
			r.Address(f.text)
			if !within || !pathKeys[f.key] && !sourceKeys[f.key] && !urlKeys[f.key] {
				r.Found.Add(finding.UnknownParameters)
			}
		case within && globKeys[f.key] && kind == manyTool:
			r.many(f.text)
		case within && globKeys[f.key]:
			globs.glob(f.text, kind)
		case within && deedKeys[f.key]:
			if d, _ := foldKey(f.text); !readingDeeds[d] {
				r.Found.Add(finding.UnknownParameters)
			}
		case within && (pathKeys[f.key] || sourceKeys[f.key] || dirKeys[f.key]):
			r.contents(f.text, kind)
		default:
			if doesMore(f.key) || !f.harmless() && !digitRanges(f.text) {
				r.Found.Add(finding.UnknownParameters)
			}
			r.contents(f.text, kind)
		}
	}
	if kind == searchTool && wholeFiles(list) {
		r.Found.Add(finding.MayReadSecret)
	}
}

// doesMore reports a member of a reading tool whose name is a deed.
func doesMore(key string) bool { return nameWords[key]&(saysWrite|saysEnd) != 0 || moreDeeds[key] }

var moreDeeds = words.Set("write save fix apply overwrite commit install chmod sudo eval spawn autofix dofix remove unlink touch")

// digitRanges reports a list of pages or lines.
func digitRanges(text string) bool { return strings.Trim(text, "0123456789-,: .") == "" }

// contents judges a path as the tools of that kind do.
func (r *paramReader) contents(text string, kind toolKind) {
	w := workspace.PathWord(text)
	switch {
	case kind == namesTool:
		r.Name(w)
	case kind == manyTool:
		r.many(text)
	case strings.HasPrefix(text, "data:image/"), strings.HasPrefix(text, "data:application/pdf"):
	case kind == searchTool || kind == recallTool:
		r.globbed(w)
		r.Search(w)
	default:
		r.globbed(w)
		r.Read(w)
	}
}

// globbed judges a path with the signs of a glob, which some tools take it for.
func (r *paramReader) globbed(w workspace.Word) {
	if w.Kind != workspace.Literal || !strings.ContainsAny(w.Text, "*?[{(") {
		return
	}
	list, ok := r.Alternatives(w.Text)
	if !ok || workspace.Groups(w.Text) {
		r.Found.Add(finding.MayReadSecret)
		return
	}
	for _, alt := range list {
		switch g := (workspace.Word{Text: alt, Kind: workspace.Pattern, Tilde: w.Tilde}); {
		case strings.ContainsAny(alt, "*?"):
			r.Read(g)
		case strings.Contains(alt, "["): // as likely a name: app/[slug]/page.tsx
			r.DeskPath(g)
			if workspace.AimsAtSecret(alt) {
				r.Found.Add(finding.MayReadSecret)
			}
		default:
			r.Read(workspace.Word{Text: alt, Tilde: w.Tilde})
		}
	}
}

// many judges what a tool takes that reads all files it is given, by path, by glob
// or by directory.
func (r *paramReader) many(text string) {
	w := workspace.PathWord(text)
	r.globbed(w)
	r.Search(w)
	if pieces, ok := r.Alternatives(text); ok && len(pieces) > 1 { // a list, to some tools
		for _, piece := range pieces {
			r.Read(workspace.PathWord(piece))
		}
	}
	base := strings.ToLower(path.Base(w.Text))
	if !strings.ContainsAny(w.Text, "*?[{") && !workspace.PlainFile(base) {
		r.Found.Add(finding.MayReadSecret)
	}
}

// glob judges a glob that says which names a search looks at. One that picks out
// secrets asks; one that lets all names pass, or all of a sort of data, is as if it
// were not there.
func (r *paramReader) glob(text string, kind toolKind) {
	list, ok := r.Alternatives(text)
	if !ok || workspace.Groups(text) {
		r.Found.Add(finding.MayReadSecret)
		return
	}
	for _, alt := range list {
		w := workspace.PathWord(strings.TrimPrefix(alt, "!"))
		if w.Kind == workspace.Literal && strings.ContainsAny(w.Text, "*?[") {
			w.Kind = workspace.Pattern
		}
		r.DeskPath(w)
		if kind == namesTool || strings.HasPrefix(alt, "!") {
			continue
		}
		if w.Kind == workspace.Computed || workspace.AimsAtSecret(w.Text) {
			r.Found.Add(finding.MayReadSecret)
		}
		if w.Tilde || strings.HasPrefix(w.Text, "/") || workspace.Climbs(w.Text) {
			r.Search(w)
			if workspace.Climbs(w.Text) {
				r.Found.Add(finding.MayReadSecret)
			}
		}
		rest := strings.NewReplacer("*", "", "?", "").Replace(w.Text)
		if !strings.HasPrefix(w.Text, "/") {
			rest = strings.TrimLeft(rest, "/")
		}
		r.Read(workspace.Word{Text: rest, Tilde: w.Tilde})
	}
}

// wholeFiles reports a search that may show whole files of a directory, or the
// lines that hold secrets: its pattern has no word of its own, many lines around
// what it finds are shown, or it looks for the variables of secrets in the capitals
// that these are written in; and the names of the files it looks at leave secrets
// among them.
func wholeFiles(list []field) bool {
	words, asked, typed, near, folded := true, false, false, false, false
	globs, paths, told := names{}, names{}, names{}
	for i := range list {
		f := &list[i]
		switch {
		case f.key == "outputmode":
			m, _ := foldKey(f.text)
			told.add(m == "fileswithmatches" || m == "count")
		case f.key == "namesonly" && !f.off():
			told.add(true)
		case searchKeys[f.key] && f.str:
			asked = true
			words = words && workspace.OwnWord(strings.ToLower(f.text))
			near = near || workspace.NearSecret(f.text)
			folded = folded || strings.ToUpper(f.text) == f.text || strings.Contains(f.text, "(?i")
		case globKeys[f.key] && f.str && f.text != "":
			globs.add(workspace.SourceGlobs(f.text))
		case (f.key == "type" || f.key == "filetype") && f.str:
			typed = language.CodeTypes[f.text]
		case (pathKeys[f.key] || sourceKeys[f.key] || dirKeys[f.key]) && f.str && f.text != "":
			paths.add(workspace.CodeEnds[strings.TrimPrefix(path.Ext(strings.ToLower(f.text)), ".")])
		case foldKeys[f.key]:
			folded = folded || f.off() == (f.key == "casesensitive" || f.key == "matchcase")
		case (aroundKeys[f.key] || oppositeKeys[f.key]) && !f.off():
			n, err := strconv.Atoi(f.text)
			words = words && err == nil && n >= 0 && n <= 10 && aroundKeys[f.key]
		}
	}
	if globs.some || globs.others { // searches let their globs count before their types
		typed = globs.all()
	}
	return (!words || !asked || near && folded) && !typed && !paths.all() && !told.all()
}

// names says of several values whether something holds for all of them.
type names struct{ some, others bool }

func (n *names) add(holds bool) { n.some, n.others = n.some || holds, n.others || !holds }

func (n *names) all() bool { return n.some && !n.others }

var (
	searchKeys   = words.Set("pattern patterns query queries regex regexp search q searchterm")
	aroundKeys   = words.Set("a b c context contextlines before after beforecontext aftercontext contextbefore contextafter linesbefore linesafter")
	foldKeys     = words.Set("i ignorecase caseinsensitive casesensitive matchcase")
	oppositeKeys = words.Set("v invert invertmatch multiline multilinemode dotall")
)
