package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"approvalbot/policy/words"
)

// toolList is a configured list of tools. Names are folded like a call's. A wide
// list takes tools away: there letter case never counts, and exec stands for
// every tool that runs commands. A list that gives is taken at its word.
type toolList struct {
	wide      bool
	every     bool
	exact     map[string]bool
	globs     []string
	commands  bool // exec is named
	grouped   bool // some entry is a group
	plausible bool // some entry is a known tool, a group, a pattern, or shaped like another server's tool
}

// has reports whether the list names the tool.
func (l *toolList) has(t tool) bool {
	name := t.name
	if l.wide {
		name = strings.ToLower(name)
	}
	if l.every || l.wide && l.commands && t.kind == execTool {
		return true
	}
	if l.exact[name] {
		return true
	}
	for _, g := range l.globs {
		if wild(g, name) {
			return true
		}
	}
	return false
}

// newToolList reads names, globs with *, and groups.
func newToolList(names []string, wide bool) (*toolList, []error) {
	l := &toolList{wide: wide, exact: map[string]bool{}}
	var bad []error
	for _, n := range names {
		group, isGroup := strings.CutPrefix(n, "group:")
		switch {
		case n == "*":
			l.every, l.plausible = true, true
		case isGroup && toolGroups[group] == nil:
			bad = append(bad, fmt.Errorf("there is no group %q; the groups are %s", n, strings.Join(groupNames(), ", ")))
		case isGroup:
			maps.Copy(l.exact, toolGroups[group])
			l.commands = l.commands || toolGroups[group]["exec"]
			l.plausible, l.grouped = true, true
		case n == "" || strings.ContainsAny(n, "?[]{} \t\n"):
			bad = append(bad, fmt.Errorf("%q is no tool's name; write a name, a pattern with *, or group: and a group", n))
		case strings.Contains(n, "*"):
			l.globs, l.plausible = append(l.globs, l.name(n)), true
		default:
			l.add(n)
		}
	}
	return l, bad
}

func (l *toolList) add(name string) {
	folded := l.name(name)
	l.exact[folded] = true
	l.commands = l.commands || folded == "exec"
	_, plain := fold(name)
	l.plausible = l.plausible || !plain || toolGroups["all"][folded]
}

// name folds a name or a pattern as the list compares it.
func (l *toolList) name(s string) string {
	s = toolOf(s).name
	if l.wide {
		return strings.ToLower(s)
	}
	return s
}

// wild matches a pattern in which * stands for any text, over all of the name.
func wild(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], more
	}
}

// toolGroups are the shorthands of lists: the names that the common runtimes
// give to tools of one sort, folded.
var toolGroups = func() map[string]map[string]bool {
	g := map[string]map[string]bool{
		"runtime":    words.Set("process codeexecution bashoutput"),
		"fs":         words.Set(""),
		"web":        words.Set("xsearch"),
		"messaging":  words.Set(""),
		"sessions":   words.Set("sessions sessionslist sessionshistory sessionssearch sessionssend sessionsspawn sessionsyield sessionstatus subagents"),
		"memory":     words.Set("memorysearch memoryget memorysave"),
		"ui":         words.Set("browser canvas screen dashboard"),
		"automation": words.Set("cron gateway heartbeatrespond automations"),
		"nodes":      words.Set("nodes"),
		"agents":     words.Set("agentslist updateplan"),
		"media":      words.Set("image imagegenerate viewimage tts pdf"),
	}
	all := map[string]bool{}
	for name, kind := range toolKinds {
		all[name] = true
		if group := groupOf(kind); group != "" && !g["memory"][name] && !g["sessions"][name] && !g["media"][name] {
			g[group][name] = true
		}
	}
	for _, names := range g {
		maps.Copy(all, names)
	}
	g["openclaw"], g["all"] = all, all
	return g
}()

// groupOf gives the group of the tools of a kind; "" where they are of none.
func groupOf(k toolKind) string {
	switch k {
	case readerTool, searchTool, manyTool, recallTool, namesTool, writerTool, editorTool, patchTool, deleterTool:
		return "fs"
	case webTool:
		return "web"
	case messageTool:
		return "messaging"
	case execTool:
		return "runtime"
	}
	return ""
}

func groupNames() []string {
	names := slices.Sorted(maps.Keys(toolGroups))
	for i, n := range names {
		names[i] = "group:" + n
	}
	return names
}

// profiles are ready-made lists of allowed tools. Nil: no opinion.
var profiles = map[string][]string{
	"":          nil,
	"full":      nil,
	"minimal":   {"session_status"},
	"coding":    {"group:fs", "group:runtime", "group:web", "group:sessions", "group:memory", "group:agents", "image", "think", "todoread", "todowrite", "writetodos", "askuserquestion"},
	"messaging": {"group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"},
}

// KnownTools lists the folded names of all tools that policy knows, in order:
// for labels of metrics, which must not grow with what callers send.
func KnownTools() []string { return slices.Sorted(maps.Keys(toolGroups["all"])) }
