package tool

import (
	"path"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

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
	r.taken(list, x.Tool.Name)
	switch kind := x.Tool.Kind; {
	case kind == Web:
		r.web(list, strings.Contains(x.Tool.Name, "resource"), x.Tool.Name == "fetchwebcontent")
	case kind == Patcher:
		r.Patch(list)
	case kind == Editor && views(list):
		r.files(list, kind, x.Tool.Name)
	case kind == Editor || kind == Writer:
		r.written(list, finding.WorkspaceWrite)
	case kind == Deleter:
		r.written(list, finding.DeletesFile)
	default:
		r.files(list, kind, x.Tool.Name)
	}
	if x.Found.Has(finding.ScratchWrite) && x.Found.Has(finding.WorkspaceWrite) {
		x.Found.Add(finding.WritesOutside) // what it moves there is deleted unasked
	}
}

// oneFile reports a path that a tool cannot take for a pattern, and that is no directory by its name.
func oneFile(file string) bool { return !strings.ContainsAny(file, "*?[]{}") && path.Ext(file) != "" }

// written reads a tool that changes the files it names.
func (r *Params) written(list []field, c finding.Code) {
	r.standsIn(list, finding.DynamicPath)
	named, scratch := false, true
	for i := range list {
		f := &list[i]
		within := f.direct() || PathKeys.Has(f.root) || contentKeys.Has(f.root)
		code := codeKeys.Has(f.Key) && f.Key != "command"
		switch {
		case !f.odd && f.absent():
		case f.odd || !within || code:
			r.Found.Add(finding.UnknownParameters)
		case f.Str && PathKeys.Has(f.Key):
			named, scratch = true, scratch && r.Place.IsScratch(workspace.PathWord(f.Text)) && (c != finding.DeletesFile || oneFile(f.Text))
			r.Write(workspace.PathWord(f.Text))
			if c == finding.DeletesFile {
				r.DeskTree(workspace.PathWord(f.Text))
			}
		case f.Str && dirKeys.Has(f.Key) || contentKeys.Has(f.Key):
		case f.Key == "command" || deedKeys.Has(f.Key):
			if d, _ := foldKey(f.Text); !f.Str || !editDeeds.Has(d) {
				r.Found.Add(finding.UnknownParameters)
			}
		case writerKeys.Has(f.Key) && f.harmless(),
			f.Key == "editmode" && (f.Text == "insert" || f.Text == "delete"):
		default:
			r.Found.Add(finding.UnknownParameters)
			if f.Str && !strings.ContainsAny(f.Text, " \n") {
				r.Write(workspace.PathWord(f.Text)) // also judged as a path: it may be worse than unknown
			}
		}
	}
	if !named {
		r.Found.Add(finding.MalformedCall)
	}
	if c != finding.WorkspaceWrite && !(named && scratch) {
		r.Found.Add(c)
	}
	if named && !scratch && empties(list) {
		r.Found.Add(finding.DeletesFile)
	}
}

// empties reports a call that gives a file an empty text as its whole contents, as ": > x"
// does. A part of a file may be replaced by an empty text, and some files are there to be
// empty.
func empties(list []field) bool {
	blank := false
	for i := range list {
		f := &list[i]
		empty := f.Str && strings.TrimSpace(f.Text) == "" || f.Text == "null"
		switch {
		case wholeKeys.Has(f.Key) && empty:
			blank = true
		case f.absent():
		case wholeKeys.Has(f.Key), contentKeys.Has(f.Key) && !talkKeys.Has(f.Key), f.adds(), PathKeys.Has(f.Key) && emptyNames.Has(path.Base(f.Text)):
			return false
		}
	}
	return blank
}

// adds reports a member with which a tool changes a part of a file.
func (f *field) adds() bool {
	deed, _ := foldKey(f.Text)
	return f.Key == "append" && !f.off() || partDeeds.Has(deed) && (f.Key == "command" || deedKeys.Has(f.Key))
}

var (
	wholeKeys = lazy.Words("content contents text filetext filecontent newcontent")
	talkKeys  = lazy.Words(`explanation description displaydescription reason title taskprogress toolsummary summary
		commitmessage toolcallid celltype`)
	partDeeds  = lazy.Words("append insert replace strreplace undoedit view")
	emptyNames = lazy.Words(".gitkeep .keep .nojekyll py.typed __init__.py")
)

// assessOther reads a tool that policy does not know: it asks, and its words say more about
// it, which never lowers its class.
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
	list, _ := x.Fields()
	for i := range list {
		f := &list[i]
		if !f.Str || !workspace.SettingsIn(f.Text) {
			continue
		}
		if codeKeys.Has(f.Key) || !strings.ContainsAny(f.Text, " \n") {
			x.Found.Add(finding.WritesAgentSettings) // it is not known to only read it
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
	{"execute", finding.KeywordExecute}, {"command", finding.KeywordCommand}, {"delete", finding.KeywordDelete},
	{"remove", finding.KeywordRemove},
	{"write", finding.KeywordWrite}, {"shell", finding.KeywordShell}, {"send", finding.KeywordSend},
	{"message", finding.KeywordSend}, {"email", finding.KeywordSend},
	{"payment", finding.KeywordPay}, {"transfer", finding.KeywordPay}, {"purchase", finding.KeywordPay},
	{"refund", finding.KeywordPay}, {"charge", finding.KeywordPay},
}

// views reports an editor's call that only reads.
func views(list []field) bool {
	command, ok := said(list, "command")
	return ok && command == "view"
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
