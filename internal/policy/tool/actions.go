package tool

import (
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// action describes a tool that does several things, as one of its params says.
type action struct {
	key   string                  // the param, folded
	codes map[string]finding.Code // by its folded value
	other finding.Code            // for any other value, and if there is no value
}

// actions makes the codes of an action from lines such as "list get" → code.
func actions(rows map[finding.Code]string) map[string]finding.Code {
	m := map[string]finding.Code{}
	for c, names := range rows {
		for n := range strings.FieldsSeq(names) {
			m[actionName(n)] = c
		}
	}
	return m
}

// actionTools are the tools of agent runtimes that reach beyond files and
// commands: the browser, paired devices, schedules, the runtime itself.
var actionTools = sync.OnceValue(func() map[string]action {
	return map[string]action{
		"browser": {"action", actions(map[finding.Code]string{
			finding.NetworkRead: "status tabs profiles snapshot screenshot console pdf focus close start stop open navigate goto back forward reload wait read scroll"}), finding.BrowserActs},
		"canvas": {"action", actions(map[finding.Code]string{finding.NetworkRead: "present hide navigate snapshot a2ui_push a2ui_reset", finding.InterpreterCode: "eval"}), finding.UnknownParameters},
		"process": {"action", actions(map[finding.Code]string{finding.HarmlessTool: "list poll log",
			finding.StopsProcess: "kill clear remove"}), finding.FeedsProcess},
		"cron":    {"action", actions(map[finding.Code]string{finding.HarmlessTool: "status list get runs"}), finding.ChangesSchedule},
		"gateway": {"action", actions(map[finding.Code]string{finding.HarmlessTool: "config.schema config.schema.lookup"}), finding.ControlsAgent},
		"nodes": {"action", actions(map[finding.Code]string{finding.HarmlessTool: "status describe pending list device_status device_info device_health", finding.MessageSend: "notify",
			finding.OtherHost: "run invoke", finding.ControlsAgent: "approve reject remove rename"}), finding.UsesDevice},
		"sessionsspawn": {"runtime", actions(map[finding.Code]string{finding.HarmlessTool: "subagent"}), finding.ControlsAgent},
		"subagents": {"action", actions(map[finding.Code]string{finding.HarmlessTool: "list info log",
			finding.StopsProcess: "kill"}), finding.FeedsProcess},
		"writestdin":        {"", nil, finding.FeedsProcess},
		"sendinput":         {"", nil, finding.FeedsProcess},
		"writebash":         {"", nil, finding.FeedsProcess},
		"sendkeys":          {"", nil, finding.FeedsProcess},
		"sendtoterminal":    {"", nil, finding.FeedsProcess},
		"writetoprocess":    {"", nil, finding.FeedsProcess},
		"terminalinput":     {"", nil, finding.FeedsProcess},
		"croncreate":        {"", nil, finding.ChangesSchedule},
		"crondelete":        {"", nil, finding.ChangesSchedule},
		"schedulewakeup":    {"", nil, finding.ChangesSchedule},
		"codeexecution":     {"", nil, finding.InterpreterCode},
		"jsrepl":            {"", nil, finding.InterpreterCode},
		"enterworktree":     {"", nil, finding.LocalGit},
		"exitworktree":      {"action", actions(map[finding.Code]string{finding.HarmlessTool: "keep"}), finding.GitDiscards},
		"savememory":        {"", nil, finding.WritesStartup},
		"teamspawnteammate": {"", nil, finding.StartsAgent}, // Cline's: what a teammate is told goes into its next turn
		"teamruntask":       {"", nil, finding.StartsAgent},
		"teamsendmessage":   {"", nil, finding.FeedsProcess},
		"teambroadcast":     {"", nil, finding.FeedsProcess},
		"updatememory":      {"", nil, finding.WritesStartup},
	}
})

// actionKeys are the members of these tools that policy knows, beside the one that
// says what is done. What only looks and has another member asks.
var actionKeys = sync.OnceValue(func() map[string]*lazy.Set {
	return map[string]*lazy.Set{
		"browser": lazy.Words(`target node profile url targeturl targetid ref refs element fullpage type format mode
		snapshotformat interactive compact depth selector frame labels urls limit maxchars level
		timeoutms delayms timems loadstate textgone width height`),
		"canvas":  lazy.Words("node url target targeturl x y width height outputformat format maxwidth quality delayms timeoutms jsonl"),
		"process": lazy.Words("sessionid id limit offset timeout timeoutms"),
		"cron":    lazy.Words("includedisabled jobid id limit offset timeoutms agentid enabled query"),
		"gateway": lazy.Words("path timeoutms"),
		"nodes":   lazy.Words("node nodeid limit timeoutms"),
		"sessionsspawn": lazy.Words(`task taskname label agentid model thinking runtimeoutseconds timeoutseconds thread
		mode cleanup sandbox attachments attachas lightcontext context cwd`),
		"subagents":     lazy.Words("target recentminutes limit"),
		"enterworktree": lazy.Words("name path"),
		"exitworktree":  lazy.Words("discardchanges"),
	}
})

// assessAction reads a tool of actionTools. For each of its actions, addresses in its
// params are judged and its text is searched for what is always R4.
func (x *Reading) assessAction() {
	a := actionTools()[x.Tool.Name]
	list, ok := x.Fields()
	if !ok {
		x.Found.Add(finding.MalformedCall)
		return
	}
	c := a.other
	if does, ok := said(list, a.key); ok {
		if known, ok := a.codes[actionName(does)]; ok {
			c = known
		}
	} else if x.Tool.Name == "sessionsspawn" && !slices.ContainsFunc(list, func(f field) bool { return f.Key == a.key && !f.absent() }) {
		c = finding.HarmlessTool
	}
	if sandbox, _ := said(list, "sandbox"); x.Tool.Name == "sessionsspawn" && sandbox != "require" {
		c = finding.ControlsAgent // only what is confined cannot do more than its parent
	}
	x.Found.Add(c)
	r := x.Params(&x.Found, nil)
	for i := range list {
		f := &list[i]
		if f.Str && strings.Contains(f.Text, "://") {
			r.AddressesIn(f.Text)
		}
		if finding.Reasons[c].Class < approval.R3 && !f.absent() && f.root != a.key {
			r.actionMember(f, x.Tool.Name)
		}
	}
	x.assessText()
}

// actionMember judges a member of a call that only looks.
func (r *Params) actionMember(f *field, name string) {
	switch {
	case f.odd, !actionKeys()[name].Has(f.root), !f.top && f.Key != f.root && f.root != "attachments":
		r.Found.Add(finding.UnknownParameters)
	case !f.Str:
	case f.root == "url", f.root == "targeturl":
		if f.Text != "about:blank" {
			r.Address(f.Text)
		}
	case f.root == "cwd", name == "enterworktree" && f.root == "path":
		if w := workspace.PathWord(f.Text); !r.Local(w) && !r.Place.RootPath(w.Text) {
			r.Found.Add(finding.UnknownParameters)
		}
	}
}

// actionName folds what a call says it does.
func actionName(s string) string {
	name, _ := foldKey(s)
	return name
}

// quietMayHave are members of quiet tools that would be more than quiet in
// another one.
var quietMayHave = sync.OnceValue(func() map[string]*lazy.Set {
	return map[string]*lazy.Set{
		"slashcommand": lazy.Words("command args"), "skill": lazy.Words("command args"), "activateskill": lazy.Words("command args"),
		"readlints": PathKeys, "diagnostics": PathKeys, "lspdiagnostics": PathKeys, "diffhistory": PathKeys,
		"spawnagent": lazy.Words("path input"), "reportfindings": PathKeys, "completetask": lazy.Words("output"), "attemptcompletion": lazy.Words("output"),
		"askuserquestion": lazy.Words("code"), "askquestion": lazy.Words("code"), "question": lazy.Words("code"),
	}
})

// quietTakes are all members of quiet tools that are harmless with what their clients send. They are
// harmless with no other value, because another program's tool may have the same name.
var quietTakes = sync.OnceValue(func() map[string]*lazy.Set {
	none := lazy.Words("")
	return map[string]*lazy.Set{
		"updatetopic": lazy.Words("title summary strategicintent"), "listbackgroundprocesses": none, "trackerlisttasks": none,
		"trackervisualize": none, "readbackgroundoutput": lazy.Words("pid lines delayms"),
		"waitagent": lazy.Words("targets timeoutms"), "multiagentv1waitagent": lazy.Words("targets timeoutms"),
		"multiagentv1closeagent": lazy.Words("id target"), "getgoal": none, "creategoal": lazy.Words("objective tokenbudget"),
		"updategoal": lazy.Words("status reason"), "listagents": lazy.Words("includecompleted scope"),
		"reportfindings": lazy.Words("level findings"), "waitformcpservers": lazy.Words("servers"), "listbash": none,
		"readagent": lazy.Words("agentid wait timeout sinceturn"), "fetchcopilotclidocumentation": none,
		"spawnagent": lazy.Words("message items input forkcontext agenttype model reasoningeffort systemprompt task"),
		"teamstatus": none, "teamcleanup": none, "teamlistoutcomes": none, "teamlistruns": lazy.Words("status agentid includecompleted"),
		"teamtask":      lazy.Words("action title description dependson assignee status taskid summary reason"),
		"teamcancelrun": lazy.Words("runid reason"), "teamshutdownteammate": lazy.Words("agentid reason"),
		"teamawaitruns": lazy.Words("runid"), "teamreadmailbox": lazy.Words("unreadonly"),
		"teammissionlog":    lazy.Words("kind summary taskid evidence nextaction"),
		"teamcreateoutcome": lazy.Words("title requiredsections"), "teamfinalizeoutcome": lazy.Words("outcomeid"),
		"teamattachoutcomefragment": lazy.Words("outcomeid section sourcerunid content"),
		"teamreviewoutcomefragment": lazy.Words("fragmentid approved"),
	}
})

// planTools end an agent's planning: a yes to one is a yes to the plan.
var planTools = lazy.Words("exitplanmode planexit")

var (
	gatewayKeys = lazy.Words("gatewayurl gatewaytoken host hostname endpoint baseurl proxy") // members that lead to another machine
	loudKeys    = lazy.Union(outKeys, gatewayKeys, codeKeys, urlKeys, PathKeys, methodKeys)  // members by which a quiet tool does more
	speechKeys  = lazy.Words("text channel timeoutms")                                       // what a tool that only speaks is given
)

// assessQuiet reads a tool of the agent's own session. Its members are notes,
// questions and tasks, of any form; one that names an output, a file, an address
// or code would make it more than that.
func (x *Reading) assessQuiet() {
	x.Found.Add(finding.HarmlessTool)
	if planTools.Has(x.Tool.Name) {
		x.Found.Add(finding.ApprovesPlan)
	}
	list, _ := x.Fields()
	more, takes := false, quietTakes()[x.Tool.Name]
	mentions := mentionTools.Has(x.Tool.Name)
	for i := range list {
		f := &list[i]
		if mentions && f.Str {
			r := x.Params(&x.Found, x.Wanted())
			r.mentions(f.Text)
		}
		if !f.odd && (f.absent() || f.off()) {
			continue
		}
		for _, key := range [2]string{f.Key, f.root} {
			more = more || loudKeys.Has(key) && !quietMayHave()[x.Tool.Name].Has(key)
		}
		more = more || x.Tool.Name == "tts" && !speechKeys.Has(f.root)
		more = more || takes != nil && !takes.Has(f.root) || f.root == "pid" && f.Str
		role := x.Tool.Name == "spawnagent" && f.root == "agenttype"  // of another name a file says what it is
		more = more || x.Tool.Name == "spawnagent" && f.Key == "path" // a file that it is to read
		more = more || role && !words.Any(f.Text, "default", "worker", "explorer")
		if f.root == "allowedprompts" { // commands that the runtime then runs without asking
			x.Found.Add(finding.ControlsAgent)
		}
		if words.Any(f.Key, "dangerouslyskip", "dangerouslyskippermissions", "skippermissions", "yolo") && !f.off() {
			x.Found.Add(finding.ControlsAgent)
		}
		if f.Str && words.Any(f.Key, "mode", "permissionmode", "sandboxmode", "approvalmode", "approvalpolicy", "sandbox") && loosens(strings.ToLower(f.Text)) {
			x.Found.Add(finding.ControlsAgent)
		}
	}
	if more {
		x.Found.Add(finding.UnknownParameters)
		x.assessText()
	}
}

// loosens reports a mode in which a runtime asks its own user less.
func loosens(mode string) bool {
	for _, w := range [...]string{"bypass", "dontask", "dont_ask", "dont-ask", "accept", "yolo", "danger", "auto"} {
		if strings.Contains(mode, w) {
			return true
		}
	}
	return false
}

// assessDatabase reads a tool that runs statements in a database.
func (x *Reading) assessDatabase() {
	x.Found.Add(finding.DatabaseClient)
	list, _ := x.Fields()
	for _, f := range list {
		if f.Str && line.Destructive(line.WordsOf(line.Uncompared(f.Text))) {
			x.Found.Add(finding.DestructiveWord)
		}
	}
	x.assessText()
}
