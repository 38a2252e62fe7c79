package tool

import "sync"

// Kind says how a tool's params are read.
type Kind uint8

const (
	Other      Kind = iota // not known: asks
	Quiet                  // the agent's own notes and questions
	Reader                 // reads file contents
	Searcher               // shows the lines of whole directories that match
	ManyReader             // reads all files that it is given, directories too
	Recaller               // finds by meaning what was put into an index before
	Lister                 // lists or matches names
	Writer                 // writes one file
	Editor                 // reads or writes, as its param "command" says
	Patcher                // applies a patch that names its files
	Deleter                // deletes files
	Web                    // fetches or searches the web
	Messenger              // sends to people
	Payer                  // moves money
	Actor                  // does what its param "action" says
	Database               // runs a statement in a database
	Exec                   // runs a command
)

// Tool is what policy knows of a call's tool.
type Tool struct {
	Name string // folded
	Kind Kind
}

// Kinds knows tools by their folded names, as the common agent runtimes call them. A tool
// that another server brings (its name has a dot, a slash, a colon or two underscores) is
// never taken for one of these: the author of the project's list of servers chooses that
// name, and the server behind it can change any day, so that "mcp__filesystem__read_file"
// may be anything. Such a name can only make things worse (see verbs.go); an operator who
// knows a server writes a rule for it.
var Kinds = sync.OnceValue(func() map[string]Kind {
	m := map[string]Kind{}
	for kind, names := range map[Kind][]string{
		Quiet: {"think", "todoread", "todowrite", "todolist", "writetodos", "updatetodos", "updateplan",
			"reportintent", "askuserquestion", "askuser", "question", "requestuserinput",
			"sessionstatus", "agentslist", "sessionslist", "sessionshistory", "readlints", "diagnostics",
			"lspdiagnostics", "bashoutput", "taskoutput", "readbash", "toolsearch",
			"task", "agent", "delegatetoagent", "codebaseinvestigator", "taskcreate", "taskupdate", "tasklist",
			"taskget", "completetask", "attemptcompletion",
			"enterplanmode", "exitplanmode", "planenter", "planexit", "skill", "activateskill", "fetchrules",
			"getinternaldocs", "diffhistory", "cronlist", "tts",
			"killshell", "killbash", "taskstop", "stopbash", "slashcommand", "spawnagent", "wait", "await",
			"closeagent", "resumeagent", "sessionsyield", "heartbeatrespond",
			"createplan", "switchmode", "askquestion", "creatediagram", "trackercreatetask", "listmcpresources",
			"listmcpresourcestool", "listmcpresourcetemplates",
			"updatetopic", "listbackgroundprocesses", "readbackgroundoutput", "trackerlisttasks", "trackervisualize",
			"waitagent", "multiagentv1waitagent", "multiagentv1closeagent", "getgoal", "creategoal", "updategoal",
			"listagents", "reportfindings", "waitformcpservers", "listbash", "readagent", "fetchcopilotclidocumentation",
			"teamstatus", "teamtask", "teamcancelrun", "teamlistruns", "teamawaitruns", "teamreadmailbox", "teammissionlog", "teamcleanup",
			"teamshutdownteammate", "teamcreateoutcome", "teamattachoutcomefragment", "teamreviewoutcomefragment", "teamfinalizeoutcome",
			"teamlistoutcomes"}, // each by its client's source: testdata/runtimes.tsv
		Reader: {"read", "readfile", "readfiles", "fsread", "view", "viewfile", "viewimage", "image", "pdf",
			"notebookread", "openfile", "lsp", "lsphover",
			"listcodedefinitionnames"},
		Searcher:   {"grep", "grepsearch", "grepfiles", "search", "searchfiles", "searchfilecontent", "searchcodebase"},
		ManyReader: {"readmanyfiles"},
		Recaller:   {"codebasesearch", "semanticsearch", "codesearch", "memoryget", "memorysearch"},
		Lister:     {"ls", "glob", "globfilesearch", "list", "listdir", "listdirectory", "listfiles", "findfiles", "filesearch", "find"},
		Writer: {"write", "writefile", "writetofile", "createfile", "create", "fswrite", "edit", "editfile",
			"multiedit", "notebookedit", "replace", "replaceinfile", "searchreplace", "strreplace",
			"inserttext", "editnotebook", "editor"},
		Editor:   {"strreplaceeditor", "strreplacebasededittool", "texteditor"},
		Patcher:  {"applypatch", "patch"},
		Deleter:  {"delete", "deletefile", "removefile", "rm"},
		Database: {"sql", "executesql", "runsql", "sqlquery", "runquery", "executequery", "dbquery", "databasequery"},
		Web: {"webfetch", "websearch", "googlewebsearch", "fetchurl", "fetch", "httpget", "httprequest",
			"fetchwebcontent", "browsepage", "xsearch", "readmcpresource", "readmcpresourcetool", "fetchmcpresource"},
		Messenger: {"message", "sendmessage", "sendemail", "email", "sms", "sendsms", "sessionssend", "postmessage", "notify", "tweet"},
		Payer: {"pay", "payment", "sendpayment", "makepayment", "transferfunds", "sendmoney", "purchase",
			"checkout", "refund", "createcharge"},
		Exec: {"exec", "bash", "shell", "sh", "localshell", "execcommand", "shellcommand", "runshellcommand",
			"runcommand", "runterminalcmd",
			"runterminalcommand", "executecommand", "executebash", "runinterminal", "terminal", "runcommands"},
	} {
		for _, n := range names {
			m[n] = kind
		}
	}
	for n := range actionTools() {
		m[n] = Actor
	}
	return m
})

// Named folds a tool's name (letter case, "_" and "-" do not count) and looks
// it up.
func Named(name string) Tool {
	if folded, ok := Fold(name); ok {
		return Tool{folded, Kinds()[folded]}
	}
	return Tool{Name: name}
}

// Fold reports false for a name that no built-in tool has.
func Fold(name string) (string, bool) {
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

// HasFiles reports a tool whose files are all known from its params, or from its line.
func (t Tool) HasFiles() bool { return t.Kind == Exec || t.Kind.Group() == "fs" }

// Group gives the group of the tools of a kind; "" if they are in no group.
func (k Kind) Group() string {
	switch k {
	case Reader, Searcher, ManyReader, Recaller, Lister, Writer, Editor, Patcher, Deleter:
		return "fs"
	case Web:
		return "web"
	case Messenger:
		return "messaging"
	case Exec:
		return "runtime"
	}
	return ""
}
