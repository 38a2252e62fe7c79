package tool

import (
	"bytes"
	"strings"

	"approvalbot/core"
	"approvalbot/policy/finding"
	"approvalbot/policy/line"
	"approvalbot/policy/workspace"
)

// Reading is one call as what is read of its params.
type Reading struct {
	Call  core.Call
	Tool  Tool
	Own   *workspace.Own
	Lines *line.Wide // reads shell lines
	Roots []string   // the agent's workspaces

	List             []field   // of the params; see fields
	listed, readable bool      // they were read, and are what the params say
	decoder          *decoding // reads them

	Found finding.Set      // what the call could do
	Paths []workspace.File // that it names, where wants is set
	Wants bool             // some rule looks at paths
}

// Spent is an empty Reading with the memory of this one, but nothing of what it read.
func (x *Reading) Spent() Reading {
	clear(x.List)
	clear(x.Paths)
	if x.decoder != nil {
		x.decoder.in = bytes.Buffer{}
		x.decoder.Reset(&x.decoder.in)
	}
	return Reading{List: x.List[:0], Paths: x.Paths[:0], decoder: x.decoder}
}

// Wanted gives where paths are noted; nil where no rule looks at them.
func (x *Reading) Wanted() *[]workspace.File {
	if !x.Wants {
		return nil
	}
	return &x.Paths
}

// Read reads the params as the tool does.
func (x *Reading) Read() {
	switch x.Tool.Kind {
	case Quiet:
		x.assessQuiet()
	case Messenger:
		x.Found.Add(finding.MessageSend)
		x.assessText()
	case Payer:
		x.Found.Add(finding.Payment)
	case Actor:
		x.assessAction()
	case Database:
		x.assessDatabase()
	case Other:
		x.assessOther()
	default:
		x.assessFiles()
	}
}

// assessFiles reads the tools whose params are paths and addresses.
func (x *Reading) assessFiles() {
	list, ok := x.Fields()
	if !ok {
		x.Found.Add(finding.MalformedCall)
		return
	}
	r := x.Params(&x.Found, x.Wanted())
	switch kind := x.Tool.Kind; {
	case kind == Web:
		r.web(list, strings.Contains(x.Tool.Name, "resource"))
	case kind == Patcher:
		r.Patch(list)
	case kind == Editor && views(list):
		r.files(list, kind)
	case kind == Editor || kind == Writer:
		r.written(list, finding.WorkspaceWrite)
	case kind == Deleter:
		r.written(list, finding.DeletesFile)
	default:
		r.files(list, kind)
	}
}

// Params reads the params of tools that name files and addresses.
type Params struct{ workspace.Reader }

// Params makes a reader of a call's params, which adds what it finds to a set.
func (x *Reading) Params(found *finding.Set, paths *[]workspace.File) Params {
	return Params{workspace.Reader{Own: x.Own, Place: x.stands(), Found: found, Paths: paths}}
}

// written reads a tool that changes the files it names.
func (r *Params) written(list []field, c finding.Code) {
	r.standsIn(list, finding.DynamicPath)
	named := false
	for i := range list {
		f := &list[i]
		within := f.top || f.Key == f.root || PathKeys[f.root] || contentKeys[f.root]
		switch {
		case !f.odd && f.absent():
		case f.odd || !within || codeKeys[f.Key] && f.Key != "command":
			r.Found.Add(finding.UnknownParameters)
		case f.Str && PathKeys[f.Key]:
			named = true
			r.Write(workspace.PathWord(f.Text))
			if c == finding.DeletesFile {
				r.DeskTree(workspace.PathWord(f.Text))
			}
		case f.Str && dirKeys[f.Key] || contentKeys[f.Key]:
		case f.Key == "command" || deedKeys[f.Key]:
			if d, _ := foldKey(f.Text); !f.Str || !editDeeds[d] {
				r.Found.Add(finding.UnknownParameters)
			}
		case writerKeys[f.Key] && f.harmless(), f.Key == "editmode" && (f.Text == "insert" || f.Text == "delete"):
		default:
			r.Found.Add(finding.UnknownParameters)
			if f.Str && !strings.ContainsAny(f.Text, " \n") {
				r.Write(workspace.PathWord(f.Text)) // whatever it is, it may be worse than unknown
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
func (x *Reading) assessOther() {
	x.Found.Add(finding.UnknownTool)
	for _, text := range [3]string{x.Tool.Name, x.Call.Context.ToolDescription, x.Call.Context.Tool.Description} {
		text = strings.ToLower(text)
		for _, k := range keywords {
			if strings.Contains(text, k.word) {
				x.Found.Add(k.code)
			}
		}
	}
	if x.assessName()&saysDatabase != 0 {
		x.assessDatabase()
		return
	}
	x.assessText()
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
func (x *Reading) assessText() {
	list, ok := x.Fields()
	if !ok {
		x.Found.Add(finding.MalformedCall)
		return
	}
	var lines, argv []string
	for _, f := range list {
		if !f.Str {
			continue
		}
		if x.Own.InText(f.Text) {
			x.Found.Add(finding.TouchesDesk)
		}
		switch {
		case codeKeys[f.Key] && f.top:
			lines = append(lines, f.Text)
		case codeKeys[f.Key]:
			lines, argv = append(lines, f.Text), append(argv, f.Text)
		}
	}
	if len(lines) == 0 {
		return
	}
	sh := x.Lines.Read(x.stands(), nil, nil)
	for _, l := range append(lines, strings.Join(argv, " ")) {
		sh.Line(l)
	}
	x.Found = x.Found.Or(sh.Finish(strings.Join(lines, "\n")).And(finding.OfClass[core.R4]))
}

// views reports an editor's call that only reads.
func views(list []field) bool {
	command, ok := said(list, "command")
	return ok && command == "view"
}

// stands is where the call's params count from.
func (x *Reading) stands() workspace.Place {
	return workspace.At(x.Roots, x.Own, x.Call.Bind, "", "")
}

// Lacks reports a call without what such a call cannot be without.
func (x *Reading) Lacks() bool {
	f, ok := formOf(x.Tool)
	if !ok {
		return false
	}
	list, readable := x.Fields()
	return readable && f.malformed(list)
}
