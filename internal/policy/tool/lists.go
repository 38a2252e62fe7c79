package tool

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/policy/words"
)

// List is a configured list of tools. Names are folded like a call's. A wide list takes
// tools away: there letter case never counts, and exec means every tool that runs commands.
// A list that gives is taken at its word.
type List struct {
	wide      bool
	Every     bool
	Exact     map[string]bool
	Globs     []string
	Commands  bool // exec is named
	Grouped   bool // some entry is a group
	Plausible bool // some entry is a known tool, a group, a pattern, or shaped like another server's tool
}

// Has reports whether the list names the tool.
func (l *List) Has(t Tool) bool {
	name := t.Name
	if l.wide {
		name = strings.ToLower(name)
	}
	commands := l.wide && l.Commands && t.Kind == Exec
	if l.Every || commands {
		return true
	}
	if l.Exact[name] {
		return true
	}
	for _, g := range l.Globs {
		if words.Star(g, name) {
			return true
		}
	}
	return false
}

// NewList reads names, globs with *, and groups.
func NewList(names []string, wide bool) (*List, []error) {
	l := &List{wide: wide, Exact: map[string]bool{}}
	var bad []error
	for _, n := range names {
		group, isGroup := strings.CutPrefix(n, "group:")
		switch {
		case n == "*":
			l.Every, l.Plausible = true, true
		case isGroup && toolGroups()[group] == nil:
			bad = append(bad, fmt.Errorf("there is no group %q; the groups are %s", n, strings.Join(GroupNames(), ", ")))
		case isGroup:
			maps.Copy(l.Exact, toolGroups()[group])
			l.Commands = l.Commands || toolGroups()[group]["exec"]
			l.Plausible, l.Grouped = true, true
		case n == "" || strings.ContainsAny(n, "?[]{} \t\n"):
			bad = append(bad, fmt.Errorf("%q is not a tool's name; write a name (read), a "+
				"pattern (jira__*) or a group (group:fs)", n))
		case strings.Contains(n, "*"):
			l.Globs, l.Plausible = append(l.Globs, l.name(n)), true
		default:
			l.add(n)
		}
	}
	return l, bad
}

func (l *List) add(name string) {
	folded := l.name(name)
	l.Exact[folded] = true
	l.Commands = l.Commands || folded == "exec"
	_, plain := Fold(name)
	l.Plausible = l.Plausible || !plain || toolGroups()["all"][folded]
}

// name folds a name or a pattern as the list compares it.
func (l *List) name(s string) string {
	s = Named(s).Name
	if l.wide {
		return strings.ToLower(s)
	}
	return s
}

// toolGroups are the shorthands of lists: the names that the common runtimes
// give to tools of one sort, folded.
var toolGroups = sync.OnceValue(func() map[string]map[string]bool {
	g := map[string]map[string]bool{
		"runtime":   words.Set("process codeexecution bashoutput"),
		"fs":        words.Set(""),
		"web":       words.Set("xsearch"),
		"messaging": words.Set(""),
		"sessions": words.Set(`sessions sessionslist sessionshistory sessionssearch sessionssend sessionsspawn
			sessionsyield sessionstatus subagents`),
		"memory":     words.Set("memorysearch memoryget memorysave"),
		"ui":         words.Set("browser canvas screen dashboard"),
		"automation": words.Set("cron gateway heartbeatrespond automations"),
		"nodes":      words.Set("nodes"),
		"agents":     words.Set("agentslist updateplan"),
		"media":      words.Set("image imagegenerate viewimage tts pdf"),
	}
	all := map[string]bool{}
	for name, kind := range Kinds() {
		all[name] = true
		grouped := g["memory"][name] || g["sessions"][name] || g["media"][name]
		if group := kind.Group(); group != "" && !grouped {
			g[group][name] = true
		}
	}
	for _, names := range g {
		maps.Copy(all, names)
	}
	g["openclaw"], g["all"] = all, all
	return g
})

// GroupNames lists the groups, in order.
func GroupNames() []string {
	names := slices.Sorted(maps.Keys(toolGroups()))
	for i, n := range names {
		names[i] = "group:" + n
	}
	return names
}

// Profiles are ready-made lists of allowed tools. Nil: no opinion.
var Profiles = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"":        nil,
		"full":    nil,
		"minimal": {"session_status"},
		"coding": {"group:fs", "group:runtime", "group:web", "group:sessions", "group:memory", "group:agents",
			"image", "think", "todoread", "todowrite", "writetodos", "askuserquestion"},
		"messaging": {"group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"},
	}
})

// Known lists the folded names of all tools that policy knows, in order:
// for labels of metrics, which must not grow with what callers send.
func Known() []string { return slices.Sorted(maps.Keys(toolGroups()["all"])) }
