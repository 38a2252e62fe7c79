package policy

import (
	"strings"

	"approvalbot/core"
	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// assess reads the call into j.found.
func (e *Engine) assess(j *judging) {
	if e.assessServer(j) {
		return
	}
	e.assessKind(j)
	e.declared(j)
	if j.tool.kind == execTool && !j.found.Has(finding.MalformedCall) {
		return
	}
	x, ok := formOf(j.tool)
	if !ok {
		return
	}
	if list, readable := j.fields(); readable && x.malformed(list) {
		j.malformed = true
		j.found.Add(finding.MalformedCall)
	}
}

func (e *Engine) assessKind(j *judging) {
	switch j.tool.kind {
	case execTool:
		e.assessExec(j)
	case quietTool:
		e.assessQuiet(j)
	case messageTool:
		j.found.Add(finding.MessageSend)
		e.assessText(j)
	case paymentTool:
		j.found.Add(finding.Payment)
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
		j.found.Add(finding.MalformedCall)
		return
	}
	r := e.params(j, &j.found, j.wanted())
	switch kind := j.tool.kind; {
	case kind == webTool:
		r.web(list, strings.Contains(j.tool.name, "resource"))
	case kind == patchTool:
		r.patch(list)
	case kind == editorTool && views(list):
		r.files(list, kind)
	case kind == editorTool || kind == writerTool:
		r.written(list, finding.WorkspaceWrite)
	case kind == deleterTool:
		r.written(list, finding.DeletesFile)
	default:
		r.files(list, kind)
	}
}

// paramReader reads the params of tools that name files and addresses.
type paramReader struct{ workspace.Reader }

// params makes a reader of a call's params, which adds what it finds to a set.
func (e *Engine) params(j *judging, found *finding.Set, paths *[]workspace.File) paramReader {
	return paramReader{workspace.Reader{Own: &e.desk, Place: j.agent.place(&j.call, "", ""), Found: found, Paths: paths}}
}

// written reads a tool that changes the files it names.
func (r *paramReader) written(list []field, c finding.Code) {
	r.standsIn(list, finding.DynamicPath)
	named := false
	for i := range list {
		f := &list[i]
		within := f.top || f.key == f.root || pathKeys[f.root] || contentKeys[f.root]
		switch {
		case !f.odd && f.absent():
		case f.odd || !within || codeKeys[f.key] && f.key != "command":
			r.Found.Add(finding.UnknownParameters)
		case f.str && pathKeys[f.key]:
			named = true
			r.Write(workspace.PathWord(f.text))
			if c == finding.DeletesFile {
				r.DeskTree(workspace.PathWord(f.text))
			}
		case f.str && dirKeys[f.key] || contentKeys[f.key]:
		case f.key == "command" || deedKeys[f.key]:
			if d, _ := foldKey(f.text); !f.str || !editDeeds[d] {
				r.Found.Add(finding.UnknownParameters)
			}
		case writerKeys[f.key] && f.harmless(), f.key == "editmode" && (f.text == "insert" || f.text == "delete"):
		default:
			r.Found.Add(finding.UnknownParameters)
			if f.str && !strings.ContainsAny(f.text, " \n") {
				r.Write(workspace.PathWord(f.text)) // whatever it is, it may be worse than unknown
			}
		}
	}
	if !named {
		r.Found.Add(finding.MalformedCall)
	}
	if c != finding.WorkspaceWrite {
		r.Found.Add(c)
	}
}

// assessOther reads a tool that policy does not know: it asks, and its words
// say more about it, none of them to its advantage.
func (e *Engine) assessOther(j *judging) {
	j.found.Add(finding.UnknownTool)
	for _, text := range [3]string{j.tool.name, j.call.Context.ToolDescription, j.call.Context.Tool.Description} {
		text = strings.ToLower(text)
		for _, k := range keywords {
			if strings.Contains(text, k.word) {
				j.found.Add(k.code)
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
	code finding.Code
}{
	{"execute", finding.KeywordExecute}, {"command", finding.KeywordCommand}, {"delete", finding.KeywordDelete}, {"remove", finding.KeywordRemove},
	{"write", finding.KeywordWrite}, {"shell", finding.KeywordShell}, {"send", finding.KeywordSend}, {"message", finding.KeywordSend}, {"email", finding.KeywordSend},
	{"payment", finding.KeywordPay}, {"transfer", finding.KeywordPay}, {"purchase", finding.KeywordPay}, {"refund", finding.KeywordPay}, {"charge", finding.KeywordPay},
}

// assessText looks through all strings of a call for what is R4 wherever it
// stands: the desk itself, and commands in members that are named like one.
func (e *Engine) assessText(j *judging) {
	list, ok := j.fields()
	if !ok {
		j.found.Add(finding.MalformedCall)
		return
	}
	var lines, argv []string
	for _, f := range list {
		if !f.str {
			continue
		}
		if e.desk.InText(f.text) {
			j.found.Add(finding.TouchesDesk)
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
	sh := e.lines.Read(j.agent.place(&j.call, "", ""), nil, nil)
	for _, l := range append(lines, strings.Join(argv, " ")) {
		sh.Line(l)
	}
	j.found = j.found.Or(sh.Finish(strings.Join(lines, "\n")).And(finding.OfClass[core.R4]))
}

// views reports an editor's call that only reads.
func views(list []field) bool {
	command, ok := said(list, "command")
	return ok && command == "view"
}
