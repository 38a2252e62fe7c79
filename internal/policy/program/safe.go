package program

import (
	"maps"
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
)

// Unsafe says why an operator cannot trust a program with any options, "writes files"; it
// is empty if the table knows no such reason, or does not know the program.
func Unsafe(name string) string {
	if IsWrapper(name) {
		return "runs other programs or code"
	}
	if e := known(name); e != nil {
		return e.unsafe()
	}
	return ""
}

func (e *entry) unsafe() string {
	roles := append(slices.Collect(maps.Values(e.roles)), e.operands, e.leading, e.input)
	has := func(some ...role) bool {
		return slices.ContainsFunc(some, func(r role) bool { return slices.Contains(roles, r) })
	}
	project := e.project != nil || e.here
	leads := e.verbs != nil || e.globs != nil || e.wraps
	switch {
	case e.rule != nil && !language.OnlyTells.Has(e.doc.Rule):
		return "is told by its words to do many things"
	case project, leads,
		has(jqRole, postgresRole, psqlRole, mysqlRole, sqliteRole, everydayRole):
		return "runs other programs or code"
	case len(e.typed) > 0:
		return "takes commands from its terminal"
	case e.restores || has(makesRole, writesRole, buildsRole, emptiesRole):
		return "writes files"
	case has(treeRole, repositoryRole, historyRole, changesRole, contextRole, insideRole, projectRole):
		return "reads whole directories"
	case finding.Of(slices.Concat(e.codes, e.named)...).Class() >= approval.R3:
		return "does more than read"
	}
	return ""
}
