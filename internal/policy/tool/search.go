package tool

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/workspace"
)

// files reads every string that may be a path as the tools of that kind do.
func (r *Params) files(list []field, kind Kind, name string) {
	r.Found.Add(finding.ReadOnlyTool)
	r.standsIn(list, finding.MayReadSecret)
	globs := r.searched(list, kind)
	for i := range list {
		if f := &list[i]; f.odd || !f.absent() {
			r.member(f, kind, &globs)
		}
	}
	if kind == Searcher && wholeFiles(list, name == "searchcodebase") {
		r.Found.Add(finding.MayReadSecret)
	}
}

// searched is a reader for globs, which count from the directories that are searched as well.
func (r *Params) searched(list []field, kind Kind) Params {
	globs := *r
	if kind == Searcher || kind == ManyReader {
		for i := range list {
			if f := &list[i]; isText(f) && (PathKeys.Has(f.Key) || sourceKeys.Has(f.Key)) {
				globs.standIn(workspace.PathWord(f.Text))
			}
		}
	}
	return globs
}

// member reads one member of a tool that reads files, by what its name and that of the member around
// it are for.
func (r *Params) member(f *field, kind Kind, globs *Params) {
	key := uses()[f.Key]
	if !f.Str && !f.off() && beyondReading(f.Key, key) {
		r.Found.Add(finding.UnknownParameters)
		return
	}
	root := key
	if f.root != f.Key {
		root = uses()[f.root]
	}
	within := f.direct() || root&(usePath|useSource|useDir|useText|useGlob|useDeed) != 0
	acts := kind == Editor && f.Key == "command" // it is "view", or this would not be reading
	codeKey, codeRoot := key&useCode != 0 && !acts, root&useCode != 0 && !f.top
	switch {
	case f.odd, codeKey, codeRoot, key&useOut != 0:
		r.Found.Add(finding.UnknownParameters)
		if f.Str && key&useOut != 0 {
			r.Write(workspace.PathWord(f.Text))
		}
	case !f.Str, acts:
	case key&useMachine != 0:
		r.Found.Add(finding.UnknownParameters)
	case within && key&useText != 0:
		if kind == Reader && !strings.ContainsAny(f.Text, " \t\n") { // a tool that is given no other path could take it for one
			r.Read(workspace.PathWord(f.Text))
		}
	case strings.HasPrefix(f.Text, "-"):
		r.Found.Add(finding.UnknownParameters)
	case strings.Contains(f.Text, "://"):
		r.Address(f.Text)
		if !within || key&(usePath|useSource|useURL) == 0 {
			r.Found.Add(finding.UnknownParameters)
		}
	case within && key&useGlob != 0 && kind == ManyReader:
		r.many(f.Text)
	case within && key&useGlob != 0:
		globs.glob(f.Text, kind)
	case within && key&useDeed != 0:
		if d, _ := foldKey(f.Text); !readingDeeds.Has(d) {
			r.Found.Add(finding.UnknownParameters)
		}
	case within && key&(usePath|useSource|useDir) != 0:
		r.contents(f.Text, kind)
	default:
		if doesMore(f.Key) || !f.harmless() && !digitRanges(f.Text) {
			r.Found.Add(finding.UnknownParameters)
		}
		r.contents(f.Text, kind)
	}
}

// use is what members with a name are for; one name may have several.
type use uint16

const (
	usePath use = 1 << iota
	useSource
	useDir
	useText
	useGlob
	useDeed
	useCode
	useOut
	useMachine
	useURL
)

// uses gives the uses of members' names at once.
var uses = sync.OnceValue(func() map[string]use {
	m := map[string]use{}
	for u, keys := range map[use]*lazy.Set{
		usePath: PathKeys, useSource: sourceKeys, useDir: dirKeys, useText: textKeys, useGlob: globKeys,
		useDeed: deedKeys, useCode: codeKeys, useOut: outKeys, useMachine: machineKeys, useURL: urlKeys,
	} {
		for _, key := range keys.List() {
			m[key] |= u
		}
	}
	return m
})

// beyondReading reports a member, of these uses, by which a reading tool that is given
// more than false does more.
func beyondReading(key string, u use) bool {
	return u&(useOut|useMachine) != 0 || key != "type" && doesMore(key)
}

// doesMore reports a member of a reading tool whose name is a deed.
func doesMore(key string) bool {
	return nameWords()[key]&(saysWrite|saysEnd) != 0 || moreDeeds.Has(key)
}

var moreDeeds = lazy.Words("write save fix apply overwrite commit install chmod sudo eval spawn autofix dofix remove unlink touch")

// digitRanges reports a list of pages or lines.
func digitRanges(text string) bool { return strings.Trim(text, "0123456789-,: .") == "" }

// contents judges a path as the tools of that kind do.
func (r *Params) contents(text string, kind Kind) {
	w := workspace.PathWord(text)
	switch {
	case kind == Lister:
		r.Name(w)
	case kind == ManyReader:
		r.many(text)
	case strings.HasPrefix(text, "data:image/"), strings.HasPrefix(text, "data:application/pdf"):
	case kind == Searcher || kind == Recaller:
		r.globbed(w)
		r.Search(w)
	default:
		r.globbed(w)
		r.Read(w)
	}
}

// globbed judges a path with the signs of a glob, which some tools take it for.
func (r *Params) globbed(w workspace.Word) {
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
func (r *Params) many(text string) {
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
func (r *Params) glob(text string, kind Kind) {
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
		if kind == Lister || strings.HasPrefix(alt, "!") {
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

// wholeFiles reports a search that may show whole files of a directory, or the lines that hold secrets, if the
// names of the files it looks at leave secrets among them. It may do so if its pattern has no word of its own, if
// many lines around what it finds are shown, if it looks for the variables of secrets in the capitals that these
// are written in, if it shows the lines that it finds, or if it searches all folders for a word that is beside
// secrets. folds: no search of the tool tells letter case apart.
func wholeFiles(list []field, folds bool) bool {
	words, asked, typed, near, folded, shown := true, false, false, false, folds, false
	below := false // it searches one folder or file
	globs, paths, told := names{}, names{}, names{}
	around := language.Around{}
	for i := range list {
		f := &list[i]
		switch {
		case f.Key == "outputmode":
			m, _ := foldKey(f.Text)
			told.add(m == "fileswithmatches" || m == "count")
			shown = shown || m == "content"
		case f.Key == "namesonly" && !f.off():
			told.add(true)
		case searchKeys.Has(f.Key) && f.Str:
			asked = true
			words = words && workspace.OwnWord(strings.ToLower(f.Text))
			around.For = append(around.For, f.Text)
			near = near || workspace.NearSecret(f.Text)
			shown = shown || workspace.LikeSecret(f.Text)
			folded = folded || strings.ToUpper(f.Text) == f.Text || strings.Contains(f.Text, "(?i")
		case globKeys.Has(f.Key) && f.Str && f.Text != "":
			globs.add(workspace.SourceGlobs(f.Text))
		case (f.Key == "type" || f.Key == "filetype") && f.Str:
			typed = language.CodeTypes.Has(f.Text)
		case placeKeys.Has(f.Key) && isText(f):
			below = below || strings.Trim(f.Text, "./") != ""
			paths.add(workspace.CodeEnds.Has(strings.TrimPrefix(path.Ext(strings.ToLower(f.Text)), ".")))
		case foldKeys.Has(f.Key):
			folded = folded || f.off() == (f.Key == "casesensitive" || f.Key == "matchcase")
		case (aroundKeys.Has(f.Key) || oppositeKeys.Has(f.Key)) && !f.off():
			words = words && aroundKeys.Has(f.Key)
			if both := words && strings.HasPrefix(f.Key, "c") && f.Key != "contextbefore" && f.Key != "contextafter"; both {
				around.Option("C", f.Text)
			} else {
				around.Option("A", f.Text)
			}
		}
	}
	if globs.some || globs.others { // searches let their globs count before their types
		typed = globs.all()
	}
	if typed || paths.all() || told.all() && !slices.ContainsFunc(around.For, language.GuessesLetter) {
		return false
	}
	around.Folds = folded
	words = words && around.Few()
	beside := func(pattern string) bool { return workspace.InSecretLines(pattern, folded) }
	secrets := near && (folded || shown) || !below && slices.ContainsFunc(around.For, beside)
	return secrets || !words || !asked
}

// names says of several values whether something holds for all of them.
type names struct{ some, others bool }

func (n *names) add(holds bool) { n.some, n.others = n.some || holds, n.others || !holds }

func (n *names) all() bool { return n.some && !n.others }

var (
	searchKeys = lazy.Words("pattern patterns query queries regex regexp search q searchterm")
	aroundKeys = lazy.Words(`a b c context contextlines before after beforecontext aftercontext contextbefore
		contextafter linesbefore linesafter`)
	foldKeys     = lazy.Words("i ignorecase caseinsensitive casesensitive matchcase")
	oppositeKeys = lazy.Words("v invert invertmatch multiline multilinemode dotall")
)
