package policy

import "strings"

// action describes a tool that does several things, as one of its params says.
type action struct {
	key   string          // the param, folded
	codes map[string]code // by its folded value
	other code            // for any other value, and for none
}

// actions makes the codes of an action from lines such as "list get" → code.
func actions(rows map[code]string) map[string]code {
	m := map[string]code{}
	for c, names := range rows {
		for n := range strings.FieldsSeq(names) {
			m[foldKey(n)] = c
		}
	}
	return m
}

// actionTools are the tools of agent runtimes that reach beyond files and
// commands: the browser, paired devices, schedules, the runtime itself.
var actionTools = map[string]action{
	"browser": {"action", actions(map[code]string{
		networkRead: "status tabs profiles snapshot screenshot console pdf focus close start stop open navigate goto back forward reload wait read scroll"}), browserActs},
	"canvas":  {"action", actions(map[code]string{networkRead: "present hide navigate snapshot a2ui_push a2ui_reset", interpreterCode: "eval"}), unknownParameters},
	"process": {"action", actions(map[code]string{harmlessTool: "list poll log", stopsProcess: "kill clear remove"}), feedsProcess},
	"cron":    {"action", actions(map[code]string{harmlessTool: "status list get runs"}), changesSchedule},
	"gateway": {"action", actions(map[code]string{harmlessTool: "config.schema config.schema.lookup"}), controlsAgent},
	"nodes": {"action", actions(map[code]string{harmlessTool: "status describe pending list device_status device_info device_health", messageSend: "notify",
		otherHost: "run invoke", controlsAgent: "approve reject remove rename"}), usesDevice},
	"sessionsspawn":  {"runtime", actions(map[code]string{harmlessTool: "subagent"}), controlsAgent},
	"subagents":      {"action", actions(map[code]string{harmlessTool: "list info log", stopsProcess: "kill"}), feedsProcess},
	"writestdin":     {"", nil, feedsProcess},
	"writebash":      {"", nil, feedsProcess},
	"croncreate":     {"", nil, changesSchedule},
	"crondelete":     {"", nil, changesSchedule},
	"schedulewakeup": {"", nil, changesSchedule},
	"codeexecution":  {"", nil, interpreterCode},
	"jsrepl":         {"", nil, interpreterCode},
	"enterworktree":  {"", nil, localGit},
	"exitworktree":   {"action", actions(map[code]string{harmlessTool: "keep"}), gitDiscards},
	"savememory":     {"", nil, writesStartup},
	"updatememory":   {"", nil, writesStartup},
}

// assessAction reads a tool of actionTools. Whatever it does, addresses in its
// params are judged and its text is searched for what is R4 anywhere.
func (e *Engine) assessAction(j *judging) {
	a := actionTools[j.tool.name]
	list, ok := j.fields()
	if !ok {
		j.found.add(malformedCall)
		return
	}
	c, known := a.other, false
	for _, f := range list {
		if f.top && f.str && f.key == a.key {
			c, known = a.codes[foldKey(f.text)]
			break
		}
	}
	if !known {
		c = a.other
	}
	if j.tool.name == "sessionsspawn" && value(list, "runtime") == "" {
		c = harmlessTool // a session of the same runtime, whose calls are asked for as well
	}
	j.found.add(c)
	r := reader{eng: e, place: j.agent.place(&j.call, "", ""), found: &j.found}
	for _, f := range list {
		if f.str && strings.Contains(f.text, "://") {
			r.addressesIn(f.text)
		}
	}
	e.assessText(j)
}

// assessDatabase reads a tool that runs statements in a database.
func (e *Engine) assessDatabase(j *judging) {
	j.found.add(databaseClient)
	list, _ := j.fields()
	for _, f := range list {
		if f.str && destructive(wordsOf(f.text)) {
			j.found.add(destructiveWord)
		}
	}
	e.assessText(j)
}
