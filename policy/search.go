package policy

import (
	"path"
	"strconv"
	"strings"

	"approvalbot/policy/finding"
)

// files reads every string that may be a path as the tools of that kind do.
func (r *reader) files(list []field, kind toolKind) {
	r.found.Add(finding.ReadOnlyTool)
	r.standsIn(list, finding.MayReadSecret)
	globs := *r // globs count from the directories that are searched as well
	if kind == searchTool || kind == manyTool {
		for i := range list {
			if f := &list[i]; f.str && f.text != "" && (pathKeys[f.key] || sourceKeys[f.key]) {
				globs.standIn(pathWord(f.text))
			}
		}
	}
	for i := range list {
		f := &list[i]
		if !f.odd && f.absent() {
			continue
		}
		if !f.str && !f.off() && (outKeys[f.key] || machineKeys[f.key] || f.key != "type" && doesMore(f.key)) {
			r.found.Add(finding.UnknownParameters)
			continue
		}
		within := f.top || f.key == f.root || pathKeys[f.root] || sourceKeys[f.root] || dirKeys[f.root] || textKeys[f.root] || globKeys[f.root] || deedKeys[f.root]
		switch {
		case f.odd, codeKeys[f.key] && !(kind == editorTool && f.key == "command"), codeKeys[f.root] && !f.top, outKeys[f.key]:
			r.found.Add(finding.UnknownParameters)
			if f.str && outKeys[f.key] {
				r.write(pathWord(f.text))
			}
		case !f.str:
		case kind == editorTool && f.key == "command": // it is "view", or this would not be reading
		case machineKeys[f.key]:
			r.found.Add(finding.UnknownParameters)
		case within && textKeys[f.key]:
			if kind == readerTool && !strings.ContainsAny(f.text, " \t\n") { // a tool that is given no other path could take it for one
				r.read(pathWord(f.text))
			}
		case strings.HasPrefix(f.text, "-"):
			r.found.Add(finding.UnknownParameters)
		case strings.Contains(f.text, "://"):
			r.address(f.text)
			if !within || !pathKeys[f.key] && !sourceKeys[f.key] && !urlKeys[f.key] {
				r.found.Add(finding.UnknownParameters)
			}
		case within && globKeys[f.key] && kind == manyTool:
			r.many(f.text)
		case within && globKeys[f.key]:
			globs.glob(f.text, kind)
		case within && deedKeys[f.key]:
			if d, _ := foldKey(f.text); !readingDeeds[d] {
				r.found.Add(finding.UnknownParameters)
			}
		case within && (pathKeys[f.key] || sourceKeys[f.key] || dirKeys[f.key]):
			r.contents(f.text, kind)
		default:
			if doesMore(f.key) || !f.harmless() && !digitRanges(f.text) {
				r.found.Add(finding.UnknownParameters)
			}
			r.contents(f.text, kind)
		}
	}
	if kind == searchTool && wholeFiles(list) {
		r.found.Add(finding.MayReadSecret)
	}
}

// doesMore reports a member of a reading tool whose name is a deed.
func doesMore(key string) bool { return nameWords[key]&(saysWrite|saysEnd) != 0 || moreDeeds[key] }

var moreDeeds = set("write save fix apply overwrite commit install chmod sudo eval spawn autofix dofix remove unlink touch")

// digitRanges reports a list of pages or lines.
func digitRanges(text string) bool { return strings.Trim(text, "0123456789-,: .") == "" }

// contents judges a path as the tools of that kind do.
func (r *reader) contents(text string, kind toolKind) {
	w := pathWord(text)
	switch {
	case kind == namesTool:
		r.name(w)
	case kind == manyTool:
		r.many(text)
	case strings.HasPrefix(text, "data:image/"), strings.HasPrefix(text, "data:application/pdf"):
	case kind == searchTool || kind == recallTool:
		r.globbed(w)
		r.search(w)
	default:
		r.globbed(w)
		r.read(w)
	}
}

// globbed judges a path with the signs of a glob, which some tools take it for.
func (r *reader) globbed(w word) {
	if w.kind != literal || !strings.ContainsAny(w.text, "*?[{(") {
		return
	}
	list, ok := r.alternatives(w.text)
	if !ok || groups(w.text) {
		r.found.Add(finding.MayReadSecret)
		return
	}
	for _, alt := range list {
		switch g := (word{text: alt, kind: pattern, tilde: w.tilde}); {
		case strings.ContainsAny(alt, "*?"):
			r.read(g)
		case strings.Contains(alt, "["): // as likely a name: app/[slug]/page.tsx
			r.deskPath(g)
			if aimsAtSecret(alt) {
				r.found.Add(finding.MayReadSecret)
			}
		default:
			r.read(word{text: alt, tilde: w.tilde})
		}
	}
}

// many judges what a tool takes that reads all files it is given, by path, by glob
// or by directory.
func (r *reader) many(text string) {
	w := pathWord(text)
	r.globbed(w)
	r.search(w)
	if pieces, ok := r.alternatives(text); ok && len(pieces) > 1 { // a list, to some tools
		for _, piece := range pieces {
			r.read(pathWord(piece))
		}
	}
	base := strings.ToLower(path.Base(w.text))
	if !strings.ContainsAny(w.text, "*?[{") && !plainFile(base) {
		r.found.Add(finding.MayReadSecret)
	}
}

// plainFile reports a lower-case name that is a file's rather than a directory's.
func plainFile(base string) bool {
	return strings.LastIndexByte(base, '.') > 0 || bareFiles[base]
}

var bareFiles = set("makefile dockerfile containerfile readme license licence copying authors contributors notice changelog codeowners gemfile rakefile procfile vagrantfile justfile pipfile brewfile version install todo")

// glob judges a glob that says which names a search looks at. One that picks out
// secrets asks; one that lets all names pass, or all of a sort of data, is as if it
// were not there.
func (r *reader) glob(text string, kind toolKind) {
	list, ok := r.alternatives(text)
	if !ok || groups(text) {
		r.found.Add(finding.MayReadSecret)
		return
	}
	for _, alt := range list {
		w := pathWord(strings.TrimPrefix(alt, "!"))
		if w.kind == literal && strings.ContainsAny(w.text, "*?[") {
			w.kind = pattern
		}
		r.deskPath(w)
		if kind == namesTool || strings.HasPrefix(alt, "!") {
			continue
		}
		if w.kind == computed || aimsAtSecret(w.text) {
			r.found.Add(finding.MayReadSecret)
		}
		if w.tilde || strings.HasPrefix(w.text, "/") || climbs(w.text) {
			r.search(w)
			if climbs(w.text) {
				r.found.Add(finding.MayReadSecret)
			}
		}
		rest := strings.NewReplacer("*", "", "?", "").Replace(w.text)
		if !strings.HasPrefix(w.text, "/") {
			rest = strings.TrimLeft(rest, "/")
		}
		r.read(word{text: rest, tilde: w.tilde})
	}
}

// groups reports a group such as @(a|b) in a glob. Parentheses alone are part of a
// name.
func groups(glob string) bool {
	for i := 1; i < len(glob); i++ {
		if glob[i] == '(' && strings.IndexByte("@+?*!", glob[i-1]) >= 0 {
			return true
		}
	}
	return false
}

// maxAlternatives bounds how many globs a glob with braces stands for.
const maxAlternatives = 64

// alternatives gives the globs that a member's text stands for: separated by
// blanks or commas, and written in braces.
func alternatives(text string) (list []string, ok bool) {
	depth, from := 0, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || depth <= 0 && strings.IndexByte(" \t\n,;", text[i]) >= 0:
			if from < i {
				list = append(list, text[from:i])
			}
			from = i + 1
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth--
		}
	}
	for i := 0; i < len(list); i++ {
		for at := strings.IndexByte(list[i], '{'); at >= 0; at = strings.IndexByte(list[i], '{') {
			more := openBraces(list[i], at)
			if len(list)+len(more) > maxAlternatives || len(text) > 4096 {
				return nil, false
			}
			list = append(append(list[:i:i], more...), list[i+1:]...)
		}
	}
	return list, len(list) <= maxAlternatives
}

// maxGlobs bounds how many bytes of globs are read of one call, with all that they
// stand for.
const maxGlobs = 1 << 14

// alternatives is the function of that name, as long as the call does not give
// more globs than are read.
func (r *reader) alternatives(text string) ([]string, bool) {
	list, ok := alternatives(text)
	for _, alt := range list {
		r.globs += len(alt)
	}
	return list, ok && r.globs <= maxGlobs
}

// openBraces writes out the braces that open at a byte of the glob, but for those
// inside them.
func openBraces(glob string, at int) (list []string) {
	depth, from := 0, at+1
	for i := at; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '{':
			depth++
		case c == '}' && depth > 1:
			depth--
		case c == '}', c == ',' && depth == 1:
			list = append(list, glob[:at]+glob[from:i])
			if from = i + 1; c == '}' {
				for k := range list {
					list[k] += glob[from:]
				}
				return list
			}
		}
	}
	return []string{glob[:at] + glob[at+1:], glob[:at] + "*"} // it does not close: the sign itself, or whatever the tool makes of it
}

// aimsAtSecret reports whether a glob of a search picks out names of secrets. In
// such globs signs match a dot at the beginning too.
func aimsAtSecret(glob string) bool {
	for c := range strings.SplitSeq(strings.ToLower(glob), "/") {
		if !strings.ContainsAny(c, "*?[") {
			if secretName(c) || secretBases.has(c) || secretData(c) {
				return true
			}
			continue
		}
		if !general(c) && hitsName(c) {
			return true
		}
	}
	return false
}

// general reports a component of a glob that lets all names pass, or all of one
// sort of data.
func general(c string) bool {
	ext := path.Ext(c)
	return c[0] == '*' && strings.Trim(strings.TrimSuffix(c, ext), "*") == "" && (strings.Trim(ext, ".*") == "" || dataEnds.has(ext) && !secretEnds.has(ext))
}

// hitsName reports whether a lower-case component with signs matches a name of a
// secret.
func hitsName(c string) bool {
	for _, name := range allSecretNames {
		if matchesName(c, name) {
			return true
		}
	}
	for _, name := range secretSamples {
		if matchesName(c, name) {
			return true
		}
	}
	if secretName(strings.NewReplacer("*", "", "?", "").Replace(c)) {
		return true
	}
	ext := path.Ext(c)
	if strings.Trim(ext, ".*") == "" && !strings.Contains(c, "[") {
		return false
	}
	for end := range secretEnds.words {
		if matchesName(ext, end) || matchesName(c, "a"+end) && !strings.HasSuffix(c, "*") {
			return true
		}
	}
	return false
}

// secretSamples are names of secrets beside those in the lists.
var secretSamples = func() []string {
	list := []string{".env.local", ".env.production", ".env.development", "id_rsa.bak", "passwd", "shadow"}
	for _, w := range secretWords {
		list = append(list, w, w+"s", w+".txt", w+".json", w+".yaml", w+"s.txt", w+"s.yaml")
	}
	return list
}()

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
			words = words && ownWord(strings.ToLower(f.text))
			near = near || nearSecret(f.text)
			folded = folded || strings.ToUpper(f.text) == f.text || strings.Contains(f.text, "(?i")
		case globKeys[f.key] && f.str && f.text != "":
			globs.add(sourceGlobs(f.text))
		case (f.key == "type" || f.key == "filetype") && f.str:
			typed = codeTypes[f.text]
		case (pathKeys[f.key] || sourceKeys[f.key] || dirKeys[f.key]) && f.str && f.text != "":
			paths.add(codeEnds[strings.TrimPrefix(path.Ext(strings.ToLower(f.text)), ".")])
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
	searchKeys   = set("pattern patterns query queries regex regexp search q searchterm")
	aroundKeys   = set("a b c context contextlines before after beforecontext aftercontext contextbefore contextafter linesbefore linesafter")
	foldKeys     = set("i ignorecase caseinsensitive casesensitive matchcase")
	oppositeKeys = set("v invert invertmatch multiline multilinemode dotall")
)

// sourceGlobs reports globs whose last components are names of source code.
func sourceGlobs(text string) bool {
	list, ok := alternatives(text)
	some := false
	for _, alt := range list {
		if alt[0] != '!' { // what is left out makes no difference
			some, ok = true, ok && sourceName(path.Base(alt))
		}
	}
	return ok && some
}
