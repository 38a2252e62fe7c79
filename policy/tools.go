package policy

// toolKind says how a tool's params are read.
type toolKind uint8

const (
	otherTool    toolKind = iota // not known: asks
	quietTool                    // the agent's own notes and questions
	readerTool                   // reads file contents
	searchTool                   // shows the lines of whole directories that match
	manyTool                     // reads all files that it is given, directories too
	recallTool                   // finds by meaning what was put into an index before
	namesTool                    // lists or matches names
	writerTool                   // writes one file
	editorTool                   // reads or writes, as its param "command" says
	patchTool                    // applies a patch that names its files
	deleterTool                  // deletes files
	webTool                      // fetches or searches the web
	messageTool                  // sends to people
	paymentTool                  // moves money
	actionTool                   // does what its param "action" says
	databaseTool                 // runs a statement in a database
	execTool                     // runs a command
)

// tool is what policy knows of a call's tool.
type tool struct {
	name string // folded
	kind toolKind
}

// toolKinds knows tools by their folded names, as the common agent runtimes
// call them. A tool that another server brings (its name has a dot, a slash, a
// colon or two underscores) is never taken for one of these: whoever writes the
// project's list of servers chooses that name, and what stands behind it can
// change any day, so that "mcp__filesystem__read_file" may be anything. Such a
// name can only make things worse (see verbs.go); an operator who knows a server
// writes a rule for it.
var toolKinds = func() map[string]toolKind {
	m := map[string]toolKind{}
	for kind, names := range map[toolKind][]string{
		quietTool: {"think", "todoread", "todowrite", "todolist", "writetodos", "updatetodos", "updateplan", "reportintent", "askuserquestion", "askuser", "question", "requestuserinput",
			"sessionstatus", "agentslist", "sessionslist", "sessionshistory", "readlints", "diagnostics", "lspdiagnostics", "bashoutput", "taskoutput", "readbash", "toolsearch",
			"task", "agent", "delegatetoagent", "codebaseinvestigator", "taskcreate", "taskupdate", "tasklist", "taskget", "completetask", "attemptcompletion",
			"enterplanmode", "exitplanmode", "planenter", "planexit", "skill", "activateskill", "fetchrules", "getinternaldocs", "diffhistory", "cronlist", "tts",
			"killshell", "killbash", "taskstop", "stopbash", "slashcommand", "spawnagent", "wait", "await", "closeagent", "resumeagent", "sessionsyield", "heartbeatrespond",
			"createplan", "switchmode", "askquestion", "creatediagram", "trackercreatetask", "listmcpresources", "listmcpresourcestool", "listmcpresourcetemplates"},
		readerTool: {"read", "readfile", "readfiles", "fsread", "view", "viewfile", "viewimage", "image", "pdf", "notebookread", "openfile", "lsp", "lsphover",
			"listcodedefinitionnames"},
		searchTool: {"grep", "grepsearch", "grepfiles", "search", "searchfiles", "searchfilecontent"},
		manyTool:   {"readmanyfiles"},
		recallTool: {"codebasesearch", "semanticsearch", "codesearch", "memoryget", "memorysearch"},
		namesTool:  {"ls", "glob", "globfilesearch", "list", "listdir", "listdirectory", "listfiles", "findfiles", "filesearch", "find"},
		writerTool: {"write", "writefile", "writetofile", "createfile", "create", "fswrite", "edit", "editfile", "multiedit", "notebookedit", "replace", "replaceinfile", "searchreplace", "strreplace",
			"inserttext", "editnotebook"},
		editorTool:   {"strreplaceeditor", "strreplacebasededittool", "texteditor"},
		patchTool:    {"applypatch", "patch"},
		deleterTool:  {"delete", "deletefile", "removefile", "rm"},
		databaseTool: {"sql", "executesql", "runsql", "sqlquery", "runquery", "executequery", "dbquery", "databasequery"},
		webTool:      {"webfetch", "websearch", "googlewebsearch", "fetchurl", "fetch", "httpget", "httprequest", "browsepage", "xsearch", "readmcpresource", "readmcpresourcetool", "fetchmcpresource"},
		messageTool:  {"message", "sendmessage", "sendemail", "email", "sms", "sendsms", "sessionssend", "postmessage", "notify", "tweet"},
		paymentTool:  {"pay", "payment", "sendpayment", "makepayment", "transferfunds", "sendmoney", "purchase", "checkout", "refund", "createcharge"},
		execTool: {"exec", "bash", "shell", "sh", "localshell", "execcommand", "shellcommand", "runshellcommand", "runcommand", "runterminalcmd",
			"runterminalcommand", "executecommand", "executebash", "runinterminal", "terminal", "runcommands"},
	} {
		for _, n := range names {
			m[n] = kind
		}
	}
	for n := range actionTools {
		m[n] = actionTool
	}
	return m
}()

// toolOf folds a tool's name (letter case, "_" and "-" do not count) and looks
// it up.
func toolOf(name string) tool {
	if folded, ok := fold(name); ok {
		return tool{folded, toolKinds[folded]}
	}
	return tool{name: name}
}

// fold reports false for a name that no built-in tool has.
func fold(name string) (string, bool) {
	buf, same := make([]byte, 0, 128), true
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' && i+1 < len(name) && name[i+1] == '_', c == '.', c == ':', c == '/', c >= 0x80:
			return "", false
		case c == '_' || c == '-':
			same = false
		case 'A' <= c && c <= 'Z':
			buf, same = append(buf, c+'a'-'A'), false
		default:
			buf = append(buf, c)
		}
	}
	if same {
		return name, true
	}
	return string(buf), true
}
