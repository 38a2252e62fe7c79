package policy

import (
	"slices"
	"strings"

	"approvalbot/internal/policy/tool"
)

// Apart reports whether surely no call fits both, by their tools, agents or sessions.
// Commands, paths and hosts do not decide it, because a line has several.
func (m Match) Apart(o Match) bool {
	if len(m.Tool) > 0 && len(o.Tool) > 0 && toolsApart(m.Tool, o.Tool) {
		return true
	}
	agents := len(m.Agent) > 0 && len(o.Agent) > 0
	if agents && !slices.ContainsFunc(m.Agent, func(a string) bool { return slices.Contains(o.Agent, a) }) {
		return true
	}
	return len(m.Session) > 0 && len(o.Session) > 0 && !slices.ContainsFunc(m.Session, func(a string) bool {
		return slices.ContainsFunc(o.Session, func(b string) bool { return sessionsMeet(a, b) })
	})
}

// toolsApart reports whether no tool is in both lists, each read as widely as a rule
// that tightens reads it.
func toolsApart(names, others []string) bool {
	a, wrong := tool.NewList(names, true)
	b, bad := tool.NewList(others, true)
	open := func(l *tool.List) bool { return l.Every || len(l.Globs) > 0 }
	if len(wrong)+len(bad) > 0 || open(a) && open(b) {
		return false
	}
	in := func(l, other *tool.List) bool {
		for name, named := range l.Exact {
			if named && other.Has(tool.Tool{Name: name, Kind: tool.Kinds()[name]}) {
				return true
			}
		}
		return false
	}
	return !in(a, b) && !in(b, a)
}

// sessionsMeet reports whether a session can fit both patterns.
func sessionsMeet(a, b string) bool {
	a, openA := strings.CutSuffix(a, "*")
	b, openB := strings.CutSuffix(b, "*")
	aMeans, bMeans := openA && strings.HasPrefix(b, a), openB && strings.HasPrefix(a, b)
	return a == b || aMeans || bMeans
}
