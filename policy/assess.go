package policy

import (
	"strings"

	"approvalbot/core"
)

// assess reads the call into j.found.
func (e *Engine) assess(j *judging) {
	switch j.tool.kind {
	case execTool:
		e.assessExec(j)
	case quietTool:
		j.found.add(harmlessTool)
	case messageTool:
		j.found.add(messageSend)
		e.assessText(j)
	case paymentTool:
		j.found.add(payment)
	case actionTool:
		e.assessAction(j)
	case databaseTool:
		e.assessDatabase(j)
	case otherTool:
		e.assessOther(j)
	default:
		e.assessFiles(j)
	}
}

// assessFiles reads the tools whose params are paths and addresses.
func (e *Engine) assessFiles(j *judging) {
	list, ok := j.fields()
	if !ok {
		j.found.add(malformedCall)
		return
	}
	r := reader{eng: e, place: j.agent.place(&j.call, "", ""), found: &j.found, seen: &j.seen}
	switch kind := j.tool.kind; {
	case kind == webTool:
		r.web(list)
	case kind == patchTool:
		r.patch(list)
	case kind == editorTool && value(list, "command") == "view":
		r.files(list, readerTool)
	case kind == editorTool || kind == writerTool:
		r.written(list, workspaceWrite)
	case kind == deleterTool:
		r.written(list, deletesFile)
	default:
		r.files(list, kind)
	}
}

// textKeys are members of reading tools that are not paths.
var textKeys = set("pattern query regex search q searchterm description explanation prompt reason type outputmode language")

// globKeys are members that say which names a search looks at.
var globKeys = set("glob globs include includes includepattern filepattern")

// codeKeys are members that would make a reading tool more than that.
var codeKeys = set("command cmd script code exec argv args arguments flags extraargs shell sql")

// files reads every string that may be a path as the tools of that kind do.
func (r *reader) files(list []field, kind toolKind) {
	r.found.add(readOnlyTool)
	for _, f := range list {
		switch {
		case codeKeys[f.key] && !(f.key == "command" && f.text == "view"):
			r.found.add(unknownParameters)
		case !f.str || textKeys[f.key]:
		case strings.HasPrefix(f.text, "-"):
			r.found.add(unknownParameters)
		case globKeys[f.key]:
			r.deskPath(word{text: f.text, kind: pattern})
			r.read(word{text: strings.ReplaceAll(f.text, "*", "")})
		case strings.Contains(f.text, "://"):
			r.address(f.text)
		case kind == namesTool:
			r.name(pathWord(f.text))
		case kind == searchTool:
			if strings.ContainsAny(f.text, "*?[{") { // some tools take globs for paths
				head, _, braces := strings.Cut(f.text, "{")
				if braces {
					head += "**"
				}
				r.deskPath(word{text: head, kind: pattern})
			}
			r.search(pathWord(f.text))
		default:
			r.read(pathWord(f.text))
		}
	}
}

// contentKeys are members of writing tools that are not paths.
var contentKeys = set("content contents text newstring oldstring newtext oldtext newstr oldstr filetext inserttext instructions " +
	"instruction codeedit edits diff explanation description cellid celltype editmode newsource encoding reason command")

// pathKeys are members that name the file.
var pathKeys = set("path filepath file filename absolutepath targetfile targetpath notebookpath targetnotebook relativeworkspacepath uri paths files destination")

// written reads a tool that changes the files it names.
func (r *reader) written(list []field, c code) {
	any := false
	for _, f := range list {
		named := f.str && pathKeys[f.key]
		any = any || named
		if named || f.str && f.top && !contentKeys[f.key] {
			r.write(pathWord(f.text))
			if c == deletesFile {
				r.deskTree(pathWord(f.text))
			}
		}
	}
	if !any {
		r.found.add(malformedCall)
	}
	if c != workspaceWrite {
		r.found.add(c)
	}
}

// patch reads the headers of a patch: "*** Update File: x" and the lines of a
// unified diff. A patch that names no file cannot be read.
func (r *reader) patch(list []field) {
	any := false
	for _, f := range list {
		if f.str && pathKeys[f.key] {
			r.write(pathWord(f.text))
			continue
		}
		for line := range strings.Lines(f.text) {
			name, deletes, ok := patched(strings.TrimSpace(line))
			if ok && name != "/dev/null" {
				any = true
				r.write(pathWord(name))
			}
			if deletes {
				r.found.add(deletesFile)
			}
		}
	}
	if !any {
		r.found.add(malformedCall)
	}
}

// patched reads one line of a patch.
func patched(line string) (name string, deletes, ok bool) {
	for _, p := range [...]string{"*** Add File:", "*** Update File:", "*** Move to:", "*** Delete File:", "rename to ", "rename from ", "copy to ", "+++ ", "--- "} {
		rest, found := strings.CutPrefix(line, p)
		if !found {
			continue
		}
		rest, _, _ = strings.Cut(strings.TrimSpace(rest), "\t")
		if p == "+++ " || p == "--- " {
			rest = strings.TrimPrefix(strings.TrimPrefix(rest, "a/"), "b/")
		}
		return rest, p == "*** Delete File:" || p == "+++ " && rest == "/dev/null", true
	}
	return "", strings.HasPrefix(line, "deleted file mode"), false
}

// web reads a tool that fetches or searches.
func (r *reader) web(list []field) {
	r.found.add(networkRead)
	for _, f := range list {
		switch {
		case f.key == "method" && f.text != "GET" && f.text != "HEAD" && f.text != "get" && f.text != "head":
			r.found.add(sendsData)
		case f.key == "body" || f.key == "data" || f.key == "payload" || f.key == "json":
			r.found.add(sendsData)
		case !f.str:
		case f.key == "url" || f.key == "urls" || f.key == "uri":
			r.address(f.text)
		default:
			r.addressesIn(f.text)
		}
	}
}

// assessOther reads a tool that policy does not know: it asks, and its words
// say more about it, none of them to its advantage.
func (e *Engine) assessOther(j *judging) {
	j.found.add(unknownTool)
	for _, text := range [2]string{j.tool.name, j.call.Context.ToolDescription} {
		text = strings.ToLower(text)
		for _, k := range keywords {
			if strings.Contains(text, k.word) {
				j.found.add(k.code)
			}
		}
	}
	if j.assessName()&saysDatabase != 0 {
		e.assessDatabase(j)
		return
	}
	e.assessText(j)
}

var keywords = [...]struct {
	word string
	code code
}{
	{"execute", keywordExecute}, {"command", keywordCommand}, {"delete", keywordDelete}, {"remove", keywordRemove},
	{"write", keywordWrite}, {"shell", keywordShell}, {"send", keywordSend}, {"message", keywordSend}, {"email", keywordSend},
	{"payment", keywordPay}, {"transfer", keywordPay}, {"purchase", keywordPay}, {"refund", keywordPay}, {"charge", keywordPay},
}

// assessText looks through all strings of a call for what is R4 wherever it
// stands: the desk itself, and commands in members that are named like one.
func (e *Engine) assessText(j *judging) {
	list, ok := j.fields()
	if !ok {
		j.found.add(malformedCall)
		return
	}
	var lines, argv []string
	for _, f := range list {
		if !f.str {
			continue
		}
		if e.desk.inText(f.text) {
			j.found.add(touchesDesk)
		}
		switch {
		case codeKeys[f.key] && f.top:
			lines = append(lines, f.text)
		case codeKeys[f.key]:
			lines, argv = append(lines, f.text), append(argv, f.text)
		}
	}
	if len(lines) == 0 {
		return
	}
	sh := e.shell(j.agent.place(&j.call, "", ""), nil)
	for _, l := range append(lines, strings.Join(argv, " ")) {
		sh.line(l)
	}
	j.found = j.found.or(sh.finish(strings.Join(lines, "\n")).and(ofClass[core.R4]))
}

// value gives the text of the first field with that key.
func value(list []field, key string) string {
	for _, f := range list {
		if f.key == key {
			return f.text
		}
	}
	return ""
}

// lexicon is a set of words for what is mostly not one of them: the first byte
// and the length say so of most.
type lexicon struct {
	words map[string]bool
	sizes [256]uint64 // by first byte, a bit for each length modulo 64
}

func newLexicon(words string) *lexicon {
	l := &lexicon{words: set(words)}
	for w := range l.words {
		l.sizes[w[0]] |= 1 << (len(w) & 63)
	}
	return l
}

func (l *lexicon) has(w string) bool {
	return w != "" && l.sizes[w[0]]>>(len(w)&63)&1 != 0 && l.words[w]
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
